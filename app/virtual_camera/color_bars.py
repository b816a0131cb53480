"""A picture that shows whether a virtual camera arrives whole, sharp and not mirrored."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BARS = (
    (255, 255, 255), (255, 255, 0), (0, 255, 255), (0, 255, 0),
    (255, 0, 255), (255, 0, 0), (0, 0, 255), (0, 0, 0),
)  # fmt: skip


def color_bars(width: int, height: int) -> NDArray[np.uint8]:
    """Return [height, width, 3] uint8 RGB: a white frame, color bars, and a gray ramp below.

    The bars go from white on the left to black on the right.
    """
    picture = np.full((height, width, 3), 255, np.uint8)
    edge = max(2, height // 60)
    inner = picture[edge : height - edge, edge : width - edge]
    rows, columns = inner.shape[:2]
    bars = np.asarray(BARS, np.uint8)[np.arange(columns) * len(BARS) // columns]
    inner[: rows * 3 // 4] = bars
    ramp = np.linspace(0, 255, columns).astype(np.uint8)
    inner[rows * 3 // 4 :] = ramp[:, None]
    return picture
