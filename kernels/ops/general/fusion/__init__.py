"""Norms joined with the sum before them or the activation after them, for any model."""
