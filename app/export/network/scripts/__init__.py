"""Scripts that run an exported file. They are copied next to it and import nothing of ours."""
