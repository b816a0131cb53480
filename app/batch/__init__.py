"""Work on many files that outlives its process: shards, manifests, the queue."""
