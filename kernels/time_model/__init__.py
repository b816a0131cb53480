"""A model of the time that the network takes on a GPU, for cards that nobody measured."""
