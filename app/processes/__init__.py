"""Processes of our own commands, which the window starts."""
