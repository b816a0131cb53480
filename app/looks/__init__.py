"""Looks: what is chosen of styles and settings, as a value, in files and in saved pictures."""
