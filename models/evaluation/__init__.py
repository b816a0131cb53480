"""Metrics of networks and pictures: flicker, clipping, borders, the objective, and L-BFGS."""
