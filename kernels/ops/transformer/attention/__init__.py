"""Attention: three rungs of one kernel, and the attention of the ViT style networks."""
