"""Losses: PyTorch references, and the calls of their kernels on a GPU and on the CPU."""
