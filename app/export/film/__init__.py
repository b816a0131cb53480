"""Film files from film files: every frame keeps its time, and all other streams are copied."""
