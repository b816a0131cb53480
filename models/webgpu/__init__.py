"""The network on GPUs that WebGPU reaches."""
