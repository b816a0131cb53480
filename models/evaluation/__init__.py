"""What a styled picture is worth, in figures: steadiness, clipping, borders, and what direct
optimization of the same objective would reach."""
