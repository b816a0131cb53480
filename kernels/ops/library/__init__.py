"""The operations for any model, by group; they form a family of their own.

The style networks do not load these libraries, and the program does not list the operations. An
argument of an invalid shape, dtype, device or value raises ValueError.
"""

from __future__ import annotations

from kernels.ops.library import attention as attention
from kernels.ops.library import conv as conv
from kernels.ops.library import elementwise as elementwise
from kernels.ops.library import fusion as fusion
from kernels.ops.library import inputs as inputs
from kernels.ops.library import linear as linear
from kernels.ops.library import loss as loss
from kernels.ops.library import optim as optim
from kernels.ops.library import reduction as reduction
from kernels.ops.library import split as split
