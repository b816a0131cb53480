"""The transformer operations: attention in three rungs, feed-forward network, projection, the
convolution that gives tokens their positions, and channel statistics.

They form a family of their own, and on a GPU a library of their own, which the style networks do
not load.
"""

from __future__ import annotations

from kernels.ops.transformer import attention as attention
from kernels.ops.transformer import channel_norm as channel_norm
from kernels.ops.transformer import depthwise as depthwise
from kernels.ops.transformer import ffn as ffn
from kernels.ops.transformer import ladder as ladder
from kernels.ops.transformer import statistics as statistics
