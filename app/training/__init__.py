"""Training behind the window: requests, runs, and the process that trains."""
