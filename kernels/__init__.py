"""Fused kernels, each with the PyTorch reference that says what it means."""

from __future__ import annotations

from kernels import ops as ops  # fills the table of operations
