"""Pixels of films: what their numbers mean, which way up they are, and RGB of them and back."""
