"""The user's settings, which a file in the per-user folder stores between runs."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import platformdirs

from app.options import CAMERA_FITS, CAMERA_FORMATS, CAMERA_RATES, CAMERA_SIZES
from app.parameters import (
    PARAMETERS,
    AmountParameter,
    DirectionParameter,
    Parameters,
    restored_value,
    stored_value,
)
from utils.files import small_json
from utils.files.atomic import replacing
from utils.files.regular import read_regular
from utils.translation.languages import LANGUAGES, SYSTEM
from utils.translation.texts import defer

log = logging.getLogger(__name__)

APP_NAME = "styleforge"
ASK, ALWAYS, NEVER = "ask", "always", "never"  # answers to a question that is asked once
MAX_BYTES = 1 << 20  # size limit of the settings file; a long strip of pictures takes some KB


def settings_path() -> Path:
    """Return the path of this user's settings file; its folder may not exist yet."""
    return platformdirs.user_config_path(APP_NAME, appauthor=False) / "settings.json"


@dataclass(frozen=True, slots=True)
class Settings(Parameters):
    """All settings with their defaults: the table of parameters and the fields below.

    Adding a row to the table, or a field here, adds a setting.

    Attributes:
        source: a spec for app.sources.open_source (for a strip, one picture per line); empty for
            the scene on the wall.
        precision: name of a models.precision.Precision.
        size: long side of the network's input in pixels; 0 for automatic.
        mix: key of the second style; empty for none.
        mix_more: the third and the fourth style with their shares, see app.options.format_parts.
        matte: the network or picture that finds people, see EngineConfig; empty for none.
        budget_ms: limit of the capture-to-paint time for the automatic size, in milliseconds.
        view: "styled", "split" or "compare".
        split: position of the divider, 0 to 1.
        overlay: whether the figures are shown over the picture.
        badge: whether the frame rate is in the picture's corner while the figures are hidden.
        layers: whether the figures include the time of every layer of the network.
        theme: "system", "light" or "dark".
        language: "system", or a key of utils.translation.languages.LANGUAGES.
        reduce_motion: whether nothing moves by itself, regardless of the system's setting.
        wall_camera: whether the wall opens the camera by itself: "ask", "always" or "never".
        remember_source: whether `source`, `recent_files` and what the palette ran are stored:
            "ask", "always" or "never". Only "always" stores them; otherwise all are empty in the
            file. Older files hold true or false.
        try_styles: whether a style is tried when the pointer rests on its card.
        style_order: keys of styles in the user's order, one per line; others follow.
        favorite_styles: keys of the styles that come first, one per line.
        style_groups: the user's groups of styles: a key, a space and a group per line.
        mirror: whether the picture on screen is mirrored.
        folded_groups: names of app.parameters.Group whose rows are folded, one per line.
        camera_size: of the virtual camera, one of CAMERA_SIZES.
        camera_rate: its pictures per second.
        camera_format: a key of CAMERA_FORMATS.
        camera_fit: a key of CAMERA_FITS.
        camera_device: its name; empty for the first one found.
        camera_always: whether it receives pictures even while no program reads them.
        slideshow_styles: keys of its styles, one per line; empty for all.
        slideshow_cuts: whether it cuts from one style to the next instead of fading.
        volume: volume of a film's sound, 0 to 1.
        record_sound: sound of recordings: "none", "film" or "microphone".
        palette_recent: keys of entries that the command palette ran last, one per line.
        geometry: Qt's window geometry in base64.
        photographs: folder of the last training dataset.
        own_pictures: whether training may look through the user's pictures folder.
        vgg: file with VGG-19's weights; empty for torchvision's.
        open_folder: where pictures and videos were last opened; empty for the system's folder.
        weights_folder: where a checkpoint was last chosen; empty for the system's folder.
        save_folder: where a picture was last saved; empty for the system's folder.
        recent_files: paths that the file picker chose last, one per line.
        queue_styles: keys of styles for queued jobs, one per line; empty for the look on screen.
        queue_folder: for the results of the queue; empty for StyleForge in the user's pictures.
        queue_skip: whether the queue skips inputs that have a result, instead of replacing it.
        watched_folder: folder whose new pictures are queued; empty for none.
        film_codec: codec of exported films, see app.export.film.codecs.CODECS.
        film_encoder: where they are encoded, see app.export.film.codecs.PLACES.
        film_quality: their quality, see app.export.film.codecs.QUALITIES.
        film_network: version of the style that paints them, "full" (fine) or "lite" (fast).
        film_lines: pixels of their shorter side, if the film has more; 0 for the film's own size.
        film_sound: whether they keep the sound of the film.
    """

    source: str = ""
    precision: str = "fp32"
    size: int = 0
    mix: str = ""
    mix_more: str = ""
    matte: str = ""
    budget_ms: float = 150.0
    view: str = "styled"
    split: float = 0.5
    overlay: bool = False
    badge: bool = True
    layers: bool = False
    advanced: bool = False
    theme: str = "system"
    language: str = "system"
    reduce_motion: bool = False
    volume: float = 1.0
    muted: bool = False
    record_sound: str = "none"
    show_gallery: bool = True
    show_looks: bool = False
    show_panel: bool = True
    show_strip: bool = True
    wall_camera: str = ASK
    remember_source: str = ASK
    try_styles: bool = True
    style_order: str = ""
    favorite_styles: str = ""
    style_groups: str = ""
    mirror: bool = False
    folded_groups: str = ""
    camera_size: str = "1280x720"
    camera_rate: int = 30
    camera_format: str = "auto"
    camera_fit: str = "whole"
    camera_device: str = ""
    camera_always: bool = False
    slideshow_seconds: float = 10.0
    slideshow_styles: str = ""
    slideshow_cuts: bool = False
    palette_recent: str = ""
    geometry: str = ""
    photographs: str = ""
    own_pictures: bool = False
    vgg: str = ""
    open_folder: str = ""
    weights_folder: str = ""
    save_folder: str = ""
    recent_files: str = ""
    queue_styles: str = ""
    queue_folder: str = ""
    queue_skip: bool = True
    watched_folder: str = ""
    film_codec: str = "h264"
    film_encoder: str = "auto"
    film_quality: str = "good"
    film_network: str = "full"
    film_lines: int = 0
    film_sound: bool = True

    @classmethod
    def load(cls, path: Path, complain: Callable[[str], object] = log.warning) -> Settings:
        """Read `path`, which need not exist; missing or malformed values get their defaults.

        `complain` gets a sentence per fault, deferred because the language is a setting.
        """
        try:
            text = read_regular(path, MAX_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            return cls()
        except OSError as exc:
            complain(
                defer(
                    "StyleForge cannot read the settings file {path} and uses the defaults: "
                    "{reason}",
                    path=path,
                    reason=exc.strerror,
                )
            )
            return cls()
        stored = _parse_json(text)
        if stored is None:
            complain(
                defer(
                    "The settings file {path} is damaged; StyleForge kept the readable settings",
                    path=path,
                )
            )
            stored = _recover_settings(text, _PERSISTED)
        kept: dict[str, Any] = {}
        damaged: list[str] = []
        for field in (field for field in fields(cls) if field.name in _PERSISTED):
            value = restored_value(field.name, stored.get(field.name, field.default))
            if field.name == "remember_source" and isinstance(value, bool):
                value = ALWAYS if value else NEVER  # as older versions stored it
            if _is_number(field.name, field.default) and type(value) is int and abs(value) < 2**53:
                value = float(value)
            if not _valid(field.name, value, field.default):
                damaged.append(field.name)
                value = field.default
            kept[field.name] = value
        if damaged:
            complain(
                defer(
                    "The settings file has invalid values; StyleForge uses the defaults for: "
                    "{names}",
                    names=", ".join(damaged),
                )
            )
        return cls(**kept)

    def save(self, path: Path) -> None:
        """Write a temporary file next to `path` and rename it, so that none is incomplete."""
        stored = {name: stored_value(name, getattr(self, name)) for name in _PERSISTED}
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.touch(mode=0o600)  # a camera's address may contain its password
            temporary.write_text(json.dumps(stored, indent=2), "utf-8")


# The keys of the settings file.
_PERSISTED = tuple(
    field.name
    for field in fields(Settings)
    if field.name not in PARAMETERS or PARAMETERS[field.name].persisted
)
_CHOICES: dict[str, tuple[str, ...]] = {
    "view": ("styled", "split", "compare"),
    "theme": ("system", "light", "dark"),
    "language": (SYSTEM, *LANGUAGES),
    "wall_camera": (ASK, ALWAYS, NEVER),
    "remember_source": (ASK, ALWAYS, NEVER),
    "camera_size": CAMERA_SIZES,
    "camera_format": tuple(CAMERA_FORMATS),
    "camera_fit": tuple(CAMERA_FITS),
    "record_sound": ("none", "film", "microphone"),
    "film_codec": ("h264", "hevc", "av1", "prores", "ffv1", "gif", "webp"),
    "film_encoder": ("auto", "cpu", "hardware"),
    "film_quality": ("small", "good", "best"),
    "film_network": ("full", "lite"),
}
_RANGES = {
    "split": (0.0, 1.0),
    "volume": (0.0, 1.0),
    "size": (0, 8192),
    "film_lines": (0, 8192),
    "camera_rate": (min(CAMERA_RATES), max(CAMERA_RATES)),
    "budget_ms": (10.0, 10_000.0),
    "slideshow_seconds": (2.0, 3600.0),
}


def _parse_json(text: str) -> dict[str, Any] | None:
    """Return the settings file as a dict; None if it is not a JSON object."""
    try:
        stored = small_json.loads_parts(text)
    except small_json.SmallJsonError:
        return None
    return stored if isinstance(stored, dict) else None


def _recover_settings(text: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the settings that can still be read from damaged JSON, each independently."""
    found: dict[str, Any] = {}
    for name in names:
        for match in re.finditer(rf'"{name}"\s*:\s*', text):
            try:
                found[name] = small_json.value_at(text, match.end())
            except small_json.SmallJsonError:
                continue
    return found


def _is_number(name: str, default: object) -> bool:
    return isinstance(default, float) or isinstance(
        PARAMETERS.get(name), AmountParameter | DirectionParameter
    )


def _valid(name: str, value: object, default: object) -> bool:
    if name in PARAMETERS:
        return PARAMETERS[name].valid(value)
    if type(value) is not type(default):
        return False
    if name in _CHOICES:
        return value in _CHOICES[name]
    if name in _RANGES:
        low, high = _RANGES[name]
        return low <= value <= high  # type: ignore[operator]  (the type was checked above)
    # A lone surrogate can neither be shown nor be part of a file name.
    return not (isinstance(value, str) and re.search("[\ud800-\udfff]", value))
