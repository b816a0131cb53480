"""The margin of a convolution that enlarges bilinearly, and the interleaving of its phases."""
