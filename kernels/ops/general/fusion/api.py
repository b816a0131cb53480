"""Normalizations fused with the sum before them or the activation after them.

The forward pass makes one pass over memory, where PyTorch's calls make two or three; so does the
backward pass, for all gradients. A batch norm over batch statistics makes one more. Besides the
arguments, the backward pass saves two numbers per row: the mean and the reciprocal standard
deviation.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from torch import Tensor

from kernels.ops.general.fusion import channels, groups, norms, row_kernels, rows, samples
from kernels.ops.general.fusion.declaration import ON_CPU, ON_CUDA, launched, refuses_rows, row_norm
from kernels.ops.general.fusion.rows import Norm
from kernels.ops.general.fusion.timed import TIMED
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient, Hidden

__all__ = [
    "add_norm",
    "batch_norm_relu",
    "batch_norm_relu_backward",
    "group_norm_relu",
    "group_norm_relu_backward",
    "layer_norm_gelu",
    "layer_norm_relu",
    "rms_norm_gelu",
    "row_norm_backward",
]

ON_CPU_GROUPS = "group_norm"
RELU, GELU = Norm("layer_norm_relu", "relu"), Norm("layer_norm_gelu", "gelu")
RMS_GELU = Norm("rms_norm_gelu", "gelu", centered=False)
KINDS = {"layer": Norm("add_norm"), "rms": Norm("add_norm", centered=False)}


def _kind(kind: str) -> Norm:
    if kind not in KINDS:
        raise ValueError(f"add_norm: kind is '{kind}'; expected 'layer' or 'rms'")
    return KINDS[kind]


@row_norm(
    lambda *_: RELU,
    samples=samples.of_rows,
    aliases=("fused_layer_norm_relu",),
    is_flat=True,
)
def layer_norm_relu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Compute relu(layer_norm(x)) (Ba et al., 2016).

    Returns a contiguous, non-negative tensor of x's shape.

    Args:
        x: [..., *normalized_shape] of any strides; FP16, BF16, FP32 or FP64.
        normalized_shape: The trailing dimensions of x to normalize over; an int for one dimension.
        weight: [*normalized_shape] or None, like `bias`.
    """
    ...


@row_norm(lambda *_: GELU, samples=samples.of_rows, aliases=("fused_layer_norm_gelu",))
def layer_norm_gelu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Compute gelu(layer_norm(x)) with the exact GELU.

    Returns a contiguous tensor of x's shape.

    Args:
        x: [..., *normalized_shape] of any strides; FP16, BF16, FP32 or FP64.
        normalized_shape: The trailing dimensions of x to normalize over; an int for one dimension.
        weight: [*normalized_shape] or None, like `bias`.
    """
    ...


@row_norm(lambda *_: RMS_GELU, samples=samples.of_rms_rows)
def rms_norm_gelu(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float = 1e-6,
) -> Tensor:
    """Compute gelu(rms_norm(x)) with the exact GELU.

    The norm is x / sqrt(mean(x^2) + eps) (Zhang and Sennrich, 2019). Returns a contiguous tensor of
    x's shape.

    Args:
        x: [..., *normalized_shape] of any strides; FP16, BF16, FP32 or FP64.
        normalized_shape: The trailing dimensions of x to normalize over; an int for one dimension.
        weight: [*normalized_shape] or None.
        eps: Added to the mean of squares.
    """
    ...


@row_norm(
    lambda *arguments: _kind(arguments[-1]),
    samples=samples.of_sums,
    aliases=("fused_add_norm",),
)
def add_norm(
    x: Tensor,
    residual: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    kind: str = "layer",
) -> tuple[Tensor, Tensor]:
    """Compute x + residual and its norm, as between the blocks of a transformer.

    Returns both, contiguous and of x's shape. The sum is rounded before normalization.

    Args:
        x: [..., *normalized_shape] of any strides; FP16, BF16, FP32 or FP64.
        residual: A tensor of x's shape.
        normalized_shape: The trailing dimensions of x to normalize over; an int for one dimension.
        weight: [*normalized_shape] or None, like `bias`.
        eps: Added to the variance, or to the mean of squares.
        kind: "layer", or "rms", which does not subtract the mean.
    """
    ...


@Operation(
    reference=rows.reference_backward,
    samples=samples.of_row_gradients,
    cpu=Cpu(ON_CPU, row_kernels.backward_on_cpu),
    cuda=Cuda(ON_CUDA, row_kernels.backward_on_cuda),
    derived=("statistics",),
    refuses=functools.partial(refuses_rows, row_kernels.MOST_WIDTH_BACKWARD),
    tolerance_scale=32,
)
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
    """Compute the gradients of a norm over rows.

    All other arguments match the forward pass. Returns the gradients of x, and of weight and bias
    if given.

    Args:
        grad: The gradient of the result, of its shape.
        statistics: FP32 [rows, 2]: the mean (0 if not centered) and the reciprocal standard
            deviation.
        added: A tensor of x's shape to add to x's gradient, or None.
        activation: "none", "relu" or "gelu".
        centered: Whether the norm subtracted the mean.
    """
    ...


@Operation(
    reference=functools.partial(norms.batch_norm, channels.reference),
    samples=samples.of_channels,
    cpu=Cpu(ON_CPU, launched(norms.batch_norm, norms.by(channels.on_cpu, channels.forward))),
    cuda=Cuda(ON_CUDA, launched(norms.batch_norm, norms.by(channels.on_cuda, channels.forward))),
    gradient=Gradient(norms.save_batch, norms.batch_norm_backward, statistics=2),
    hidden=Hidden(2, update=norms.update_statistics),
    refuses=norms.refuses_dtype,
    tolerance_scale=8,
    timed=TIMED["batch_norm_relu"],
)
def batch_norm_relu(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Compute relu(batch_norm(x)) (Ioffe and Szegedy, 2015).

    The arguments are as in torch's batch_norm. Training uses the batch statistics and updates the
    running ones in place, as PyTorch does. The function returns a non-negative tensor of x's shape,
    dtype and layout. The dispatcher's operation writes nothing and also returns the mean and the
    reciprocal standard deviation.

    Args:
        x: [N, C, ...], contiguous or channels last; FP16, BF16, FP32 or FP64.
        weight: [C] or None, like `bias`. The remaining tensors may have any of these dtypes.
        running_mean: [C]; None in training tracks no statistics. Passed together with
            `running_var`.
        momentum: Update factor of the running statistics, from 0 to 1.

    Raises:
        ValueError: If an argument is invalid, or if a channel has a single value in training.
    """
    ...


@Operation(
    reference=channels.reference_backward,
    samples=samples.of_channel_gradients,
    cpu=Cpu(ON_CPU, norms.by(channels.on_cpu, channels.backward)),
    cuda=Cuda(ON_CUDA, norms.by(channels.on_cuda, channels.backward)),
    derived=("mean", "inverse"),
    refuses=norms.refuses_dtype,
    tolerance_scale=64,
)
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
    """Compute the gradients of batch_norm_relu.

    All other arguments match the forward pass. Returns the gradients of x, and of weight and bias
    if given.

    Args:
        grad: The gradient of the result, of x's shape.
        mean: [C], the mean that the forward pass subtracted.
        inverse: [C], the reciprocal standard deviation.
        training: Whether `mean` and `inverse` depend on x.
    """
    ...


@Operation(
    reference=groups.reference,
    samples=samples.of_groups,
    cpu=Cpu(ON_CPU_GROUPS, groups.forward_on_cpu),
    cuda=Cuda(ON_CUDA, groups.forward_on_cuda),
    gradient=Gradient(norms.save_groups, norms.group_norm_backward, statistics=1),
    hidden=Hidden(1),
    refuses=norms.refuses_dtype,
    tolerance_scale=8,
    timed=TIMED["group_norm_relu"],
)
def group_norm_relu(
    x: Tensor,
    shift: Tensor | None,
    groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Compute relu(group_norm(x + shift)) (Wu and He, 2018).

    The shift can be the bias of a preceding convolution. The function returns a contiguous,
    non-negative tensor of x's shape and dtype. The dispatcher's operation also returns the numbers
    that its gradients need.

    Args:
        x: [N, C, ...]; FP16, BF16, FP32 or FP64.
        shift: [C] or None. The remaining tensors may have any of these dtypes.
        groups: A divisor of C.
        weight: [C] or None for ones; likewise `bias`, for zeros.
    """
    ...


@Operation(
    reference=groups.reference_backward,
    samples=samples.of_group_gradients,
    cpu=Cpu(ON_CPU_GROUPS, groups.backward_on_cpu),
    cuda=Cuda(ON_CUDA, groups.backward_on_cuda),
    derived=("kept",),
    refuses=norms.refuses_dtype,
    tolerance_scale=64,
)
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
    """Compute the gradients of group_norm_relu.

    All other arguments match the forward pass. Returns the gradients of x, and of shift, weight and
    bias if given.

    Args:
        grad: The gradient of the result, of x's shape.
        kept: [5, N C], the second result of the forward pass.
    """
    ...
