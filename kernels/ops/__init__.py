"""The fused operations, as functions: native where a kernel is loaded, reference elsewhere."""

from __future__ import annotations

from kernels.ops.normalization import fused_instance_norm as fused_instance_norm
from kernels.ops.normalization import fused_instance_norm_out as fused_instance_norm_out
