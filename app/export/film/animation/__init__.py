"""Animations, GIF and WebP files: read as films are, and made of films."""
