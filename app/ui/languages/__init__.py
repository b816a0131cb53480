"""The language of the window: chosen in the menu, applied at the start."""
