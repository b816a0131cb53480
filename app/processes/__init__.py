"""Processes of our own commands, which the window starts and stops."""
