"""How fast the picture comes, said in the window, and what to choose for speed."""
