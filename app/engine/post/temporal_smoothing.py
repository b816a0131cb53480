"""Flicker reduction by a recursive temporal filter along the motion of the source."""

from __future__ import annotations

import numpy as np

from app.engine.post.smoothing_reference import Pixels, ReferenceStream
from kernels.frames.native_smoothing import NativeStream, is_ready
from kernels.frames.stream_state import StreamState, taken


class TemporalSmoother:
    """A filter for a stream of one size; another size begins a new stream. Not thread-safe.

    Native kernels filter the stream, bit for bit as on a GPU. If they cannot be loaded, a warning
    reports it once, and their reference runs instead.
    """

    def __init__(self) -> None:
        self._stream: NativeStream | ReferenceStream | None = None

    def smooth(self, result: Pixels, source: Pixels, amount: float) -> Pixels:
        """Filter the next frame of the stream.

        A frame of another scene is shown as it is. If the next frame shows the earlier scene again,
        it was a flash, and the stream continues; otherwise it was a cut, and a new stream begins.

        `amount` is 0 to 1. The result is unchanged after a scene cut and for the first frame.
        """
        height, width, _ = result.shape
        return self._stream_of(height, width).smooth(result, source, amount)

    def state(self) -> StreamState:
        stream = self._stream
        return {} if stream is None else {"size": np.array(stream.size), **stream.state()}

    def restore(self, state: StreamState) -> None:
        """Continue the stream of `state`.

        Raises:
            StateError: If `state` has another frame size or comes from other kernels.
        """
        self._stream = None
        if state:
            height, width = (int(side) for side in taken(state, "size"))
            kept = {name: array for name, array in state.items() if name != "size"}
            self._stream_of(height, width).restore(kept)

    def _stream_of(self, height: int, width: int) -> NativeStream | ReferenceStream:
        kind = NativeStream if is_ready() else ReferenceStream
        stream = self._stream
        if not isinstance(stream, kind) or stream.size != (height, width):
            stream = self._stream = kind(height, width)
        return stream
