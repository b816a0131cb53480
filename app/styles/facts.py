"""A reader of a pack's `style.toml` for facts about the painting, the license and the training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.styles.pack import MAX_TEXT_LENGTH, Style, one_line
from models.families.table import FAMILIES
from utils.files import toml
from utils.translation.numbers import number
from utils.translation.texts import tr


def facts_of(style: Style) -> tuple[tuple[str, str], ...]:
    """Read the known facts about a style: labels with texts of one line, in display order.

    Raises:
        OSError: If the style.toml cannot be read.
        ValueError: If the style.toml is no longer TOML.
    """
    spec = toml.load(style.weights.parent / "style.toml")
    runs = [spec[name] for name in sorted(spec) if name.startswith("training")]
    trained = [run for run in runs if isinstance(run, Mapping)]
    not_said = tr("Not stated by the style's author")
    rows = [
        (tr("Painting and artist"), style.credit or not_said),
        (tr("License"), style.licence or not_said),
        (tr("Group"), style.group),
        (tr("Kind"), tr(FAMILIES[style.family].one_of)),
        (tr("Versions"), tr("fine and fast") if style.lite else tr("fine")),
        (tr("Trained"), _training(trained)),
        (tr("Comes from"), "StyleForge" if style.builtin else tr("added by you")),
    ]
    return tuple((label, text) for label, text in rows if text)


def _training(runs: list[Mapping[str, Any]]) -> str:
    steps = sum(_numbers(runs, "iterations"))
    photographs = max(_numbers(runs, "photographs"), default=0)
    seconds = sum(_numbers(runs, "seconds"))
    devices = dict.fromkeys(str(run["device"]) for run in runs if "device" in run)
    parts = [
        tr("{n} steps", n=number(steps)) if steps else "",
        tr("with {n} photographs", n=number(photographs)) if photographs else "",
        tr("in {n} minutes", n=number(seconds / 60)) if seconds >= 60 else "",
        tr("on {devices}", devices=", ".join(devices)) if devices else "",
    ]
    return one_line(" ".join(filter(None, parts)))[:MAX_TEXT_LENGTH]


def _numbers(runs: list[Mapping[str, Any]], name: str) -> list[float]:
    values = [run.get(name) for run in runs]
    return [v for v in values if isinstance(v, int | float) and 0 < v < 1e12]
