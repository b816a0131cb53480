"""The application: one engine, a window and a command line around it."""
