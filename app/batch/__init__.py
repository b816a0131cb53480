"""Batch work: runs over many pictures and films, and the queue that outlives its processes."""
