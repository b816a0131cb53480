"""The widgets of the window: bars, panel and controls."""
