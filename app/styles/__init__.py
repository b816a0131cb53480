"""The style library: built-in packs and the user's own."""
