"""Operations that turn data into model inputs (tokens, images, series), and products.

They are in four groups, one module each, which share one CPU library and one on a GPU.
"""

CPU, CUDA = "model_inputs", "model_inputs_cuda"
MOST = 2**31 - 1  # elements of a tensor that the CUDA kernels can index
