"""Compares the baseline network with another on the same frames: time, and difference."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from app.engine.blending import Pixels, peak_difference
from app.engine.network_pool import Network, Rendering
from app.engine.result import Comparison
from app.engine.stage_timer import pace
from app.frame import Frame
from models.precision import Precision
from models.transformer_net import VARIANTS

BASELINE = "baseline"
PACED_FRAMES = 60  # the medians cover this many frames


class Comparer:
    """Remembers how long the two networks took on the last frames. For one thread."""

    def __init__(self) -> None:
        self._baseline_first = False
        self._pairing: object = None  # what was compared when the times were measured
        self._times: tuple[deque[float], deque[float]] = (deque(), deque())

    def order(self, kernels: str) -> tuple[str, str]:
        """The two networks in the order to run them on a frame: they take turns in going first,
        so that neither always finds the caches and clocks the other left. Where the baseline
        itself is chosen, the fused network runs beside it."""
        other = kernels if kernels != BASELINE else "fused"
        self._baseline_first = not self._baseline_first
        return (BASELINE, other) if self._baseline_first else (other, BASELINE)

    def compare(
        self,
        renderings: Mapping[str, Rendering],
        networks: Mapping[str, Network],
        inputs: tuple[Pixels, ...],
        shown: Mapping[str, Frame],
        precision: Precision,
        conditions: object,
    ) -> Comparison:
        """Add a frame's times and say how the networks compare.

        Args:
            renderings: what each network made, timed along its own fastest path.
            networks: the same networks; where one made bytes at once, it runs once more, outside
                the clock, for its values before rounding.
            inputs: what they were given, one [H, W, 3] for each size they worked at.
            shown: the picture of each as it is displayed.
            conditions: changes with everything that makes older times incomparable.
        """
        other = next(kernels for kernels in renderings if kernels != BASELINE)
        times = renderings[BASELINE].network_ms, renderings[other].network_ms
        height, width = inputs[0].shape[:2]
        pairing = (other, precision, conditions, width, height)
        if pairing != self._pairing:  # the first frame of a new pairing only warms up
            self._pairing = pairing
            self._times = (deque(maxlen=PACED_FRAMES), deque(maxlen=PACED_FRAMES))
        else:
            for kept, spent in zip(self._times, times, strict=True):
                kept.append(spent)
        raws = (
            renderings[kernels].raws or tuple(networks[kernels].raw(pixels) for pixels in inputs)
            for kernels in (other, BASELINE)
        )
        apart = [peak_difference(a, b) for a, b in zip(*raws, strict=True)]
        difference, psnr = max(d for d, _ in apart), min(p for _, p in apart)
        agrees, bound = precision.agree(difference, psnr)
        return Comparison(
            shown[BASELINE],
            shown[other],
            VARIANTS[other].title,
            pace(self._times[0] or times[:1]),
            pace(self._times[1] or times[1:]),
            difference,
            psnr,
            bound,
            agrees,
            len(self._times[0]),
            (width, height),
            precision,
        )
