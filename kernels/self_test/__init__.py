"""Compiles one library in a process of its own, and compares it with its references."""
