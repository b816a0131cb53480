"""Measures the live pipeline with the real window, see `__main__`."""
