"""The fused operations, as functions: native where a kernel is loaded, reference elsewhere."""

from __future__ import annotations

from kernels.ops.convolution import (
    fused_conv_instancenorm_forward as fused_conv_instancenorm_forward,
)
from kernels.ops.convolution import (
    fused_conv_reflection_pad_forward as fused_conv_reflection_pad_forward,
)
from kernels.ops.normalization import fused_instance_norm as fused_instance_norm
from kernels.ops.normalization import fused_instance_norm_forward as fused_instance_norm_forward
from kernels.ops.normalization import fused_instance_norm_out as fused_instance_norm_out
from kernels.ops.residual import fused_residual_block_forward as fused_residual_block_forward
