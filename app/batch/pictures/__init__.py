"""Pictures read, styled in groups and written at the same time."""
