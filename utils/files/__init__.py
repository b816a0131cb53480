"""Reads and writes files safely: whole, bounded, of a known kind, by one process."""
