"""Presentation: saved files, before and after, the projector, the slideshow."""
