"""The picture on the screen, and what is painted over it."""
