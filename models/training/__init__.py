"""Trains a style into a transformer network. Knows neither the window nor the terminal."""
