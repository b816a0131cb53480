"""The network on GPUs that WebGPU reaches, and the names of these GPUs."""
