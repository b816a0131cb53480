"""Painting only the person or only the background."""
