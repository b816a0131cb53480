"""Batch work that outlives its process: shards, manifests and the queue."""
