"""Training behind the window: requests, runs, and the training process."""
