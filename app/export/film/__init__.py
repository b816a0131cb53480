"""Films from file to file: every frame with its time, and everything beside the picture copied."""
