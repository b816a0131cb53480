"""Fused kernels, each with the PyTorch reference that says what it means.

Importing the package fills the table of operations and registers what loads each library that
describes itself; so a library is the same whatever was imported first.
"""

from __future__ import annotations

from kernels import ops as ops
from kernels.frames import launchers as launchers
from kernels.network import dispatch as dispatch
