"""The any-style network as fused steps and as CUDA graphs."""
