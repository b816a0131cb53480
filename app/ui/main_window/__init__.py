"""The main window: its parts, its commands, and what connects them to the session."""

from app.ui.main_window.window import MainWindow

__all__ = ["MainWindow"]
