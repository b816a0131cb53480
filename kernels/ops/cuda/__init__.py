"""The single operations on a GPU: what a call is given, and how it is launched."""

from kernels.ops.cuda import calls as calls
from kernels.ops.cuda import launchers as launchers
