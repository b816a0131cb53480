"""Measures a style's network alone, and whole frames: times, errors and memory."""
