"""Measures the inputs of the model of time, fits it, and writes the page of its predictions."""
