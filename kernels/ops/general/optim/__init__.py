"""Optimizers: the PyTorch references of a step, and launches for many tensors."""
