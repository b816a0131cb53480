"""The transformer operations, a family of their own.

They are attention in three rungs, the feed-forward network, the projection, the convolution that
gives tokens their positions, and channel statistics. On a GPU they have a library of their own,
which the style networks do not load.
"""

from __future__ import annotations

from kernels.ops.transformer import attention as attention
from kernels.ops.transformer import channel_norm as channel_norm
from kernels.ops.transformer import depthwise as depthwise
from kernels.ops.transformer import ffn as ffn
from kernels.ops.transformer import ladder as ladder
from kernels.ops.transformer import statistics as statistics
