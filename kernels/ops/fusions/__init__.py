"""Norms and reductions for any model: what they mean, and how their kernels are launched."""
