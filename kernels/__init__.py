"""Fused kernels, each with a PyTorch reference that defines its result.

Importing the package fills the table of operations and registers the loader of each library that
describes itself, so that a library does not depend on the order of imports.
"""

from __future__ import annotations

from kernels import ops as ops
from kernels.frames import launchers as launchers
from kernels.network import dispatch as dispatch
