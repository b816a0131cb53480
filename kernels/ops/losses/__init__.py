"""Losses: what they mean in PyTorch, and how their kernels are called on a GPU and on the CPU."""
