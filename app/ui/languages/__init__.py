"""The language of the window: chosen in the menu, applied at startup."""
