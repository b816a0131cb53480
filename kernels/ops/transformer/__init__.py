"""The operations of transformers: attention in three rungs, feed-forward network, projection, the
convolution that gives tokens their positions, and the statistics of their channels.

They are a family of their own, and on a GPU a library of their own, which nothing of the style
networks loads.
"""

from __future__ import annotations

from kernels.ops.transformer import attention as attention
from kernels.ops.transformer import channel_norm as channel_norm
from kernels.ops.transformer import depthwise as depthwise
from kernels.ops.transformer import ffn as ffn
from kernels.ops.transformer import ladder as ladder
from kernels.ops.transformer import statistics as statistics
