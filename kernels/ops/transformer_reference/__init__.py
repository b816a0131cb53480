"""PyTorch references of the transformer operations, against which kernels are compared."""
