"""The any-style painter as CUDA graphs, with the native network's layers at the ends."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from torch import Tensor

from kernels.network import ends as native
from kernels.network.ends import Ends
from kernels.network.shapes import NetworkShape
from models.inference.sequential_plan import SequentialPlan
from models.inference.vit.parts import VitParts
from models.inference.vit.plan import CODE
from models.inference.vit.weights import VitWeights
from models.vit_config import VitConfig

END_KERNEL = 9  # side of the first and the last convolution's kernel


class Held(NamedTuple):
    """The output of one step for the next, in addition to the buffers of the ends.

    Attributes:
        in_bytes: Whether frames are read and pictures written as bytes.
        x: Its result [N, C, H, W].
        half: [N, widths[1], H/2, W/2] from the stem, after norm and ReLU.
        quarter: [N, widths[2], H/4 + 2, W/4 + 2], likewise, padded.
    """

    in_bytes: bool
    x: Tensor | None = None
    half: Tensor | None = None
    quarter: Tensor | None = None


class NativeVitPlan(SequentialPlan[Held]):
    """The any-style network for pictures of one size. Changing the style needs no new capture.

    kernels.network.ends runs the stem's first three layers, the residual block and the last layer;
    models.inference.vit.parts runs the rest. This plan alone owns `parts`, on the device of `ends`,
    whose weights come from `end_weights`.
    """

    def __init__(self, parts: VitParts, ends: Ends) -> None:
        blocks = range(parts.config.content_blocks)
        steps = {
            "stem/convolutions": partial(_stem, ends),
            "stem/tokens": partial(_tokens, parts, ends),
            **{f"blocks/block{number + 1}": partial(_block, parts, number) for number in blocks},
            "decoder/deconv1": partial(_deconv1, parts, ends),
            "decoder/residual": partial(_residual, parts, ends),
            "decoder/deconv2": partial(_deconv2, parts),
            "decoder/deconv3": partial(_deconv3, parts, ends),
            "decoder/conv_out": partial(_last, ends),
        }
        steps = {name: partial(parts.run, step) for name, step in steps.items()}
        super().__init__(ends.shape, parts.dtype, parts.device, steps)
        self.frames, self.pictures, self.ranges = ends.frames, ends.pictures, ends.ranges
        self._x, self._y = ends.values
        self._parts, self._ends = parts, ends

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Switch to another style: its code, [1, code_dim], is under CODE in `weights`."""
        self._parts.set_code(weights[CODE])
        self._ends.set_styles(_styles(self._parts))

    def _input(self, in_bytes: bool) -> Held:
        return Held(in_bytes)

    def _finish(self, left: Held, in_bytes: bool) -> None:
        """Do nothing: the last layer wrote the result."""


def dimensions(config: VitConfig) -> NetworkShape:
    """Return the dimensions of the native network whose layers serve as ends, if supported."""
    return NetworkShape(config.widths, END_KERNEL, 1)


def end_weights(weights: VitWeights) -> dict[str, Tensor]:
    convolutions = {
        **{f"conv{number}": f"conv{number}" for number in (1, 2, 3)},
        **{f"res1.conv{number}": f"res_conv{number}" for number in (1, 2)},
        "deconv3": "conv_out",
    }
    given = {f"{name}.conv2d.weight": weights.convolutions[of] for name, of in convolutions.items()}
    for number, (weight, bias) in enumerate(weights.norms, 1):
        given |= {f"in{number}.weight": weight, f"in{number}.bias": bias}
    return {**given, "deconv3.conv2d.bias": weights.bias}


def _styles(parts: VitParts) -> dict[str, Tensor]:
    named = dict(zip(native.STYLED, (-5, -4, -3, -1), strict=True))
    return {
        f"{name}.{part}": values
        for name, number in named.items()
        for part, values in zip(("weight", "bias"), parts.styles[number], strict=True)
    }


def _planes(x: Tensor) -> Tensor:
    return x.permute(0, 3, 1, 2)


def _stem(ends: Ends, held: Held) -> Held:
    ends.submit(native.STEM, held.in_bytes)
    return held


def _tokens(parts: VitParts, ends: Ends, held: Held) -> Held:
    half = parts.normed("half", _planes(ends.half), 1, moments=ends.moments("in2"))
    moments = ends.moments("in3")
    quarter = parts.normed("quarter", _planes(ends.quarter), 2, pad=1, moments=moments)
    return held._replace(x=parts.embedded(quarter), half=half, quarter=quarter)


def _block(parts: VitParts, number: int, held: Held) -> Held:
    assert held.x is not None
    return held._replace(x=parts.block(number, held.x))


def _deconv1(parts: VitParts, ends: Ends, held: Held) -> Held:
    assert held.x is not None
    assert held.quarter is not None
    parts.enlarged("deconv1", held.x, parts.skip("skip1", held.quarter), _planes(ends.joined))
    ends.measure("joined", ends.joined)
    return held._replace(x=None, quarter=None)


def _residual(parts: VitParts, ends: Ends, held: Held) -> Held:
    ends.submit(native.RESIDUAL, held.in_bytes)
    residual, moments = _planes(ends.activated), ends.moments("res1.in2")
    added = _planes(ends.added)
    x = parts.styled("small", added, -3, residual=residual, relu=False, moments=moments)
    return held._replace(x=x)


def _deconv2(parts: VitParts, held: Held) -> Held:
    assert held.x is not None
    assert held.half is not None
    x = parts.enlarged("deconv2", held.x, parts.skip("skip2", held.half, margin=0))
    return held._replace(x=parts.styled("middle", x, -2), half=None)


def _deconv3(parts: VitParts, ends: Ends, held: Held) -> Held:
    assert held.x is not None
    parts.enlarged("deconv3", held.x, None, _planes(ends.large))
    ends.measure("in5", ends.large)
    return held._replace(x=None)


def _last(ends: Ends, held: Held) -> Held:
    ends.submit(native.LAST, held.in_bytes)
    return held
