"""Other ways to run the network on a GPU, which `python -m benchmarks.webgpu` measures beside ours.

`python -m benchmarks.webgpu_peers DIR` writes their models, for a machine without the converters.
"""
