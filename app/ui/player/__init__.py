"""What plays and records films in the window: the bar below the picture, and what it controls."""
