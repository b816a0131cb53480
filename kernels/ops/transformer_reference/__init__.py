"""What the operations of transformers mean, in PyTorch: what kernels are held against."""
