"""The speed test of all engines at hand: the same picture, size, precision and warm-up for each."""
