"""The fused operations as functions: native where kernels are built, else in PyTorch.

`python -m tools.operation_types` generates this file. `help(kernel_fusion.ops.add_relu)` shows the
whole documentation of an operation.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

def fused_instance_norm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-05,
    relu: bool = False,
    pad: int = 0,
    pad_mode: str = "reflect",
    interleave: bool = False,
) -> Tensor:
    """Compute pad(relu(norm(x) * weight + bias + residual)), padded on every side."""

def fused_instance_norm_out(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
    eps: float,
    relu: bool,
    pad: int,
    pad_mode: str,
    interleave: bool,
    out: Tensor,
) -> None:
    """Compute `fused_instance_norm` into a buffer that the caller owns; inference only."""

def fused_instance_norm_forward(
    input: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float = 1e-05,
    use_vectorized: bool = True,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    """Compute relu(norm(input) * gamma + beta + residual) on the CPU and on CUDA."""

def fused_conv_reflection_pad_forward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding_size: int,
    stride_h: int = 1,
    stride_w: int = 1,
    own_kernel: bool = False,
) -> Tensor:
    """Convolve `input` with reflection padding, on CUDA without a padded copy."""

def fused_conv_instancenorm_forward(
    input: Tensor,
    conv_weight: Tensor,
    conv_bias: Tensor | None,
    norm_gamma: Tensor | None,
    norm_beta: Tensor | None,
    eps: float = 1e-05,
    padding: int = 1,
    stride: int = 1,
    relu: bool = False,
    upsample: bool = False,
    own_kernel: bool = False,
) -> Tensor:
    """Compute relu(norm(conv(input)) * gamma + beta) with a reflection-padded convolution."""

def fused_enlarging_pad_out(
    x: Tensor,
    out: Tensor,
) -> None:
    """Add the margin that a convolution by `bilinear_phase_weight` reads."""

def fused_enlarging_interleave_out(
    z: Tensor,
    skip: Tensor | None,
    out: Tensor,
) -> None:
    """Join the four phases of an enlarged image, and add another image."""

def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    scale: float = 1.0,
    causal: bool = False,
    dropout: float = 0.0,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute softmax(scale q k^T + mask) v for each sample and head, without a score matrix."""

def fused_attention_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    out: Tensor,
    lse: Tensor,
    scale: float = 1.0,
    causal: bool = False,
    dropout: float = 0.0,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of `fused_attention` from its results."""

def fused_channel_statistics(
    x: Tensor,
    eps: float = 1e-05,
) -> tuple[Tensor, Tensor]:
    """Compute the mean and reciprocal standard deviation of each channel of each image."""

def fused_channel_moments_out(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
) -> None:
    """Write the mean and biased variance of each channel, see `fused_channel_statistics`."""

def fused_channel_norm(
    x: Tensor,
    moments: Tensor,
    weight: Tensor,
    bias: Tensor,
    residual: Tensor | None = None,
    eps: float = 1e-05,
    relu: bool = False,
    pad: int = 0,
) -> Tensor:
    """Compute pad(relu(norm(x) * weight + bias + residual)) by given moments, padded by
    reflection."""

def fused_depthwise_conv(
    x: Tensor,
    weight: Tensor,
) -> Tensor:
    """Convolve each channel of reflection-padded images with its own 3x3 kernel."""

def fused_ffn_forward(
    x: Tensor,
    fc1_weight: Tensor,
    fc1_bias: Tensor | None,
    fc2_weight: Tensor,
    fc2_bias: Tensor | None,
    use_vectorized: bool = True,
    approximate: str = "none",
    residual: Tensor | None = None,
) -> Tensor:
    """Compute linear(gelu(linear(x))) + residual."""

def output_projection_forward(
    attn_output: Tensor,
    w_out: Tensor,
    bias_out: Tensor | None = None,
    residual: Tensor | None = None,
) -> Tensor:
    """Compute linear(attn_output) + residual."""

def fused_attention_v1(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Compute self-attention on the first rung: score tiles in shared memory, two key passes."""

def fused_attention_v2_forward(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Compute self-attention on the second rung: vectorized loads, padded tiles of keys and
    values."""

def fused_attention_v3_forward(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Compute self-attention on the third rung: an online softmax, no score matrix, tensor
    cores."""

def attention_score(
    q: Tensor,
    k: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute the attention weights softmax(q k^T scale + mask) in the memory of the product."""

def attention_score_backward(
    grad: Tensor,
    weights: Tensor,
) -> Tensor:
    """Compute weights * (grad - sum(grad * weights)), the gradient of the scores before softmax."""

def attention_dropout(
    scores: Tensor,
    p: float = 0.5,
    training: bool = True,
    state: Tensor | None = None,
) -> Tensor:
    """Compute dropout(scores), where `attention_score` returned the scores."""

def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Compute softmax(q k^T scale + mask) v without a score matrix (Dao et al., 2022)."""

def multihead_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Compute `flash_attention` of heads stored side by side, without copies to split them."""

def block_sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None = None,
    most_blocks: int | None = None,
) -> Tensor:
    """Compute attention in which query blocks see only some key blocks (Child et al., 2019)."""

def apply_rope(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool = False,
    back: bool = False,
) -> Tensor:
    """Apply rotary position embedding (Su et al., 2021): rotate pairs of numbers by their
    angles."""

def rope_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool = False,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Compute `flash_attention` of queries and keys rotated by `apply_rope`."""

def block_sparse_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None = None,
) -> Tensor:
    """Compute `block_sparse_attention` in one kernel, as it does in 16 bits without gradients."""

def gather_blocks(
    x: Tensor,
    places: Tensor,
    order: Tensor,
    begins: Tensor,
) -> Tensor:
    """Return x[places]; its gradient is `sum_blocks`, a sum in FP32 and in a fixed order."""

def sum_blocks(
    x: Tensor,
    places: Tensor,
    order: Tensor,
    begins: Tensor,
) -> Tensor:
    """Sum each block over its places, in FP32 and in a fixed order."""

def add_relu(
    x: Tensor,
    y: Tensor,
) -> Tensor:
    """Compute relu(x + y)."""

def multiply_relu(
    x: Tensor,
    y: Tensor,
) -> Tensor:
    """Compute relu(x y)."""

def add_sigmoid(
    x: Tensor,
    y: Tensor,
) -> Tensor:
    """Compute sigmoid(x + y)."""

def mul_tanh(
    x: Tensor,
    y: Tensor,
) -> Tensor:
    """Compute tanh(x y)."""

def bias_gelu(
    x: Tensor,
    bias: Tensor,
    approximate: str = "none",
) -> Tensor:
    """Compute gelu(x + bias)."""

def gelu_dropout(
    x: Tensor,
    p: float = 0.5,
    training: bool = True,
    state: Tensor | None = None,
) -> Tensor:
    """Compute dropout(gelu(x)) with the exact GELU."""

def swish_multiply(
    x: Tensor,
    gate: Tensor,
) -> Tensor:
    """Compute silu(x) gate, the middle of a gated feed-forward network (Shazeer, 2020)."""

def mish_scale(
    x: Tensor,
    scale: Tensor,
) -> Tensor:
    """Compute mish(x) scale, where mish(x) = x tanh(softplus(x)) (Misra, 2019)."""

def prelu_bias(
    x: Tensor,
    alpha: Tensor,
    bias: Tensor,
) -> Tensor:
    """Compute prelu(x + bias), which multiplies a negative sum by alpha (He et al., 2015)."""

def elementwise_backward(
    grad: Tensor,
    inputs: Sequence[Tensor],
    function: str,
    wanted: Sequence[bool],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """Compute the gradients of an elementwise operation before their sum over broadcast
    dimensions."""

def elementwise_sums_backward(
    grad: Tensor,
    inputs: Sequence[Tensor],
    function: str,
    wanted: Sequence[bool],
    like: Sequence[Tensor],
    of: Sequence[int],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """Compute the gradients of an elementwise operation and their sums over broadcast
    dimensions."""

def add_relu_masked(
    x: Tensor,
    y: Tensor,
) -> tuple[Tensor, Tensor]:
    """Compute relu(x + y) and which elements pass gradients, as `add_relu` does for autograd."""

def relu_mask_backward(
    grad: Tensor,
    mask: Tensor,
) -> Tensor:
    """Compute the gradient of relu: `grad` where the mask of `add_relu_masked` is set, 0
    elsewhere."""

def dropout_masked(
    x: Tensor,
    function: str,
    p: float,
    state: Tensor,
) -> tuple[Tensor, Tensor]:
    """Compute a dropout and which elements it kept, as both dropouts do on a CPU for autograd."""

def dropout_mask_backward(
    grad: Tensor,
    x: Tensor | None,
    mask: Tensor,
    function: str,
    p: float,
) -> Tensor:
    """Compute the gradient of a dropout from the bits of `dropout_masked`."""

def layer_norm_relu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Compute relu(layer_norm(x)) (Ba et al., 2016)."""

def layer_norm_gelu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Compute gelu(layer_norm(x)) with the exact GELU."""

def rms_norm_gelu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float = 1e-06,
) -> Tensor:
    """Compute gelu(rms_norm(x)) with the exact GELU."""

def add_norm(
    x: Tensor,
    residual: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    kind: str = "layer",
) -> tuple[Tensor, Tensor]:
    """Compute x + residual and its norm, as between the blocks of a transformer."""

def row_norm_backward(
    grad: Tensor,
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    statistics: Tensor,
    added: Tensor | None,
    activation: str,
    centered: bool,
    eps: float,
) -> list[Tensor]:
    """Compute the gradients of a norm over rows."""

def batch_norm_relu(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Compute relu(batch_norm(x)) (Ioffe and Szegedy, 2015)."""

def batch_norm_relu_backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    inverse: Tensor,
    training: bool,
    eps: float,
) -> list[Tensor]:
    """Compute the gradients of batch_norm_relu."""

def group_norm_relu(
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Compute relu(group_norm(x + shift)) (Wu and He, 2018)."""

def group_norm_relu_backward(
    grad: Tensor,
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    kept: Tensor,
    eps: float,
) -> list[Tensor]:
    """Compute the gradients of group_norm_relu."""

def linear_activation(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str = "relu",
) -> Tensor:
    """Compute activation(x weight^T + bias)."""

def ffn(
    x: Tensor,
    weight1: Tensor,
    bias1: Tensor | None,
    weight2: Tensor,
    bias2: Tensor | None,
    activation: str = "gelu",
) -> Tensor:
    """Compute a transformer's feed-forward network."""

def transformer_layer(
    x: Tensor,
    weights: Sequence[Tensor],
    num_heads: int,
    activation: str = "gelu",
    norm_first: bool = False,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
    eps: float = 1e-05,
) -> Tensor:
    """Compute a transformer layer, batch first and without dropout (Vaswani et al., 2017)."""

def sum_squared(
    x: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """Compute the sum of squares."""

def mean_abs(
    x: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """Compute the mean of absolute values."""

def channel_bias_backward(
    x: Tensor,
) -> Tensor:
    """Compute the gradient of a per-channel bias: the sum over all dimensions but the second."""

def reduction_backward(
    grad: Tensor,
    x: Tensor,
    function: str,
    dim: int | Sequence[int] | None,
) -> Tensor:
    """Compute the gradient of a reduction."""

def conv2d_bn_relu(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    bn_weight: Tensor | None,
    bn_bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] | None = None,
    dilation: int | Sequence[int] | None = None,
    groups: int = 1,
) -> Tensor:
    """Compute relu(batch_norm(conv2d(x)))."""

def depthwise_pointwise_conv(
    x: Tensor,
    depthwise: Tensor,
    pointwise: Tensor,
    depthwise_bias: Tensor | None = None,
    pointwise_bias: Tensor | None = None,
    activation: str = "none",
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] | None = None,
    dilation: int | Sequence[int] | None = None,
) -> Tensor:
    """Compute a depthwise separable convolution (Howard et al., 2017)."""

def conv2d_gelu_dropout(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    p: float = 0.5,
    training: bool = True,
    state: Tensor | None = None,
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] | None = None,
    dilation: int | Sequence[int] | None = None,
    groups: int = 1,
) -> Tensor:
    """Compute dropout(gelu(conv2d(x))), with the exact GELU and the dropout of `gelu_dropout`."""

def grouped_conv_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    norm_groups: int,
    norm_weight: Tensor | None = None,
    norm_bias: Tensor | None = None,
    activation: str = "none",
    eps: float = 1e-05,
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] | None = None,
    dilation: int | Sequence[int] | None = None,
    groups: int = 1,
) -> Tensor:
    """Compute activation(group_norm(conv2d(x))) (Wu and He, 2018)."""

def embedding_position(
    tokens: Tensor,
    weight: Tensor,
    position: Tensor,
    scale: float = 1.0,
    start: int = 0,
) -> Tensor:
    """Compute weight[tokens] scale + position[start : start + L]."""

def contract_reshape(
    equation: str,
    operands: Sequence[Tensor],
    shape: Sequence[int],
) -> Tensor:
    """Compute torch.einsum(equation, *operands).reshape(shape) with PyTorch's matrix products."""

def sliding_window(
    x: Tensor,
    size: int,
    step: int = 1,
    reduce: str = "mean",
) -> Tensor:
    """Reduce x.unfold(-1, size, step) over each window without a tensor of the windows."""

def sliding_window_backward(
    grad: Tensor,
    x: Tensor,
    y: Tensor,
    size: int,
    step: int = 1,
    reduce: str = "mean",
) -> Tensor:
    """Compute the gradient of `sliding_window`. Every sum has a fixed order."""

def token_embedding(
    tokens: Sequence[Tensor],
    weight: Tensor,
    length: int,
    padding: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Embed sequences that are cut or padded to one length."""

def embedding_backward(
    tokens: Tensor,
    grad: Tensor,
    entries: int,
    left_out: int = -1,
) -> Tensor:
    """Compute the gradient of an embedding table: each row sums the gradients of its tokens."""

def image_to_tensor(
    images: Tensor,
    mean: Tensor,
    std: Tensor,
    size: Sequence[int] | None = None,
    boxes: Sequence[int] | None = None,
    mirrored: Sequence[bool] | None = None,
    color: Sequence[float] | None = None,
    antialias: bool = True,
    channels_last: bool = False,
) -> Tensor:
    """Turn byte images into normalized tensors: crop, resize, mirror and adjust colors in one
    pass."""

def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    weight: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Compute the cross-entropy of logits and labels without a probability matrix."""

def cross_entropy_backward(
    grad: Tensor,
    logits: Tensor,
    labels: Tensor,
    lse: Tensor,
    divisor: Tensor,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Compute the gradient of `cross_entropy` with respect to the logits, in one pass."""

def linear_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    labels: Tensor,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    chunk_size: int = 0,
    dtype: torch.dtype | None = None,
    wanted: int = 0,
) -> Tensor:
    """Compute cross_entropy(linear(hidden, weight, bias), labels) for some rows at a time."""

def linear_cross_entropy_backward(
    grads: Tensor,
    hidden: Tensor,
    weight: Tensor,
    labels: Tensor,
    bias: Tensor | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    chunk_size: int = 0,
    wanted: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of `linear_cross_entropy`, recomputing the logits chunk by chunk."""

def linear_cross_entropy_scaled_backward(
    gradients: Sequence[Tensor],
    grad: Tensor,
    divisor: Tensor,
) -> None:
    """Multiply the forward pass's gradients of `linear_cross_entropy` by grad / divisor in
    place."""

def mse_loss(
    x: Tensor,
    target: Tensor,
    reduction: str = "mean",
) -> Tensor:
    """Compute the mean of (x - target)^2 in one pass; without a reduction, PyTorch's kernel
    runs."""

def mse_loss_backward(
    grad: Tensor,
    x: Tensor,
    target: Tensor,
    reduction: str = "mean",
) -> Tensor:
    """Compute the gradient of `mse_loss` with respect to x; the target's is its negative."""

def adam_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor],
    steps: Sequence[Tensor],
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Perform a step of Adam (Kingma and Ba, 2015) or AdamW (Loshchilov and Hutter, 2019) in
    place."""

def sgd_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffers: Sequence[Tensor],
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Perform a step of stochastic gradient descent in place."""

def total_norm(
    tensors: Sequence[Tensor],
    norm_type: float = 2.0,
) -> Tensor:
    """Compute the norm of several tensors as if they were one vector."""

def clip_grads_with_norm(
    tensors: Sequence[Tensor],
    total_norm: Tensor,
    max_norm: float,
) -> None:
    """Multiply tensors by max_norm / (total_norm + 1e-6) in place if that factor is below 1."""

def split_tf32_out(
    x: Tensor,
    out: Tensor,
) -> None:
    """Write the high, low and again the high part of FP32 numbers, each in TF32."""

def fused_residual_block_forward(
    input: Tensor,
    conv1_weight: Tensor,
    conv1_bias: Tensor | None,
    conv1_gamma: Tensor | None,
    conv1_beta: Tensor | None,
    conv2_weight: Tensor,
    conv2_bias: Tensor | None,
    conv2_gamma: Tensor | None,
    conv2_beta: Tensor | None,
    eps: float = 1e-05,
    own_kernel: bool = False,
) -> Tensor:
    """Compute input + norm(conv(relu(norm(conv(input))))) with reflection-padded 3x3
    convolutions."""

def fused_token_norm(
    x: Tensor,
    mean: Tensor | None = None,
    inverse: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-05,
) -> tuple[Tensor, Tensor]:
    """Compute y = (x - mean) * inverse * weight + bias + residual, and a plain layer_norm(y)."""

def fused_pooled_token_norm(
    x: Tensor,
    high: int,
    wide: int,
    stride: int,
    mean: Tensor | None = None,
    inverse: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-05,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute `fused_token_norm` of an image's tokens, and the means of square groups of the
    norm."""

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
