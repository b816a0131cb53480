"""The languages of the window, and the texts in the chosen one. Does not import Qt."""
