"""Undo, resetting controls, and named looks."""
