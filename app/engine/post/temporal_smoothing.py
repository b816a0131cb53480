"""Reduces flicker by a recursive temporal filter along the motion of the source."""

from __future__ import annotations

from app.engine.post.smoothing_reference import Pixels, ReferenceStream
from kernels.frames.native_smoothing import NativeStream, is_ready


class TemporalSmoother:
    """Filters a stream of one size; another size begins a new stream. Not thread-safe.

    Native kernels filter it, bit for bit as on a GPU; where they cannot be loaded, which a warning
    says once, their reference does.
    """

    def __init__(self) -> None:
        self._stream: NativeStream | ReferenceStream | None = None

    def smooth(self, result: Pixels, source: Pixels, amount: float) -> Pixels:
        """Filter the next frame of the stream.

        A frame of another scene is shown as it is. If the next one shows the scene before it again,
        it was a flash, and the stream goes on; otherwise it was a cut, and a new stream begins.

        Args:
            result: The styled picture.
            source: The picture it was made from, of the same size.
            amount: 0 for none, 1 for the most smoothing.

        Returns:
            The filtered picture; after a scene cut and for the first frame, that of `result`.
        """
        height, width, _ = result.shape
        kind = NativeStream if is_ready() else ReferenceStream
        stream = self._stream
        if not isinstance(stream, kind) or stream.size != (height, width):
            stream = self._stream = kind(height, width)
        return stream.smooth(result, source, amount)
