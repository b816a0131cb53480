"""The fused operations as functions: native where kernels are built, else in PyTorch.

An import here publishes the operations in a module's `__all__`. An alias is a second name of the
same function.
"""

from __future__ import annotations

from kernels.ops.general.attention.api import *
from kernels.ops.general.conv.api import *
from kernels.ops.general.elementwise.api import *
from kernels.ops.general.fusion.api import *
from kernels.ops.general.inputs.linear import *
from kernels.ops.general.inputs.series import *
from kernels.ops.general.inputs.text import *
from kernels.ops.general.inputs.vision import *
from kernels.ops.general.linear.api import *
from kernels.ops.general.linear.split import *
from kernels.ops.general.loss.api import *
from kernels.ops.general.optim.api import *
from kernels.ops.general.reduction.api import *
from kernels.ops.style.convolution.api import *
from kernels.ops.style.convolution.residual import *
from kernels.ops.style.normalization.api import *
from kernels.ops.transformer.attention.api import *
from kernels.ops.transformer.attention.ladder import *
from kernels.ops.transformer.channel_norm.api import *
from kernels.ops.transformer.channel_norm.statistics import *
from kernels.ops.transformer.depthwise.api import *
from kernels.ops.transformer.enlarging.api import *
from kernels.ops.transformer.ffn.api import *
from kernels.ops.transformer.token_norm.api import *

fused_attention_score = attention_score
fused_multihead_attention = multihead_attention
elementwise_add_relu = add_relu
elementwise_mul_tanh = mul_tanh
fused_bias_gelu = bias_gelu
fused_gelu_dropout = gelu_dropout
fused_layer_norm_relu = layer_norm_relu
fused_layer_norm_gelu = layer_norm_gelu
fused_add_norm = add_norm
fused_linear_activation = linear_activation
reduce_sum_squared = sum_squared
reduce_mean_abs = mean_abs
