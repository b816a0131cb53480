"""Reads and writes files safely: atomically, with bounds, of known types, under locks."""
