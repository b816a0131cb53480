"""Films in parts: where to split them, and how one or several devices make the parts."""
