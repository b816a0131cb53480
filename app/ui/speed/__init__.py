"""Speed of the picture, shown in the window, and the choices for it."""
