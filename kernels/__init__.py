"""Fused kernels, each with the PyTorch reference that says what it means.

Importing the package fills the table of operations and names, to the compiler, the architectures
of the network's backends; so a build is the same whatever was imported first.
"""

from __future__ import annotations

from kernels import ops as ops
from kernels.network import dispatch as dispatch
