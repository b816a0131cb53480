"""How the threads of a film hand frames to each other."""
