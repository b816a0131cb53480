"""Styles batches of pictures from Python: one class for Ray, Dask, a DataLoader or a loop."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.engine.config import EngineConfig
from app.engine.engine import Engine, check_precision
from app.engine.network_pool import BATCH, BATCH_PIXELS
from app.engine.painting_devices import painting_device
from app.engine.process_mode import ProcessMode
from app.engine.resolution import MAX_SIZE, SHORTEST, requested_sizes, unhurried_size
from app.errors import StyleForgeError
from app.frame import Frame
from app.options import EVERYTHING, ONLY_PERSON, mixed_parts
from app.parameters import PARAMETERS, FractionParameter, combed
from app.styles.catalog import Catalog
from models.precision import Precision

Pictures = TypeVar("Pictures")
Picture = NDArray[np.uint8]  # [H, W, 3] RGB

# Rows of the parameter table that concern streams or have an argument of their own.
_NO_ARGUMENTS = ("smoothing", "mix_amount")


class StylistError(StyleForgeError):
    """Raised for an invalid argument of a Stylist."""


class Stylist:
    """A callable that styles batches of pictures: `Stylist("candy")(batch)`.

    The constructor loads the network once; in a process that unpickled the object, the first call
    does. Several threads may call it; they run one at a time. The result for a picture does not
    depend on the rest of its batch, except for rounding: a difference of at most 2 of 255.

    Args:
        style: Key of a style, see `styleforge styles list`; or keys with their shares, which are
            mixed in proportion: `{"candy": 0.6, "starry_night": 0.4}`; or the `Path` of a picture,
            in whose style an any-style network paints. Other processes read that file too.
        style_network: For a style picture, a file of `styleforge train-vit`; None for the any-style
            network that comes with StyleForge for the device.
        device: "auto" (a GPU if there is one), "cpu", "cuda:0" ...
        precision: Name of a `models.precision.Precision`; on the CPU "fp32", and "bf16" if it is
            faster there.
        kernels: One of `models.transformer_net.ALL_VARIANTS`.
        size: Long side of the network's input in pixels; None for the picture's own, at most 2048.
            The result always has the size of the picture.
        batch: The largest number of pictures that go through the network together, 1 or more; large
            pictures go in smaller groups. None for 8 on a GPU and 1 on the CPU.
        matte: A picture of the empty scene, or a segmentation network as ONNX. Only the person is
            painted then, or what `paint` says.
        column: Key of the pictures in batches that are mappings, as in Ray Data.
        **parameters: Parameters of the look by the names of `app.parameters.PARAMETERS`, such as
            `strength=0.7`, `keep_colors=True`, `strokes="bold"`, `texture="auto"`,
            `strokes_handles="0.25,0.4,30"`.

    Raises:
        StylistError: If an argument is invalid.
        StyleForgeError: If the style or the device is not available, or the device does not offer
            the precision.
    """

    def __init__(
        self,
        style: str | Path | Mapping[str, float],
        *,
        style_network: Path | None = None,
        device: str = "auto",
        precision: str = "fp32",
        kernels: str = "fused",
        size: int | None = None,
        batch: int | None = None,
        column: str = "image",
        matte: Path | None = None,
        **parameters: Any,
    ) -> None:
        if precision not in Precision.__members__:
            raise StylistError(
                f"there is no precision '{precision}', only {', '.join(Precision.__members__)}"
            )
        if batch is not None and batch < 1:
            raise StylistError(f"a batch has 1 picture or more, not {batch}")
        if size is not None and size < SHORTEST:
            raise StylistError(f"the size is {SHORTEST} or more, not {size}")
        self._config = EngineConfig(
            device=device,
            precision=Precision[precision],
            kernels=kernels,
            size=size,
            **_matted(_checked(parameters), matte),
        )
        if isinstance(style, Path):
            self._picture, self._network = style, style_network
        else:
            self._config = self._config.mixed(_parts(style))
            self._picture = self._network = None
        if style_network is not None and self._picture is None:
            raise StylistError("style_network is the network for a style picture, which is missing")
        self._batch, self._column = batch, column
        self._lock = threading.Lock()
        self._engine: Engine | None = self._new_engine()

    def __call__(self, batch: Pictures) -> Pictures:
        """Style the pictures of a batch.

        Args:
            batch: Pictures as [H, W, 3] uint8 RGB: an array or a CPU tensor [N, H, W, 3]; one
                picture; a list, or an array of objects, of pictures whose sizes may differ; or a
                mapping with one of these under the key `column`.

        Returns:
            New NumPy arrays in the same arrangement: an array [N, H, W, 3], one picture, a list or
            an array of objects; for a mapping, a dict with everything else unchanged.

        Raises:
            ValueError: If the batch is none of these.
            StyleForgeError: If memory runs out.
        """
        given: Any = batch
        if not isinstance(given, Mapping):
            return self._arranged(given)
        if self._column not in given:
            raise ValueError(
                f"the batch has no '{self._column}', only {', '.join(map(str, given))}; "
                "Stylist(column=...) names another"
            )
        # This does not call `self` again: Ray's subclass makes every call wait for the one before.
        styled: Any = {**given, self._column: self._arranged(given[self._column])}
        return styled

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the network, which the process that unpickles the object loads itself."""
        return {**self.__dict__, "_engine": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def _arranged(self, batch: Any) -> Any:
        if isinstance(batch, Sequence):
            return self._styled([_picture(each) for each in batch])
        return self._array(np.asarray(batch))

    def _array(self, batch: NDArray[Any]) -> NDArray[Any]:
        if batch.dtype == object:
            made = np.empty(len(batch), object)
            for place, picture in enumerate(self._styled([_picture(each) for each in batch])):
                made[place] = picture
            return made
        if batch.ndim == 3:
            return self._styled([_picture(batch)])[0]
        if batch.ndim != 4 or batch.shape[3] != 3 or batch.dtype != np.uint8:
            raise ValueError(_expected(batch))
        if not len(batch):
            return batch.copy()
        return np.stack(self._styled([_picture(each) for each in batch]))

    def _styled(self, pictures: list[Picture]) -> list[Picture]:
        """Style pictures; consecutive pictures of one size go through the network together."""
        styled: list[Picture] = []
        with self._lock:
            engine = self._engine = self._engine or self._new_engine()
            while len(styled) < len(pictures):
                rest = pictures[len(styled) :]
                height, width = rest[0].shape[:2]
                size = unhurried_size(self._config, width, height, MAX_SIZE)
                config = replace(self._config, size=size)
                most = self._most(requested_sizes(config, width, height).pixels)
                together = next(
                    (n for n, each in enumerate(rest[:most]) if each.shape != rest[0].shape),
                    min(most, len(rest)),
                )
                engine.configure(config)
                frames = [Frame(each) for each in rest[:together]]
                results = engine.process_batch(frames, ProcessMode.REFINE)
                styled += [result.frame.pixels.copy() for result in results]
        return styled

    def _most(self, pixels: int) -> int:
        if self._batch is None and painting_device(self._config.device).type == "cpu":
            return 1
        return max(1, min(self._batch or BATCH, BATCH_PIXELS // pixels))

    def _new_engine(self) -> Engine:
        catalog = Catalog.default()
        if self._picture is not None:
            folder = Path(tempfile.mkdtemp(prefix="styleforge-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            style = catalog.include_picture(self._picture, folder / "style", self._network)
            self._config = self._config.mixed(((style.key, 1.0),))
        engine = Engine(catalog)
        engine.configure(self._config)
        check_precision(self._config, (engine.family,), painting_device(self._config.device))
        engine.prepare_kernels()
        return engine


def _parts(style: str | Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    if isinstance(style, str):
        return ((style, 1.0),)
    total = sum(style.values())
    if not style or total <= 0 or min(style.values()) < 0:
        raise StylistError(f"the shares of styles are positive, not {dict(style)}")
    first, *others = ((key, share / total) for key, share in style.items())
    try:
        return mixed_parts(first[0], others)
    except ValueError as exc:
        raise StylistError(str(exc)) from exc


def _checked(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validated parameters of the look, with whole numbers for fractions made floats."""
    checked = {}
    for name, value in parameters.items():
        row = PARAMETERS.get(name)
        if row is None or name in _NO_ARGUMENTS or row.of_streams:
            known = ", ".join(
                each
                for each, other in PARAMETERS.items()
                if each not in _NO_ARGUMENTS and not other.of_streams
            )
            raise StylistError(f"there is no parameter '{name}', only {known}")
        value = row.restored(value)
        if isinstance(row, FractionParameter) and type(value) is int:
            value = float(value)
        if not row.valid(value):
            raise StylistError(f"{name} cannot be {value!r}")
        checked[name] = value
    try:
        return combed(checked)
    except ValueError as exc:
        raise StylistError(str(exc)) from exc


def _matted(values: dict[str, Any], matte: Path | None) -> dict[str, Any]:
    paint = values.get("paint", EVERYTHING)
    if matte is None:
        if paint != EVERYTHING:
            raise StylistError(f"paint={paint!r} needs a matte, to find the person")
        return values
    part = ONLY_PERSON if paint == EVERYTHING else paint
    return {**values, "matte": str(matte.absolute()), "paint": part}


def _picture(given: Any) -> Picture:
    """Return one picture, as a view that may be made read-only."""
    picture = np.asarray(given)
    if picture.ndim != 3 or picture.shape[2] != 3 or picture.dtype != np.uint8 or not picture.size:
        raise ValueError(_expected(picture))
    return np.ascontiguousarray(picture)[:]


def _expected(found: NDArray[Any]) -> str:
    shape = "x".join(map(str, found.shape))
    return f"pictures are [H, W, 3] uint8 RGB, and batches [N, H, W, 3], not {shape} {found.dtype}"
