"""The parts of the window: bars, panels and controls."""
