"""Compiles one library in its own process, and compares it with its references."""
