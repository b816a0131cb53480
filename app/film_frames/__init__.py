"""Frames of films: decoding in order, colors, orientation, and conversion to RGB."""
