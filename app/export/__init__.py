"""Writes results to files: films, and the metadata of pictures."""
