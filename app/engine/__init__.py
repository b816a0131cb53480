"""Styles one frame: networks, sizes, weights, and the picture arithmetic around them. No Qt."""
