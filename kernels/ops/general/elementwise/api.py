"""The elementwise operations: two to four of PyTorch's in one pass over memory.

Tensors broadcast as in PyTorch and may have any strides. The result has the dtype that PyTorch
promotes to; FP16 and BF16 are computed in FP32 and rounded once. It has the layout of the first
tensor if the shapes are equal, and is contiguous otherwise. The backward pass computes the
gradients of all tensors in one pass. On a GPU that pass also sums the gradients of broadcast rows
and numbers. `channel_bias_backward` sums the gradients of channels, and PyTorch sums all others.
The order of all sums is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from kernels.ops.general.elementwise import (
    dropped,
    masked,
    on_cpu,
    on_cuda,
    reference,
    samples,
    sums,
)
from kernels.ops.general.elementwise.arguments import channel_weights
from kernels.ops.general.elementwise.declaration import Spelled, elementwise
from kernels.ops.general.elementwise.functions import TYPES
from kernels.ops.general.elementwise.timed import TIMED
from kernels.table.names import GENERAL
from kernels.table.operation import Operation
from kernels.table.parts import Cpu, Cuda, Gradient

__all__ = [
    "add_relu",
    "add_relu_masked",
    "add_sigmoid",
    "bias_gelu",
    "dropout_mask_backward",
    "dropout_masked",
    "elementwise_backward",
    "elementwise_sums_backward",
    "gelu_dropout",
    "gelu_multiply",
    "mish_scale",
    "mul_tanh",
    "multiply_relu",
    "prelu_bias",
    "relu_mask_backward",
    "swish_multiply",
]


def _approximated(operation: str, exact: str, tanh: str) -> Spelled:
    """Return a choice between the functions for the exact GELU and its approximation by tanh."""
    functions = {"none": exact, "tanh": tanh}

    def spell(x: Tensor, y: Tensor, approximate: str) -> tuple[Any, ...]:
        if approximate not in functions:
            wrong = f"approximate is '{approximate}'; expected 'none' or 'tanh'"
            raise ValueError(f"{operation}: {wrong}")
        return functions[approximate], (x, y)

    return spell


def _broadcast(x: Tensor, bias: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the tensors of prelu_bias, with alpha in its broadcast shape."""
    dims, channels = max(x.dim(), bias.dim()), 1
    if dims >= 2:
        sizes = [each.shape[1 - dims] if each.dim() >= dims - 1 else 1 for each in (x, bias)]
        channels = sizes[0] if sizes[0] != 1 else sizes[1]
    return x, bias, channel_weights(alpha, dims, channels)


def _spelled_prelu(x: Tensor, alpha: Tensor, bias: Tensor) -> tuple[Any, ...]:
    return "prelu_bias", _broadcast(x, bias, alpha)


def _refuses_backward(**arguments: Any) -> str:
    return on_cpu.refuses(arguments["inputs"])


@elementwise(
    samples=samples.pairs,
    aliases=("elementwise_add_relu",),
    recorded=masked.in_place_of_add_relu,
)
def add_relu(x: Tensor, y: Tensor) -> Tensor:
    """Compute relu(x + y).

    x and y are FP16, BF16, FP32 or FP64 of any strides, and their shapes broadcast. Returns a
    non-negative tensor; NaN stays NaN.
    """
    ...


@elementwise(samples=samples.pairs)
def multiply_relu(x: Tensor, y: Tensor) -> Tensor:
    """Compute relu(x y).

    x and y are FP16, BF16, FP32 or FP64 of any strides, and their shapes broadcast. Returns a
    non-negative tensor; NaN stays NaN.
    """
    ...


@elementwise(samples=samples.pairs)
def add_sigmoid(x: Tensor, y: Tensor) -> Tensor:
    """Compute sigmoid(x + y).

    x and y are FP16, BF16, FP32 or FP64 of any strides, and their shapes broadcast.
    """
    ...


@elementwise(
    samples=samples.pairs,
    aliases=("elementwise_mul_tanh",),
)
def mul_tanh(x: Tensor, y: Tensor) -> Tensor:
    """Compute tanh(x y).

    x and y are FP16, BF16, FP32 or FP64 of any strides, and their shapes broadcast.
    """
    ...


@elementwise(
    samples=samples.with_gelu,
    spelled=_approximated("bias_gelu", "bias_gelu", "bias_gelu_tanh"),
    aliases=("fused_bias_gelu",),
    tolerance_scale=2,
)
def bias_gelu(x: Tensor, bias: Tensor, approximate: str = "none") -> Tensor:
    """Compute gelu(x + bias).

    Args:
        x: Any shape and strides; FP16, BF16, FP32 or FP64.
        bias: A shape that broadcasts with x's, such as [features].
        approximate: "none" for the exact GELU, or "tanh" (Hendrycks and Gimpel, 2016).
    """
    ...


@elementwise(
    samples=samples.with_dropout,
    aliases=("fused_gelu_dropout",),
    is_flat=True,
    tolerance_scale=2,
)
def gelu_dropout(
    x: Tensor, p: float = 0.5, training: bool = True, state: Tensor | None = None
) -> Tensor:
    """Compute dropout(gelu(x)) with the exact GELU.

    The random state comes from PyTorch's generator of the device, so `torch.manual_seed` determines
    the dropped elements. The backward pass drops the same ones. It saves no mask on a GPU, and one
    bit per element on the CPU. Returns a contiguous tensor of x's shape.

    Args:
        x: Any shape and strides; FP16, BF16, FP32 or FP64.
        p: The probability that an element becomes 0, from 0 to 1, in steps of 1 / 65536; the others
            are multiplied by 1 / (1 - p).
        state: int64 [2] on x's device, a seed and an offset: the same state drops the same
            elements. Drawn if None.
    """
    ...


@elementwise(samples=samples.pairs)
def swish_multiply(x: Tensor, gate: Tensor) -> Tensor:
    """Compute silu(x) gate, the middle of a gated feed-forward network (Shazeer, 2020).

    x and gate are FP16, BF16, FP32 or FP64 of any strides, and their shapes broadcast.
    """
    ...


@elementwise(
    samples=samples.with_gelu,
    spelled=_approximated("gelu_multiply", "gelu_multiply", "gelu_tanh_multiply"),
    tolerance_scale=2,
)
def gelu_multiply(x: Tensor, gate: Tensor, approximate: str = "none") -> Tensor:
    """Compute gelu(x) gate, the middle of a GEGLU feed-forward network (Shazeer, 2020).

    Args:
        x: Any shape and strides; FP16, BF16, FP32 or FP64.
        gate: A shape that broadcasts with x's.
        approximate: "none" for the exact GELU, or "tanh" (Hendrycks and Gimpel, 2016).
    """
    ...


@elementwise(samples=samples.pairs)
def mish_scale(x: Tensor, scale: Tensor) -> Tensor:
    """Compute mish(x) scale, where mish(x) = x tanh(softplus(x)) (Misra, 2019).

    x and scale are FP16, BF16, FP32 or FP64 of any strides, and their shapes broadcast.
    """
    ...


@elementwise(samples=samples.with_prelu, spelled=_spelled_prelu)
def prelu_bias(x: Tensor, alpha: Tensor, bias: Tensor) -> Tensor:
    """Compute prelu(x + bias), which multiplies a negative sum by alpha (He et al., 2015).

    Args:
        x: Any shape and strides; FP16, BF16, FP32 or FP64.
        alpha: One element, or [C] for dimension 1 of the sum, as in torch.nn.PReLU.
        bias: A shape that broadcasts with x's; [C, 1, 1] for the channels of [N, C, H, W].
    """
    ...


@Operation(
    reference=reference.backward,
    samples=samples.of_backward,
    cpu=Cpu(on_cpu.LIBRARY_ON_CPU, on_cpu.backward),
    cuda=Cuda(GENERAL, on_cuda.backward, dtypes=tuple(TYPES)),
    refuses=_refuses_backward,
    tolerance_scale=4,
)
def elementwise_backward(
    grad: Tensor,
    inputs: Sequence[Tensor],
    function: str,
    wanted: Sequence[bool],
    p: float = 0.0,
    state: Tensor | None = None,
) -> list[Tensor]:
    """Compute the gradients of an elementwise operation before their sum over broadcast dimensions.

    Returns the wanted gradients, each of the result's shape and dtype.

    Args:
        grad: The gradient of the result, of its shape.
        inputs: The tensors of the operation. For prelu_bias: x, bias and alpha in its broadcast
            shape; for add_relu and add_sigmoid: only the result.
        function: The operation's name; "bias_gelu_tanh" for the approximation.
        wanted: Whether to compute each distinct gradient. Tensors that are added share one.
    """
    ...


@Operation(
    reference=sums.reference_sums,
    samples=samples.of_sums,
    cpu=Cpu(on_cpu.LIBRARY_ON_CPU, on_cpu.backward_sums),
    cuda=Cuda(GENERAL, on_cuda.backward_sums, dtypes=tuple(TYPES)),
    refuses=_refuses_backward,
    tolerance_scale=16,
)
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
    """Compute the gradients of an elementwise operation and their sums over broadcast dimensions.

    All other arguments match `elementwise_backward`. Returns the wanted gradients, then the sums,
    in the dtype of the result.

    Args:
        wanted: Whether to return each distinct gradient in full.
        like: For each sum, a tensor of its shape, which broadcasts to the gradients' shape.
        of: For each sum, the index of its gradient.
    """
    ...


@Operation(
    reference=masked.reference,
    samples=masked.samples,
    cpu=Cpu(on_cpu.LIBRARY_ON_CPU, masked.launch_on_cpu),
    cuda=Cuda(masked.CUDA, masked.launch),
    gradient=Gradient(masked.save, masked.gradients, statistics=1),
    timed=TIMED["add_relu_masked"],
)
def add_relu_masked(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Compute relu(x + y) and which elements pass gradients, as `add_relu` does for autograd.

    Returns the result, contiguous, and uint8 [elements / 8]: one bit per element in order, lowest
    bit first, which is 1 where the result is above 0 or NaN.

    Args:
        x: Any shape with a multiple of 8 elements; FP16, BF16 or FP32.
        y: A tensor like x.

    Raises:
        ValueError: If the tensors differ in shape, dtype or device, or the number of elements is
            not a multiple of 8.
    """
    ...


@Operation(
    reference=masked.backward_reference,
    samples=masked.samples_of_backward,
    cpu=Cpu(on_cpu.LIBRARY_ON_CPU, masked.backward_on_cpu),
    cuda=Cuda(masked.CUDA, masked.launch_backward),
    gradient=Gradient(masked.save_backward, masked.gradients_of_backward),
)
def relu_mask_backward(grad: Tensor, mask: Tensor) -> Tensor:
    """Compute the gradient of relu: `grad` where the mask of `add_relu_masked` is set, 0 elsewhere.

    Returns a contiguous tensor of grad's shape.

    Args:
        grad: The gradient of the result; FP16, BF16 or FP32.
        mask: uint8 [elements / 8].
    """
    ...


@Operation(
    reference=dropped.meaning,
    samples=dropped.samples,
    cpu=Cpu(on_cpu.LIBRARY_ON_CPU, dropped.launch),
    gradient=Gradient(dropped.save, dropped.gradients, statistics=1),
    tolerance_scale=2,
    timed=TIMED["dropout_masked"],
)
def dropout_masked(x: Tensor, function: str, p: float, state: Tensor) -> tuple[Tensor, Tensor]:
    """Compute a dropout and which elements it kept, as both dropouts do on a CPU for autograd.

    Returns the function's result, contiguous, and uint8 [ceil(elements / 8)]: one bit per element
    in order, lowest bit first, which is 1 for a kept element.

    Args:
        x: Any shape; FP16, BF16 or FP32.
        function: "gelu_dropout" or "attention_dropout".
        p: The probability that an element becomes 0, above 0 and up to 1.
        state: int64 [2], a seed and an offset, as in the function.
    """
    ...


@Operation(
    reference=dropped.backward_meaning,
    samples=dropped.samples_of_backward,
    cpu=Cpu(on_cpu.LIBRARY_ON_CPU, dropped.launch_backward),
    tolerance_scale=4,
)
def dropout_mask_backward(
    grad: Tensor, x: Tensor | None, mask: Tensor, function: str, p: float
) -> Tensor:
    """Compute the gradient of a dropout from the bits of `dropout_masked`.

    Returns a contiguous tensor of grad's shape.

    Args:
        grad: The gradient of the result; FP16, BF16 or FP32.
        x: The input of "gelu_dropout"; None for "attention_dropout", which does not need it.
        mask: uint8 [ceil(elements / 8)].
        function: As in `dropout_masked`, like `p`.
    """
    ...
