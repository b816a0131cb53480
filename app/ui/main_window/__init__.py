"""The main window, its parts and commands, and their connections to the session."""

from app.ui.main_window.window import MainWindow

__all__ = ["MainWindow"]
