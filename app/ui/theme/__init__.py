"""Colors, measures, icons and the style sheet made from them."""
