"""The speed test's sheet below the picture: a curve, a row for each engine, and the result."""
