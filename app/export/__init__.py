"""Writes results to files: videos, and the metadata of pictures."""
