"""The texture of frames in WebGPU's shaders, as in kernels/frames/native/texture.h."""
