"""The style catalog: built-in packs and the user's own."""
