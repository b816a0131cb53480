"""Enlarging of planes to twice their size, and back."""
