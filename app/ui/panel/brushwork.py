"""The angle of strokes in one direction, or the button for strokes that are combed by hand."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel

from app.engine.config import EngineConfig
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.parameter_controls import DirectionControl, HandlesControl
from utils.stroke_directions import HAND


class BrushworkRow:
    """Shows the angle of `brushwork` for strokes in one direction alone.

    While strokes are combed by hand, `remove` is in its place.
    """

    def __init__(self, brushwork: DirectionControl, remove: HandlesControl) -> None:
        self._brushwork, self._remove = brushwork, remove
        self._label = QLabel()
        self._form: FormLayout | None = None

    def add_button(self, form: FormLayout) -> None:
        """Put the button into the row of the angle, which `form` has already."""
        self._form = form
        self._label = form.add_in_place_of(self._brushwork.angle, self._remove)

    def show_config(self, config: EngineConfig) -> None:
        """Show the control that `config` uses; the list keeps the focus of one that goes."""
        by_hand = config.strokes_direction == HAND
        turned = not isinstance(config.strokes_direction, str)
        angle = self._brushwork.angle
        if (not turned and angle.hasFocus()) or (not by_hand and self._remove.hasFocus()):
            self._brushwork.setFocus()
        for part in (self._label, angle, self._brushwork.degrees):
            part.setVisible(turned)
        self._remove.setVisible(by_hand)
        if self._form is not None:
            self._form.set_row_shown(self._remove, turned or by_hand)
