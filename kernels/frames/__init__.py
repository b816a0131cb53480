"""The work on a frame before and after the network, on a GPU."""
