"""Instance norm with an optional residual and ReLU."""
