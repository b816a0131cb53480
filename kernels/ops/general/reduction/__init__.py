"""Reductions that transform each element as they read it."""
