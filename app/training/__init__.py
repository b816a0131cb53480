"""The training studio behind its window: orders, runs, and the process that trains."""
