"""The window: its widgets, controllers and theme."""
