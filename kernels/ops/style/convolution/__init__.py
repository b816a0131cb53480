"""Convolution fused with instance norm and ReLU, and the residual block."""
