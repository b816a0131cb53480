"""The loop around the engine: its thread, what the window sees of it, and its statistics."""
