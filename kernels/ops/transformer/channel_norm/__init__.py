"""Statistics of channels, and the norm that applies them."""
