"""Builds the setup program for Windows, on Linux, from the wheel and uv."""
