"""Mattes by a segmentation network that the user has, as an ONNX file."""

from __future__ import annotations

from functools import cache
from importlib import import_module, util
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from app.engine.matting.files import MatteError
from app.engine.matting.refining import Matte, MatteStream, MatteThere
from app.engine.matting.scene import Floats, Pixels, small_copy
from kernels.frames.stream_state import StreamState, taken
from models.inference.frame_matting import Place
from utils.opencv import cv2
from utils.translation.texts import tr

LARGEST_MB = 500  # of a file
FREE_SIDE = 320  # pixels of a network's input whose size the file leaves open
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}


class ModelMatte:
    """Mattes by a network with one picture in and one mask out. Not thread-safe.

    The picture is RGB, [1, 3, h, w] or [1, h, w, 3], of bytes or of floats from 0 to 1. The mask is
    [1, h, w] with another axis of one or two channels anywhere after the first, or none: with two,
    the second is the person. Values outside 0 to 1 are logits. The file runs in ONNX Runtime on the
    CPU; it can read no other file.

    Raises:
        MatteError: If the file is missing, damaged or another kind of network, or ONNX Runtime is
            not installed. The message is one sentence.
    """

    trouble = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._session = _session(path)
        inputs = self._session.get_inputs()
        if len(inputs) != 1:
            raise MatteError(
                tr("{file} has {n} inputs, not one picture", file=path.name, n=len(inputs))
            )
        (self._input,) = inputs
        if self._input.type not in _TYPES:
            raise MatteError(
                tr(
                    "{file} reads {kind}, not a picture of floats or bytes",
                    file=path.name,
                    kind=self._input.type,
                )
            )
        shape = [side if isinstance(side, int) else None for side in self._input.shape]
        self._planar = len(shape) == 4 and shape[1] == 3
        if len(shape) != 4 or shape[0] not in (1, None) or (not self._planar and shape[3] != 3):
            raise MatteError(
                tr(
                    "{file} reads {shape}, not one RGB picture",
                    file=path.name,
                    shape="x".join(map(str, self._input.shape)),
                )
            )
        rows, columns = shape[2:] if self._planar else shape[1:3]
        self._size = columns or FREE_SIDE, rows or FREE_SIDE
        self._stream: MatteStream | None = None
        self._place: Place | None = None
        self._mask(np.zeros((rows or FREE_SIDE, columns or FREE_SIDE, 3), np.uint8))

    def compute_on(self, place: Place | None) -> None:
        self._place = place
        if self._stream is not None:
            self._stream.compute_on(place)

    def of(self, frame: Pixels, feather: float, *, continues: bool) -> Matte | MatteThere:
        small = small_copy(frame)
        mask = self._mask(
            np.asarray(cv2.resize(frame, self._size, interpolation=cv2.INTER_AREA), np.uint8)
        )
        height, width = small.shape[:2]
        rough = np.asarray(cv2.resize(mask, (width, height)), np.float32)
        stream = self._of_size(height, width)
        if not continues:
            stream.forget()
        return stream.given(small, rough, feather)

    def forget(self) -> None:
        if self._stream is not None:
            self._stream.forget()

    def state(self) -> StreamState:
        return {} if self._stream is None else self._stream.state()

    def restore(self, state: StreamState) -> None:
        self.forget()
        if state:
            height, width, _ = taken(state, "frame").shape
            self._of_size(height, width).restore(state)

    def _of_size(self, height: int, width: int) -> MatteStream:
        if self._stream is None or self._stream.size != (height, width):
            self._stream = MatteStream(height, width, self._place)
        return self._stream

    def _mask(self, picture: Pixels) -> Floats:
        """Run the network on a picture of its size; return its mask, [h, w] from 0 to 1."""
        kind = _TYPES[self._input.type]
        given: NDArray[Any] = picture.transpose(2, 0, 1) if self._planar else picture
        if kind is not np.uint8:
            given = (given.astype(np.float32) / 255).astype(kind)
        feed = {self._input.name: np.ascontiguousarray(given[None])}
        name = self.path.name
        try:
            made = self._session.run(None, feed)[0]
        except (RuntimeError, ValueError, *_faults()) as exc:
            said = str(exc).strip().splitlines()[-1]
            raise MatteError(tr("{file} does not run: {error}", file=name, error=said)) from exc
        scale = 255 if made.dtype == np.uint8 else 1
        mask = _single(np.asarray(made / scale, np.float32))
        if mask is None:
            shape = "x".join(map(str, made.shape))
            raise MatteError(tr("{file} returns {shape}, not one mask", file=name, shape=shape))
        if not np.isfinite(mask).all():
            raise MatteError(tr("{file} returns values that are no numbers", file=name))
        return mask


def _single(made: Floats) -> Floats | None:
    """Return the probability of a person, [h, w], from a network's output; None for no mask."""
    if made.ndim not in (3, 4) or made.shape[0] != 1:
        return None
    mask = made[0]
    if mask.ndim == 3:
        few = int(np.argmin(mask.shape))
        channels = np.moveaxis(mask, few, 0)
        if len(channels) > 2:
            return None
        mask = channels[0]
        if len(channels) == 2:
            background, person = channels
            mask = person if _probable(channels) else _sigmoid(person - background)
    return np.ascontiguousarray(mask if _probable(mask) else _sigmoid(mask))


def _probable(values: Floats) -> bool:
    return bool(values.min() >= -0.01 and values.max() <= 1.01)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)), np.float32)


def _session(path: Path) -> Any:
    name = path.name
    if util.find_spec("onnxruntime") is None:
        raise MatteError(tr("{file} needs ONNX Runtime; install styleforge[onnx]", file=name))
    try:
        if path.stat().st_size > LARGEST_MB * 1_000_000:
            raise MatteError(tr("{file} is larger than {mb} MB", file=name, mb=LARGEST_MB))
        content = path.read_bytes()
    except OSError as exc:
        raise MatteError(
            tr("{file} cannot be read: {error}", file=name, error=exc.strerror)
        ) from exc
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 4  # fatal errors; others are raised
    try:  # from bytes, so that it finds no other files
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except (RuntimeError, ValueError, *_faults()) as exc:
        raise MatteError(tr("{file} is not an ONNX network", file=name)) from exc


@cache
def _runtime() -> Any:
    runtime: Any = import_module("onnxruntime")
    runtime.disable_telemetry_events()  # its builds for Windows send it by default
    return runtime


@cache
def _faults() -> tuple[type[Exception], ...]:
    """Return ONNX Runtime's exceptions, which have no common base class."""
    module = _runtime().capi.onnxruntime_pybind11_state
    kinds = (getattr(module, name) for name in dir(module))
    return tuple(k for k in kinds if isinstance(k, type) and issubclass(k, Exception))
