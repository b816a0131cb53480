"""The plan that multiplies 8-bit integers, for GPUs of compute capability 8.0 or more.

Activations are FP16 in memory. The first two layers and the last one run in FP16; the others come
from network_sm80_int8.cu.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from kernels.network.abi import Sm80Conv, Sm80Int8
from kernels.network.calibration import ranges
from kernels.network.launchers import Network
from kernels.network.plan import role_of
from kernels.network.shapes import Dimensions
from kernels.network.sm80 import Sm80Plan, conv_name, in_operands, in_steps
from kernels.weight_transforms import phase_weight

LARGEST = 127  # absolute value of a weight


class Sm80Int8Plan(Sm80Plan):
    """The full network with integer products; setting weights also finds the ranges.

    `small` selects the FP16 layers that need less shared memory; see NetworkPlan for the others.
    """

    def __init__(
        self,
        weights: Mapping[str, Tensor],
        network: Dimensions,
        shape: tuple[int, int, int],
        device: torch.device,
        library: Network,
        small: bool = False,
    ) -> None:
        self._int8, self._network = library.abi.sm80_int8, network
        super().__init__(weights, network, shape, torch.float16, device, library, small)

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        found = ranges(weights, self._network, self.device)
        super().set_weights({**weights, **{_range(conv): value for conv, value in found.items()}})

    def _kernel_of(self, role: str, size: tuple[int, int]) -> tuple[Sm80Conv, int]:
        if role not in self._int8.convs:
            return super()._kernel_of(role, size)
        name = conv_name(self._int8, role, size, self._gpu, self.samples, small=self._small)
        return self._int8.convs[name], self._int8.precisions["int8"]

    def _conv_weight(self, conv: str, traits: Sm80Conv, into: int, out: int) -> Tensor:
        if role_of(conv) not in self._int8.convs:
            return super()._conv_weight(conv, traits, into, out)
        outputs = traits.phases * out
        size = outputs * traits.taps * into + (outputs + into) * 4
        to = self._keep(torch.zeros(size, dtype=torch.uint8, device=self.device))

        def refill(weights: Mapping[str, Tensor]) -> None:
            weight = weights[f"{conv}.conv2d.weight"].detach().to(to.device)
            # With a residual, no ReLU follows the sum.
            levels = 127 if follows_sum(conv) else 255
            to.copy_(packed(weight, weights[_range(conv)], levels, traits, self._int8))

        self._refill.append(refill)
        return to


def follows_sum(conv: str) -> bool:
    """Return whether a convolution multiplies the sums of a residual block, which are signed."""
    block, _, part = conv.partition(".")
    return conv == "deconv1" or (part == "conv1" and block != "res1")


def packed(weight: Tensor, largest: Tensor, levels: int, conv: Sm80Conv, told: Sm80Int8) -> Tensor:
    """Round and reorder the weights [Cout, Cin, 3, 3] of a 3x3 layer as its kernel reads them.

    Return bytes: the integers in `told.weight_order`, then in FP32 the factors of the outputs, by
    phase, and the reciprocal ranges.

    Args:
        largest: [Cin], the ranges of the inputs.
        levels: The integer that represents the range: 127, or 255 if no input is negative.
    """
    if conv.phases > 1:
        weight = phase_weight(weight)
    integers, factors = rounded(weight, largest, levels)
    ordered = in_steps(in_operands(integers.to(torch.int8), told)[None], conv, told)
    parts = ordered.flatten(), factors, largest.float().reciprocal()
    return torch.cat([part.view(torch.uint8) for part in parts])


def rounded(weight: Tensor, largest: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """Return weights [O, Cin, kh, kw] times the ranges [Cin] of their inputs, as integers.

    They are -127..127 in FP32; [O], the factors for sums of their products, follow. Weights or
    ranges that are not finite make the results not finite. See `packed` for `levels`.
    """
    scaled = weight.float() * largest.float().view(1, -1, 1, 1)
    step = scaled.abs().amax((1, 2, 3)) / LARGEST
    # An output without weights is zero, whatever its factor.
    integers = (scaled / step.where(step != 0, 1).view(-1, 1, 1, 1)).round()
    return integers, step / levels


def _range(conv: str) -> str:
    """Return the key, next to the weights, of the ranges of a convolution's input."""
    return f"{conv}.range"
