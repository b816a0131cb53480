"""Tests and their tools; each test's name is a sentence about the program."""

from utils.threads import limit_openmp_spin

limit_openmp_spin()  # as in the program, before anything imports PyTorch
