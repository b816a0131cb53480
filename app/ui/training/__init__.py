"""The window of the training studio."""
