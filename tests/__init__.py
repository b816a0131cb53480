"""Tests and tools for them; each is a sentence about what the program does."""

from utils.threads import limit_openmp_spin

limit_openmp_spin()  # as the program does, before anything imports PyTorch
