"""Picture arithmetic after the network on the CPU: smoothing, upsampling, blending."""
