"""The single operations on a GPU: the arguments of their calls, and their launches."""

from kernels.ops.cuda import calls as calls
from kernels.ops.cuda import launchers as launchers
