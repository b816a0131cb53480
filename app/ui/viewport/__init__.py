"""The picture on screen, and what is painted over it."""
