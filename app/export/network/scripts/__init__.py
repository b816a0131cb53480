"""Scripts that run an exported file, copied beside it as they are; they import nothing of ours."""
