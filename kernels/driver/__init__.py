"""Loads prebuilt machine code and launches its kernels through the CUDA driver alone."""
