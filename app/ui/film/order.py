"""A film export as a value, stored in a file while it runs so that the next start can resume it."""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.engine.config import EngineConfig
from app.parameters import PARAMETERS, parameter_values, restored_value, stored_value
from app.ui.film.options import DEFAULTS, FilmOptions
from models.precision import Precision
from utils.files import small_json
from utils.files.atomic import atomic_write

MAX_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ExportOrder:
    """A film export, with absolute paths.

    Attributes:
        part: Begin and end in seconds, see app.export.film.selection; None for the whole film.
    """

    source: Path
    target: Path
    config: EngineConfig
    options: FilmOptions = DEFAULTS
    part: tuple[float, float] | None = None

    def file(self, folder: Path) -> Path:
        digest = hashlib.sha256(os.fsencode(self.target)).hexdigest()
        return folder / f"{digest[:16]}.json"

    def write(self, folder: Path) -> None:
        """Store the export in `folder`.

        Raises:
            OSError: If the file cannot be written.
        """
        config = self.config
        about = {
            "source": str(self.source),
            "target": str(self.target),
            "options": asdict(self.options),
            "part": self.part,
            "config": {
                **{name: stored_value(name, v) for name, v in parameter_values(config).items()},
                "precision": config.precision.name,
                "size": config.size,
                "mix": config.mix,
                "mix_more": config.mix_more,
            },
        }
        atomic_write(self.file(folder), json.dumps(about, indent=2).encode())


def read_order(path: Path) -> ExportOrder:
    """Read the file of an export.

    Raises:
        ValueError: If the file does not describe an export.
        OSError: If the file cannot be read.
    """
    try:
        stored = small_json.load(path, MAX_BYTES)
        options, part = _options(stored["options"]), stored.get("part")
        source, target = Path(_text(stored["source"])), Path(_text(stored["target"]))
        return ExportOrder(source, target, _config(stored["config"]), options, _part(part))
    except (KeyError, TypeError) as exc:
        raise ValueError(str(exc)) from exc


def _options(stored: dict[str, Any]) -> FilmOptions:
    """Read the options; an order of an earlier version lacks the newer ones."""
    kept = asdict(DEFAULTS) | stored
    for name, usual in asdict(DEFAULTS).items():
        if type(kept[name]) is not type(usual):
            raise TypeError(f"{kept[name]!r} is no {name}")
    return FilmOptions(**kept)


def _part(stored: object) -> tuple[float, float] | None:
    if stored is None:
        return None
    if not isinstance(stored, list):
        raise TypeError(f"{stored!r} is no part")
    begin, end = map(float, stored)
    if not 0 <= begin < end < math.inf:
        raise ValueError(f"{stored!r} is no part")
    return begin, end


def _config(stored: dict[str, Any]) -> EngineConfig:
    values: dict[str, Any] = {}
    for name, usual in parameter_values(EngineConfig()).items():
        value, row = restored_value(name, stored.get(name, usual)), PARAMETERS.get(name)
        if not (type(value) is type(usual) if row is None else row.valid(value)):
            raise ValueError(name)
        values[name] = value
    size, mix = stored["size"], stored["mix"]
    return EngineConfig(
        **values,
        precision=Precision[_text(stored["precision"])],
        size=None if size is None else int(size),
        mix=None if mix is None else _text(mix),
        mix_more=tuple((_text(key), float(share)) for key, share in stored["mix_more"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
