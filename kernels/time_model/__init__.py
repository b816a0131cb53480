"""A model of the network's time on a GPU, for cards without measurements."""
