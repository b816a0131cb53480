"""Executors: a network on the CPU, layer by layer, as a native CUDA plan, and frames through it."""
