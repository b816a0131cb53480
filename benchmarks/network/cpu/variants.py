"""The ways to run the network on a processor that the suite compares, by key."""

from __future__ import annotations

from torch import Tensor

from benchmarks.network.candidates import BASELINE
from benchmarks.network.cpu.peers import PEERS
from kernels.network.graph_plan import StageCallback
from models.transformer_net import (
    ALL_VARIANTS,
    TransformerNetBaseline,
    TransformerNetFused,
    in_runtime,
)

FUSED, BY_LAYERS = "fused", "layers"


class TransformerNetByLayers(TransformerNetFused):
    """The fused network on oneDNN's convolutions, without the native network.

    It runs dtypes and widths that the native network does not have, and ran all of them before
    there was a native one.
    """

    title = "Fused, oneDNN's convolutions"

    def forward(self, x: Tensor, mark: StageCallback | None = None) -> Tensor:
        return TransformerNetBaseline.forward(self, x, mark)

    def paint_bytes(self, frames: Tensor, mark: StageCallback | None = None) -> None:
        """Return None, since only the native network reads bytes."""


# PyTorch's compiled ways are not here: benchmarks.network.candidates makes them of the baseline.
VARIANTS: dict[str, type[TransformerNetBaseline]] = {
    FUSED: ALL_VARIANTS[FUSED],
    BY_LAYERS: TransformerNetByLayers,
    BASELINE: ALL_VARIANTS[BASELINE],
    **{key: ALL_VARIANTS[key] for key in ("openvino", "onnxruntime")},
    **{peer.key: in_runtime(peer) for peer in PEERS},
}
