"""The virtual camera in the window: its switch and its settings."""
