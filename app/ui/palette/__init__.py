"""The command palette: finds actions, styles, settings and answers by words, and runs them."""
