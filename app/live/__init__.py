"""The loop around the engine: the session for the window, the worker thread, and metrics."""
