"""Elementwise operations: what they are, how their tensors lie, and how a pass over them is run."""
