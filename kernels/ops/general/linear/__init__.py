"""Linear layers followed by an activation, and products of split matrices."""
