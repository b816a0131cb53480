"""Executors of the network: on the CPU, layer by layer, as a native CUDA plan; frame pipelines."""
