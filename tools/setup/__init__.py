"""Builds the setup program for Windows, on Linux, out of the wheel and uv."""
