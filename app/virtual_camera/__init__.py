"""A camera of this machine that shows the styled stream to other programs."""
