"""Design tokens, icons, palette and style sheet."""
