"""The page that the window shows while no source is open."""
