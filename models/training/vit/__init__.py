"""Training of the any-style network: pictures, losses, the run and its processes."""
