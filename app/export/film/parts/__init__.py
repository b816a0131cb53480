"""Films in parts: where they are split, and how parts are made, by one device or several."""
