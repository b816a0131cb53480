"""The network's own layers for another network: its encoder, a residual block, its last layer.

The any-style network starts, continues and ends with layers of these shapes. Other code computes
the layers in between, and reads and writes the buffers here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import c_void_p

import torch
from torch import Tensor

from kernels.network import abi, dispatch
from kernels.network.launchers import Network
from kernels.network.plan import EPS, NetworkPlan
from kernels.network.shapes import Dimensions
from kernels.network.sm80 import Sm80Plan
from kernels.network.sm90 import Sm90Plan
from kernels.ops.transformer.channel_norm.statistics import fused_channel_moments_out

MULTIPLE = 8  # the padded picture's sides are multiples of it
STEM, RESIDUAL, LAST = "stem", "residual", "last"  # groups of layers
# Norms whose scale and shift are set separately from the weights, by name in the state dict.
STYLED = "joined", "res1.in1", "res1.in2", "in5"


class Ends(NetworkPlan):
    """The layers around another network's computation. Each writes its result before its norm.

    The weights are a published state dict of a network with one residual block, without the norms
    in STYLED. "deconv3" is the last layer, "joined" the norm of the residual block's input. Callers
    apply the norms after "conv3" and "res1.conv2".

    Attributes:
        half: [N, H/2, W/2, C], after the second layer.
        quarter: [N, H/4, W/4, C], after the third.
        joined: [N, H/4, W/4, C]; the residual block applies its norm and ReLU.
        activated: `joined` after norm and ReLU, written by the residual block.
        added: [N, H/4, W/4, C], after the residual block's second layer; a term for `activated`.
        large: [N, H, W, C]; the last layer applies its norm and ReLU.
    """

    half: Tensor
    quarter: Tensor
    joined: Tensor
    activated: Tensor
    added: Tensor
    large: Tensor
    _norms: dict[str, abi.NormParams]
    _moments: dict[str, Tensor]

    @property
    def values(self) -> tuple[Tensor, Tensor]:
        """Input and output pictures as numbers, not bytes: [N, H, W, 3] of the plan's dtype."""
        return self._x, self._y

    def set_styles(self, weights: Mapping[str, Tensor]) -> None:
        """Set the scales and shifts of the norms in STYLED.

        Args:
            weights: "in5.weight", "in5.bias" and so on, each [C] of any float dtype.
        """
        for refill in self._restyle:
            refill(weights)

    def submit(self, group: str, in_bytes: bool) -> None:
        """Launch a group's layers, STEM, RESIDUAL or LAST, on the current stream.

        With `in_bytes`, they read frames and write pictures as bytes.
        """
        stream = c_void_p(torch.cuda.current_stream().cuda_stream)
        for layer in self._within(group):
            for step in self._layers[layer]:
                step(stream, in_bytes)

    def moments(self, norm: str) -> Tensor:
        """Return the moments of `half` ("in2"), `quarter` ("in3") or `added` ("res1.in2").

        They are [N, G, C, 4]: per group of blocks the count, the mean, the sum of squared
        deviations and an unused value. Every frame overwrites this memory.
        """
        return self._moments[norm]

    def measure(self, norm: str, x: Tensor) -> None:
        """Compute the statistics of a norm's input, [N, H, W, C].

        Args:
            norm: "joined" with x = `joined`, or "in5" with x = `large`.
        """
        to = self._measured[norm][:, 0]
        fused_channel_moments_out(x.permute(0, 3, 1, 2), to[..., 1], to[..., 2])

    def _lay_out(self, network: Dimensions, height: int, width: int) -> None:
        outer, middle, inner = network.widths
        size = height, width
        full = -(-height // MULTIPLE) * MULTIPLE, -(-width // MULTIPLE) * MULTIPLE
        half, quarter = (full[0] // 2, full[1] // 2), (full[0] // 4, full[1] // 4)
        self._restyle: list[Callable[[Mapping[str, Tensor]], None]] = []
        self._measured: dict[str, Tensor] = {}
        self.half, self.quarter = self._buffer(half, middle), self._buffer(quarter, inner)
        self.large, self.joined = self._buffer(full, outer), self._buffer(quarter, inner)
        self.added, between_layers, kept = (self._buffer(quarter, inner) for _ in range(3))

        self._begin(STEM)
        first = self._buffer(full, outer)
        self._first(first, size, full)
        self._layer("conv2", "in1", first, self.half, stride=2)
        self._layer("conv3", "in2", self.half, self.quarter, stride=2)

        self._begin(RESIDUAL)
        self._measure_before("joined", inner)
        self.activated = self._residual_blocks(
            1, "joined", self.joined, between_layers, self.added, (kept, kept)
        )

        self._begin(LAST)
        self._measure_before("in5", outer)
        self._last("in5", self.large, size)

    def _measure_before(self, norm: str, channels: int) -> None:
        """Set up a norm whose statistics `measure` writes as if of one value.

        Its variance is then the sum of squared deviations, and a frame computes nothing more.
        """
        self._measured[norm] = merged = self._keep(
            torch.zeros(self.samples, 1, channels, 4, device=self.device)
        )
        merged[..., 0] = 1
        weight, bias = (
            self._filled(f"{norm}.{part}", lambda w: w, (channels,)) for part in ("weight", "bias")
        )
        self._norms[norm] = abi.NormParams(
            merged.data_ptr(), weight.data_ptr(), bias.data_ptr(), 1, EPS
        )

    def _fill(self, to: Tensor, name: str, pack: Callable[[Tensor], Tensor]) -> None:
        before = len(self._refill)
        super()._fill(to, name, pack)
        if name.rpartition(".")[0] in STYLED:
            self._restyle += self._refill[before:]
            del self._refill[before:]


class Sm90Ends(Ends, Sm90Plan):
    """The layers for Hopper; see Sm90Plan for the arguments."""


class Sm80Ends(Ends, Sm80Plan):
    """The layers for other GPUs; see Sm80Plan for the arguments."""


def ends_for(
    weights: Mapping[str, Tensor],
    network: Dimensions,
    shape: tuple[int, int, int],
    dtype: torch.dtype,
    device: torch.device,
    library: Network | None = None,
) -> Ends:
    """Make the fastest layers for a GPU, see Ends.

    Args:
        network: Dimensions of a network that has kernels, see kernels.network.shapes.
        shape: N, H, W of the pictures.
        dtype: Dtype of activations in memory, torch.float16 or torch.bfloat16.
        library: Defaults to the loaded one.

    Raises:
        ValueError: If no backend runs on the GPU.
        BuildError: If the library does not match this program.
    """
    library = library or dispatch.loaded(device)
    given = weights, network, shape, dtype, device, library
    for row in dispatch.available(network, device, dtype, library):
        if row.name == "sm90":
            return Sm90Ends(*given)
        if row.name == "sm75":
            return Sm80Ends(*given, layers=library.abi.sm75)
        return Sm80Ends(*given, small=row.name == "sm80-small")
    raise ValueError(f"no backend of the network runs {dtype} on {device}")
