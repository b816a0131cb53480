"""Utilities that all other packages use and that use none of them."""
