"""Ways back and ways to keep: undo, controls that are reset, looks under a name."""
