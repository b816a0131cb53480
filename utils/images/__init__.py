"""Reads picture files into arrays and writes arrays to picture files."""
