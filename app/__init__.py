"""The application: the window and the command line around one engine."""
