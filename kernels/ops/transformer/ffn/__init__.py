"""The feed-forward network and the output projection."""
