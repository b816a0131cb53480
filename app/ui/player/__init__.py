"""Playing and recording films in the window."""
