"""What the user chose, kept between runs in the per-user folder."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import platformdirs

from app.parameters import PARAMETERS, Parameters
from utils.files.atomic import replacing
from utils.files.regular import read_regular

log = logging.getLogger(__name__)

APP = "styleforge"
MOST = 1 << 20  # bytes of the settings file; a long strip of pictures takes some KB


def settings_path() -> Path:
    """The settings file of this user; its folder need not exist yet."""
    return platformdirs.user_config_path(APP, appauthor=False) / "settings.json"


@dataclass(frozen=True, slots=True)
class Settings(Parameters):
    """Every preference and its default: the table of parameters and the fields below; adding a row
    there or a field here is all it takes to add one.

    `source` is a spec for app.sources.open_source (a strip: one picture a line), empty for "the
    first camera, otherwise the scene"; `precision` is the name of a models.precision.Precision;
    `size` is the long side of the network's input, 0 for automatic; `mix` is the key of a second
    style, empty for none; `budget_ms` is what the automatic size keeps capture-to-paint under;
    `split` is 0-1; `view` is "styled", "split" or "compare"; `theme` is "system", "light" or
    "dark"; `geometry` is Qt's, in base64. `photographs` is the folder styles were last trained on,
    `vgg` the file of VGG-19's weights, empty for torchvision's. `open_folder`, `weights_folder` and
    `save_folder` are where pictures and videos were last opened, checkpoints chosen and pictures
    saved; empty for the system's own folders.
    """

    source: str = ""
    precision: str = "fp32"
    size: int = 0
    mix: str = ""
    budget_ms: float = 150.0
    view: str = "styled"
    split: float = 0.5
    overlay: bool = True
    theme: str = "system"
    show_gallery: bool = True
    show_panel: bool = True
    geometry: str = ""
    photographs: str = ""
    vgg: str = ""
    open_folder: str = ""
    weights_folder: str = ""
    save_folder: str = ""

    @classmethod
    def load(cls, path: Path, complain: Callable[[str], object] = log.warning) -> Settings:
        """Read `path`; what is missing or malformed falls back to its default. `complain` gets
        one sentence on everything that is damaged."""
        try:
            text = read_regular(path, MOST).decode("utf-8", "replace")
        except FileNotFoundError:
            return cls()
        except OSError as exc:
            complain(f"The settings file {path} is unreadable, using defaults: {exc.strerror}")
            return cls()
        stored = _parsed(text)
        if stored is None:
            complain(f"The settings file {path} is damaged; kept is what can still be read")
            stored = _salvaged(text, _KEPT)
        kept: dict[str, Any] = {}
        damaged: list[str] = []
        for field in (field for field in fields(cls) if field.name in _KEPT):
            value = stored.get(field.name, field.default)
            if isinstance(field.default, float) and type(value) is int and abs(value) < 2**53:
                value = float(value)
            if not _valid(field.name, value, field.default):
                damaged.append(field.name)
                value = field.default
            kept[field.name] = value
        if damaged:
            complain(f"Not valid in the settings file, using the default: {', '.join(damaged)}")
        return cls(**kept)

    def save(self, path: Path) -> None:
        """Write to a temporary name beside `path`, then rename: never half a file."""
        stored = {name: getattr(self, name) for name in _KEPT}
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.touch(mode=0o600)  # a camera's address may hold its password
            temporary.write_text(json.dumps(stored, indent=2), "utf-8")


# The keys of the settings file.
_KEPT = tuple(
    field.name
    for field in fields(Settings)
    if field.name not in PARAMETERS or PARAMETERS[field.name].persisted
)
_CHOICES: dict[str, tuple[str, ...]] = {
    "view": ("styled", "split", "compare"),
    "theme": ("system", "light", "dark"),
}
_RANGES = {
    "split": (0.0, 1.0),
    "size": (0, 8192),
    "budget_ms": (10.0, 10_000.0),
}


def _parsed(text: str) -> dict[str, Any] | None:
    """The settings file as it should be; None if it is anything else."""
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return stored if isinstance(stored, dict) else None


def _salvaged(text: str, names: Sequence[str]) -> dict[str, Any]:
    """What can be read of a file that is no JSON any more, each setting by itself."""
    found: dict[str, Any] = {}
    for name in names:
        for match in re.finditer(rf'"{name}"\s*:\s*', text):
            try:
                found[name], _ = json.JSONDecoder().raw_decode(text, match.end())
            except (ValueError, RecursionError):
                continue
    return found


def _valid(name: str, value: object, default: object) -> bool:
    if type(value) is not type(default):
        return False
    if name in PARAMETERS:
        return PARAMETERS[name].valid(value)
    if name in _CHOICES:
        return value in _CHOICES[name]
    if name in _RANGES:
        low, high = _RANGES[name]
        return low <= value <= high  # type: ignore[operator]  (the type was checked above)
    # Half a surrogate pair can neither be shown nor be the name of anything.
    return not (isinstance(value, str) and re.search("[\ud800-\udfff]", value))
