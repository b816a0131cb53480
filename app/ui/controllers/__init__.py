"""What the window's parts do together: opening, dropping, installing, exporting."""
