"""A static page that paints in the browser with the shaders of kernels.network.webgpu."""
