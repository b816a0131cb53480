"""Frames of films: decoded in order, what their numbers mean, which way up they are, and RGB."""
