"""What happens to a frame around the network, on a GPU."""
