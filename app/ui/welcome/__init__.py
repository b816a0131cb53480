"""The page that the window opens on while nothing is open."""
