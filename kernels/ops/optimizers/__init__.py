"""Optimizers: what a step is in PyTorch, and how many tensors are handed to one launch."""
