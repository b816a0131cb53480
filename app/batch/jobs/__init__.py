"""The pictures and films of a run, and the files for their results."""
