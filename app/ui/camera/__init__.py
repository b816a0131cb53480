"""Camera settings in the window, and the last picture of a lost camera."""
