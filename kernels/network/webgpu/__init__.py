"""The transformer network on any GPU, in WebGPU compute shaders."""
