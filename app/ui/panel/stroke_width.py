"""The slider of the stroke width, one control for two settings."""

from __future__ import annotations

from typing import Any

from app.engine.config import EngineConfig
from app.options import STROKES
from app.parameters import PARAMETERS, Parameters
from app.ui.widgets.end_stop import Stop, StopSlider
from utils.translation.texts import mark, tr

FIELDS = ("strokes", "keep_strokes")  # of EngineConfig, which the slider sets together
TIP = mark(
    "Fine strokes show more detail and take longer. Auto makes them as the style was trained, and "
    "finer where you choose a larger detail"
)


class StrokeWidthSlider(StopSlider):
    """Auto, then each width in STROKES, which is kept whatever the detail.

    `picked` carries a key of STROKES, or None for Auto, see `changes_for`. Auto is the default of
    both fields. An older settings file may have a width that is not kept: it is shown as this
    width.
    """

    def __init__(self) -> None:
        row = PARAMETERS["strokes"]
        stops = [Stop(key, tr(stroke.title)) for key, stroke in STROKES.items()]
        super().__init__(tr(row.label), tr(row.title), tr(TIP), stops, automatic=None)

    def show_config(self, config: EngineConfig) -> None:
        """Show the width of `config` without emitting signals."""
        default = Parameters()
        chosen = config.keep_strokes or config.strokes != default.strokes
        self.show_value(config.strokes if chosen else None)


def changes_for(width: str | None) -> dict[str, Any]:
    """Return the values of FIELDS for a key of STROKES, or for Auto (None)."""
    if width is None:
        default = Parameters()
        return {name: getattr(default, name) for name in FIELDS}
    return {"strokes": width, "keep_strokes": True}
