"""The angle of strokes in one direction, or the button for strokes that are combed by hand."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel

from app.engine.config import EngineConfig
from app.ui.widgets.form_layout import FormLayout
from app.ui.widgets.parameter_controls import DirectionControl, HandlesControl
from utils.stroke_directions import HAND


class BrushworkRow:
    """Shows `remove` in place of the angle of `brushwork` while strokes are combed by hand."""

    def __init__(self, brushwork: DirectionControl, remove: HandlesControl) -> None:
        self._brushwork, self._remove = brushwork, remove
        self._label = QLabel()

    def add_button(self, form: FormLayout) -> None:
        """Put the button into the row of the angle, which `form` has already."""
        self._label = form.add_in_place_of(self._brushwork.angle, self._remove)

    def show_config(self, config: EngineConfig) -> None:
        by_hand = config.strokes_direction == HAND
        if by_hand and self._brushwork.angle.hasFocus():
            self._brushwork.setFocus()
        for part in (self._label, self._brushwork.angle, self._brushwork.degrees):
            part.setVisible(not by_hand)
        if not by_hand and self._remove.hasFocus():
            self._brushwork.setFocus()
        self._remove.setVisible(by_hand)
