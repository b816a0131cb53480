"""Short programs that use the networks and the kernels: python -m examples.style_picture ..."""
