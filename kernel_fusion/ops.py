"""The fused operations as functions: native where kernels are built, else in PyTorch.

An import here publishes an operation. An alias is a second name of the same function.
"""

from __future__ import annotations

from kernels.ops.general.attention.api import apply_rope as apply_rope
from kernels.ops.general.attention.api import attention_dropout as attention_dropout
from kernels.ops.general.attention.api import attention_score as attention_score
from kernels.ops.general.attention.api import attention_score_backward as attention_score_backward
from kernels.ops.general.attention.api import block_sparse_attention as block_sparse_attention
from kernels.ops.general.attention.api import block_sparse_forward as block_sparse_forward
from kernels.ops.general.attention.api import flash_attention as flash_attention
from kernels.ops.general.attention.api import gather_blocks as gather_blocks
from kernels.ops.general.attention.api import multihead_attention as multihead_attention
from kernels.ops.general.attention.api import rope_attention as rope_attention
from kernels.ops.general.attention.api import sum_blocks as sum_blocks
from kernels.ops.general.conv.api import conv2d_bn_relu as conv2d_bn_relu
from kernels.ops.general.conv.api import conv2d_gelu_dropout as conv2d_gelu_dropout
from kernels.ops.general.conv.api import depthwise_pointwise_conv as depthwise_pointwise_conv
from kernels.ops.general.conv.api import grouped_conv_norm as grouped_conv_norm
from kernels.ops.general.elementwise.api import add_relu as add_relu
from kernels.ops.general.elementwise.api import add_relu_masked as add_relu_masked
from kernels.ops.general.elementwise.api import add_sigmoid as add_sigmoid
from kernels.ops.general.elementwise.api import bias_gelu as bias_gelu
from kernels.ops.general.elementwise.api import dropout_mask_backward as dropout_mask_backward
from kernels.ops.general.elementwise.api import dropout_masked as dropout_masked
from kernels.ops.general.elementwise.api import elementwise_backward as elementwise_backward
from kernels.ops.general.elementwise.api import (
    elementwise_sums_backward as elementwise_sums_backward,
)
from kernels.ops.general.elementwise.api import gelu_dropout as gelu_dropout
from kernels.ops.general.elementwise.api import mish_scale as mish_scale
from kernels.ops.general.elementwise.api import mul_tanh as mul_tanh
from kernels.ops.general.elementwise.api import multiply_relu as multiply_relu
from kernels.ops.general.elementwise.api import prelu_bias as prelu_bias
from kernels.ops.general.elementwise.api import relu_mask_backward as relu_mask_backward
from kernels.ops.general.elementwise.api import swish_multiply as swish_multiply
from kernels.ops.general.fusion.api import add_norm as add_norm
from kernels.ops.general.fusion.api import batch_norm_relu as batch_norm_relu
from kernels.ops.general.fusion.api import batch_norm_relu_backward as batch_norm_relu_backward
from kernels.ops.general.fusion.api import group_norm_relu as group_norm_relu
from kernels.ops.general.fusion.api import group_norm_relu_backward as group_norm_relu_backward
from kernels.ops.general.fusion.api import layer_norm_gelu as layer_norm_gelu
from kernels.ops.general.fusion.api import layer_norm_relu as layer_norm_relu
from kernels.ops.general.fusion.api import rms_norm_gelu as rms_norm_gelu
from kernels.ops.general.fusion.api import row_norm_backward as row_norm_backward
from kernels.ops.general.inputs.linear import contract_reshape as contract_reshape
from kernels.ops.general.inputs.linear import embedding_position as embedding_position
from kernels.ops.general.inputs.series import sliding_window as sliding_window
from kernels.ops.general.inputs.series import sliding_window_backward as sliding_window_backward
from kernels.ops.general.inputs.text import embedding_backward as embedding_backward
from kernels.ops.general.inputs.text import token_embedding as token_embedding
from kernels.ops.general.inputs.vision import image_to_tensor as image_to_tensor
from kernels.ops.general.linear.api import ffn as ffn
from kernels.ops.general.linear.api import linear_activation as linear_activation
from kernels.ops.general.linear.api import transformer_layer as transformer_layer
from kernels.ops.general.linear.split import split_tf32_out as split_tf32_out
from kernels.ops.general.loss.api import cross_entropy as cross_entropy
from kernels.ops.general.loss.api import cross_entropy_backward as cross_entropy_backward
from kernels.ops.general.loss.api import linear_cross_entropy as linear_cross_entropy
from kernels.ops.general.loss.api import (
    linear_cross_entropy_backward as linear_cross_entropy_backward,
)
from kernels.ops.general.loss.api import (
    linear_cross_entropy_scaled_backward as linear_cross_entropy_scaled_backward,
)
from kernels.ops.general.loss.api import mse_loss as mse_loss
from kernels.ops.general.loss.api import mse_loss_backward as mse_loss_backward
from kernels.ops.general.optim.api import adam_step as adam_step
from kernels.ops.general.optim.api import clip_grads_with_norm as clip_grads_with_norm
from kernels.ops.general.optim.api import sgd_step as sgd_step
from kernels.ops.general.optim.api import total_norm as total_norm
from kernels.ops.general.reduction.api import channel_bias_backward as channel_bias_backward
from kernels.ops.general.reduction.api import mean_abs as mean_abs
from kernels.ops.general.reduction.api import reduction_backward as reduction_backward
from kernels.ops.general.reduction.api import sum_squared as sum_squared
from kernels.ops.style.convolution.api import (
    fused_conv_instancenorm_forward as fused_conv_instancenorm_forward,
)
from kernels.ops.style.convolution.api import (
    fused_conv_reflection_pad_forward as fused_conv_reflection_pad_forward,
)
from kernels.ops.style.convolution.residual import (
    fused_residual_block_forward as fused_residual_block_forward,
)
from kernels.ops.style.normalization.api import fused_instance_norm as fused_instance_norm
from kernels.ops.style.normalization.api import (
    fused_instance_norm_forward as fused_instance_norm_forward,
)
from kernels.ops.style.normalization.api import fused_instance_norm_out as fused_instance_norm_out
from kernels.ops.transformer.attention.api import fused_attention as fused_attention
from kernels.ops.transformer.attention.api import (
    fused_attention_backward as fused_attention_backward,
)
from kernels.ops.transformer.attention.ladder import fused_attention_v1 as fused_attention_v1
from kernels.ops.transformer.attention.ladder import (
    fused_attention_v2_forward as fused_attention_v2_forward,
)
from kernels.ops.transformer.attention.ladder import (
    fused_attention_v3_forward as fused_attention_v3_forward,
)
from kernels.ops.transformer.channel_norm.api import fused_channel_norm as fused_channel_norm
from kernels.ops.transformer.channel_norm.statistics import (
    fused_channel_moments_out as fused_channel_moments_out,
)
from kernels.ops.transformer.channel_norm.statistics import (
    fused_channel_statistics as fused_channel_statistics,
)
from kernels.ops.transformer.depthwise.api import fused_depthwise_conv as fused_depthwise_conv
from kernels.ops.transformer.enlarging.api import (
    fused_enlarging_interleave_out as fused_enlarging_interleave_out,
)
from kernels.ops.transformer.enlarging.api import fused_enlarging_pad_out as fused_enlarging_pad_out
from kernels.ops.transformer.ffn.api import fused_ffn_forward as fused_ffn_forward
from kernels.ops.transformer.ffn.api import output_projection_forward as output_projection_forward
from kernels.ops.transformer.token_norm.api import (
    fused_pooled_token_norm as fused_pooled_token_norm,
)
from kernels.ops.transformer.token_norm.api import fused_token_norm as fused_token_norm

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
