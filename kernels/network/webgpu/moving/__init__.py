"""Paintings that move with the scene in WebGPU's shaders, as in kernels/frames/native/moving.h."""
