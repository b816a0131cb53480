"""Measures what the model of time is fitted to, fits it, and writes the page of its predictions."""
