"""The depthwise convolution that gives tokens their positions."""
