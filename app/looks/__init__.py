"""Looks: the chosen styles and settings as a value, in files and in saved pictures."""
