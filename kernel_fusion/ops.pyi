"""The fused operations as functions: native where kernels are built, else in PyTorch.

Written by `python -m tools.operation_types`; `help(kernel_fusion.ops.add_relu)` has all that is
documented of an operation.
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
    """pad(relu(norm(x) * weight + bias + residual)), padded on every side."""

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
    """`fused_instance_norm` into a buffer the caller owns; inference only."""

def fused_instance_norm_forward(
    input: Tensor,
    gamma: Tensor | None,
    beta: Tensor | None,
    eps: float = 1e-05,
    use_vectorized: bool = True,
    residual: Tensor | None = None,
    relu: bool = False,
) -> Tensor:
    """relu(norm(input) * gamma + beta + residual), on the CPU and on CUDA."""

def fused_conv_reflection_pad_forward(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding_size: int,
    stride_h: int = 1,
    stride_w: int = 1,
    own_kernel: bool = False,
) -> Tensor:
    """A convolution of `input` padded by reflection, without the padded copy on CUDA."""

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
    """relu(norm(conv(input)) * gamma + beta), the convolution padded by reflection."""

def fused_enlarging_pad_out(
    x: Tensor,
    out: Tensor,
) -> None:
    """Give pictures the margin that a convolution by `bilinear_phase_weight` reads."""

def fused_enlarging_interleave_out(
    z: Tensor,
    skip: Tensor | None,
    out: Tensor,
) -> None:
    """Join the four phases of an enlarged picture, and add another one."""

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
    """softmax(scale q k^T + mask) v for each sample and head, without a matrix of scores."""

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
    """The gradients of `fused_attention`, from what it returned."""

def fused_channel_statistics(
    x: Tensor,
    eps: float = 1e-05,
) -> tuple[Tensor, Tensor]:
    """The mean and the reciprocal of the standard deviation of each channel of each picture."""

def fused_channel_moments_out(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
) -> None:
    """The mean and the biased variance of each channel, see `fused_channel_statistics`."""

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
    """pad(relu(norm(x) * weight + bias + residual)) by given moments, padded by reflection."""

def fused_depthwise_conv(
    x: Tensor,
    weight: Tensor,
) -> Tensor:
    """Convolve each channel of pictures, padded by reflection, with its own 3x3 kernel."""

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
    """linear(gelu(linear(x))) + residual."""

def output_projection_forward(
    attn_output: Tensor,
    w_out: Tensor,
    bias_out: Tensor | None = None,
    residual: Tensor | None = None,
) -> Tensor:
    """linear(attn_output) + residual."""

def fused_attention_v1(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Self-attention by the first rung: tiles of scores in shared memory, two passes over the
    keys."""

def fused_attention_v2_forward(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Self-attention by the second rung: vectorized loads, padded tiles of keys and values."""

def fused_attention_v3_forward(
    x: Tensor,
    w_qkv: Tensor,
    w_out: Tensor,
    bias_qkv: Tensor | None,
    bias_out: Tensor | None,
    scale: float,
    num_heads: int,
) -> Tensor:
    """Self-attention by the third rung: an online softmax, no matrix of scores, tensor cores."""

def attention_score(
    q: Tensor,
    k: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """softmax(q k^T scale + mask): the weights of attention, in the memory of the product."""

def attention_score_backward(
    grad: Tensor,
    weights: Tensor,
) -> Tensor:
    """weights * (grad - sum(grad * weights)): the gradient of the scores before softmax."""

def attention_dropout(
    scores: Tensor,
    p: float = 0.5,
    training: bool = True,
    state: Tensor | None = None,
) -> Tensor:
    """dropout(scores), of the weights that `attention_score` returned."""

def flash_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """softmax(q k^T scale + mask) v without a matrix of scores (Dao et al., 2022)."""

def multihead_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    num_heads: int,
    scale: float | None = None,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """`flash_attention` of heads that lie beside one another; nothing is copied to split them."""

def block_sparse_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None = None,
    most_blocks: int | None = None,
) -> Tensor:
    """Attention in which a block of queries sees some blocks of keys alone (Child et al., 2019)."""

def apply_rope(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool = False,
    back: bool = False,
) -> Tensor:
    """Rotary position embedding (Su et al., 2021): pairs of numbers are turned by their angles."""

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
    """`flash_attention` of queries and keys that `apply_rope` turned."""

def block_sparse_forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_mask: Tensor,
    scale: float | None = None,
) -> Tensor:
    """`block_sparse_attention` by one kernel: what it runs in 16 bits where no gradient is
    wanted."""

def gather_blocks(
    x: Tensor,
    places: Tensor,
    order: Tensor,
    begins: Tensor,
) -> Tensor:
    """x[places], whose gradient is `sum_blocks`: it is summed in FP32 and in a fixed order."""

def sum_blocks(
    x: Tensor,
    places: Tensor,
    order: Tensor,
    begins: Tensor,
) -> Tensor:
    """Of each block, the sum over the places that have it, in FP32 and in a fixed order."""

def add_relu(
    x: Tensor,
    y: Tensor,
) -> Tensor:
    """relu(x + y)."""

def multiply_relu(
    x: Tensor,
    y: Tensor,
) -> Tensor:
    """relu(x y)."""

def add_sigmoid(
    x: Tensor,
    y: Tensor,
) -> Tensor:
    """sigmoid(x + y)."""

def mul_tanh(
    x: Tensor,
    y: Tensor,
) -> Tensor:
    """tanh(x y)."""

def bias_gelu(
    x: Tensor,
    bias: Tensor,
    approximate: str = "none",
) -> Tensor:
    """gelu(x + bias)."""

def gelu_dropout(
    x: Tensor,
    p: float = 0.5,
    training: bool = True,
    state: Tensor | None = None,
) -> Tensor:
    """dropout(gelu(x)), with the exact GELU."""

def swish_multiply(
    x: Tensor,
    gate: Tensor,
) -> Tensor:
    """silu(x) gate, the middle of a gated feed-forward network (Shazeer, 2020)."""

def mish_scale(
    x: Tensor,
    scale: Tensor,
) -> Tensor:
    """mish(x) scale, where mish(x) = x tanh(softplus(x)) (Misra, 2019)."""

def prelu_bias(
    x: Tensor,
    alpha: Tensor,
    bias: Tensor,
) -> Tensor:
    """prelu(x + bias): a sum that is negative is multiplied by alpha (He et al., 2015)."""

def elementwise_backward(
    grad: Tensor,
    inputs: Sequence[Tensor],
    function: str,
    wanted: Sequence[bool],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """The gradients of an elementwise operation, before they are summed over broadcast
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
    """The gradients of an elementwise operation, and their sums over broadcast dimensions."""

def add_relu_masked(
    x: Tensor,
    y: Tensor,
) -> tuple[Tensor, Tensor]:
    """relu(x + y), and which elements its gradient passes: what `add_relu` runs with gradients."""

def relu_mask_backward(
    grad: Tensor,
    mask: Tensor,
) -> Tensor:
    """The gradient of relu: `grad` where the mask of `add_relu_masked` has a bit, 0 elsewhere."""

def dropout_masked(
    x: Tensor,
    function: str,
    p: float,
    state: Tensor,
) -> tuple[Tensor, Tensor]:
    """A dropout, and which elements it kept: what both run on a CPU with gradients."""

def dropout_mask_backward(
    grad: Tensor,
    x: Tensor | None,
    mask: Tensor,
    function: str,
    p: float,
) -> Tensor:
    """The gradient of a dropout from the bits of `dropout_masked`."""

def layer_norm_relu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """relu(layer_norm(x)) (Ba et al., 2016)."""

def layer_norm_gelu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """gelu(layer_norm(x)), with the exact GELU."""

def rms_norm_gelu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float = 1e-06,
) -> Tensor:
    """gelu(rms_norm(x)), with the exact GELU; x / sqrt(mean(x^2) + eps) (Zhang and Sennrich,
    2019)."""

def add_norm(
    x: Tensor,
    residual: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    kind: str = "layer",
) -> tuple[Tensor, Tensor]:
    """x + residual, and its norm: what stands between the blocks of a transformer."""

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
    """The gradients of a norm of rows."""

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
    """relu(batch_norm(x)) (Ioffe and Szegedy, 2015), with the arguments of torch's batch_norm."""

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
    """The gradients of batch_norm_relu."""

def group_norm_relu(
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """relu(group_norm(x + shift)) (Wu and He, 2018): what follows a convolution without its
    bias."""

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
    """The gradients of group_norm_relu."""

def linear_activation(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str = "relu",
) -> Tensor:
    """activation(x weight^T + bias)."""

def ffn(
    x: Tensor,
    weight1: Tensor,
    bias1: Tensor | None,
    weight2: Tensor,
    bias2: Tensor | None,
    activation: str = "gelu",
) -> Tensor:
    """The feed-forward network of a transformer: activation(x weight1^T + bias1) weight2^T +
    bias2."""

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
    """A layer of a transformer, batch first and without dropout (Vaswani et al., 2017)."""

def sum_squared(
    x: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """The sum of squares."""

def mean_abs(
    x: Tensor,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
) -> Tensor:
    """The mean of absolute values."""

def channel_bias_backward(
    x: Tensor,
) -> Tensor:
    """The gradient of a bias of channels: sums over all dimensions but the second."""

def reduction_backward(
    grad: Tensor,
    x: Tensor,
    function: str,
    dim: int | Sequence[int] | None,
) -> Tensor:
    """The gradient of a reduction."""

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
    """relu(batch_norm(conv2d(x))); in inference one convolution, and one pass at most."""

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
    """A depthwise separable convolution (Howard et al., 2017): by channel, then across channels."""

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
    """dropout(gelu(conv2d(x))), with the exact GELU and dropout as `gelu_dropout` has it."""

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
    """activation(group_norm(conv2d(x))) (Wu and He, 2018)."""

def embedding_position(
    tokens: Tensor,
    weight: Tensor,
    position: Tensor,
    scale: float = 1.0,
    start: int = 0,
) -> Tensor:
    """weight[tokens] scale + position[start : start + L]: embeddings with learned positions."""

def contract_reshape(
    equation: str,
    operands: Sequence[Tensor],
    shape: Sequence[int],
) -> Tensor:
    """torch.einsum(equation, *operands).reshape(shape), by PyTorch's products of matrices."""

def sliding_window(
    x: Tensor,
    size: int,
    step: int = 1,
    reduce: str = "mean",
) -> Tensor:
    """x.unfold(-1, size, step), reduced over each window, without a tensor of the windows."""

def sliding_window_backward(
    grad: Tensor,
    x: Tensor,
    y: Tensor,
    size: int,
    step: int = 1,
    reduce: str = "mean",
) -> Tensor:
    """The gradient of `sliding_window`. Every sum has a fixed order."""

def token_embedding(
    tokens: Sequence[Tensor],
    weight: Tensor,
    length: int,
    padding: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The embeddings of sequences that are cut or padded to one length."""

def embedding_backward(
    tokens: Tensor,
    grad: Tensor,
    entries: int,
    left_out: int = -1,
) -> Tensor:
    """The gradient of a table of embeddings: of each row the sum of what its tokens have."""

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
    """Pictures of bytes as normalized tensors: crop, resize, mirror and colors in one pass."""

def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    weight: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The cross-entropy of logits with labels, without a matrix of probabilities."""

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
    """The gradient of `cross_entropy` by the logits, in one pass."""

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
    """cross_entropy(linear(hidden, weight, bias), labels), some rows at a time."""

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
    """The gradients of `linear_cross_entropy`, with the logits of a chunk computed again."""

def linear_cross_entropy_scaled_backward(
    gradients: Sequence[Tensor],
    grad: Tensor,
    divisor: Tensor,
) -> None:
    """Multiply gradients that forward of `linear_cross_entropy` made by grad / divisor, in
    place."""

def mse_loss(
    x: Tensor,
    target: Tensor,
    reduction: str = "mean",
) -> Tensor:
    """The mean of (x - target)^2, in one pass; without a reduction, PyTorch's kernel."""

def mse_loss_backward(
    grad: Tensor,
    x: Tensor,
    target: Tensor,
    reduction: str = "mean",
) -> Tensor:
    """The gradient of `mse_loss` by x; that by target is its negative."""

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
    """A step of Adam (Kingma and Ba, 2015), or of AdamW (Loshchilov and Hutter, 2019), in place."""

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
    """A step of stochastic gradient descent, in place."""

def total_norm(
    tensors: Sequence[Tensor],
    norm_type: float = 2.0,
) -> Tensor:
    """The norm of tensors taken as one vector."""

def clip_grads_with_norm(
    tensors: Sequence[Tensor],
    total_norm: Tensor,
    max_norm: float,
) -> None:
    """Multiply tensors by max_norm / (total_norm + 1e-6) where that is below 1, in place."""

def split_tf32_out(
    x: Tensor,
    out: Tensor,
) -> None:
    """Write the high, the low and again the high part of FP32 numbers, both in TF32."""

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
    """input + norm(conv(relu(norm(conv(input))))), both convolutions 3x3 padded by reflection."""

def fused_token_norm(
    x: Tensor,
    mean: Tensor | None = None,
    inverse: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    eps: float = 1e-05,
) -> tuple[Tensor, Tensor]:
    """y = (x - mean) * inverse * weight + bias + residual, and layer_norm(y) without parameters."""

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
    """`fused_token_norm` of a picture's tokens, and the means of square groups of the norm."""

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
