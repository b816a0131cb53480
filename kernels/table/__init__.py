"""The table of fused operations, and what every row shares: registration, gradients, launches."""
