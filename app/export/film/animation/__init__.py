"""Animations (GIF and WebP files), read like films and made from films."""
