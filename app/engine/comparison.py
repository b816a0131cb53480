"""Comparison of two networks, usually ours and the baseline, on frames: latency and difference."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from app.engine.network_pool import Network, Rendering
from app.engine.painting_devices import painting_title
from app.engine.post.blending import Pixels, peak_difference
from app.engine.result import Comparison
from app.engine.stage_timer import latency_stats
from app.frame import Frame
from models.families.family import NetworkFamily
from models.precision import Precision

BASELINE, FUSED = "baseline", "fused"  # keys of ALL_VARIANTS
TIMED_FRAMES = 60  # the medians cover this many frames


class Comparer:
    """The times of two networks on the last frames. Not thread-safe."""

    def __init__(self) -> None:
        self._baseline_first = False
        self._conditions: object = None  # the conditions that the times belong to
        self._times: tuple[deque[float], deque[float]] = (deque(), deque())

    def order(self, kernels: str, family: NetworkFamily[Any]) -> tuple[str, str]:
        """Choose the order in which to run the two networks on a frame.

        They alternate in going first, so that caches and clock rates favor neither.

        Args:
            kernels: The network in the config. If it is the baseline, the other one is the fused
                network.
        """
        reference = compared_with(kernels, family)
        other = kernels if kernels != reference else FUSED
        self._baseline_first = not self._baseline_first
        return (reference, other) if self._baseline_first else (other, reference)

    def compare(
        self,
        renderings: Mapping[str, Rendering],
        networks: Mapping[str, Network],
        inputs: tuple[Pixels, ...],
        displayed: Mapping[str, Frame],
        precision: Precision,
        conditions: object,
        family: NetworkFamily[Any],
    ) -> Comparison:
        """Add a frame's times and compare the networks.

        Args:
            networks: One that returned only uint8 runs again, for its values before rounding.
            inputs: Their inputs, [H, W, 3] for each size.
            conditions: Whatever else has to stay equal for times to be comparable.
        """
        reference = BASELINE if BASELINE in renderings else FUSED
        other = next(kernels for kernels in renderings if kernels != reference)
        times = renderings[reference].network_ms, renderings[other].network_ms
        height, width = inputs[0].shape[:2]
        now = (other, precision, conditions, width, height)
        if now != self._conditions:  # the first frame under new conditions is a warm-up
            self._conditions = now
            self._times = (deque(maxlen=TIMED_FRAMES), deque(maxlen=TIMED_FRAMES))
        else:
            for kept, spent in zip(self._times, times, strict=True):
                kept.append(spent)
        raws = (
            renderings[kernels].raws or tuple(networks[kernels].raw(pixels) for pixels in inputs)
            for kernels in (other, reference)
        )
        apart = [peak_difference(a, b) for a, b in zip(*raws, strict=True)]
        difference, psnr = max(d for d, _ in apart), min(p for _, p in apart)
        agrees, bound = precision.agree(difference, psnr)
        return Comparison(
            displayed[reference],
            displayed[other],
            family.variant(other).title,
            latency_stats(self._times[0] or times[:1]),
            latency_stats(self._times[1] or times[1:]),
            difference,
            psnr,
            bound,
            agrees,
            len(self._times[0]),
            (width, height),
            precision,
            _title_beside(networks[other], networks[reference], family.variant(reference).title),
            times,
        )


def _title_beside(other: Network, reference: Network, title: str) -> str:
    """Return the reference's title, with its device if that is not the other network's."""
    if reference.device == other.device:
        return title
    return f"{title}, {painting_title(reference.device)}"


def compared_with(kernels: str, family: NetworkFamily[Any]) -> str:
    """Return the key in ALL_VARIANTS of the network to compare `kernels` with.

    This is our fused network for a variant of another runtime, and the baseline otherwise.
    """
    return BASELINE if family.variant(kernels).runtime is None else FUSED
