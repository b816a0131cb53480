"""Shows the handles of strokes over the picture while the panel offers to comb by hand."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QObject

from app.live.session import Session
from app.ui.looks.gestures import Gestures
from app.ui.panel.panel import ControlPanel
from app.ui.viewport.combing import CombControl
from utils.stroke_directions import HAND, Handles
from utils.translation.texts import tr


class CombController(QObject):
    """Connects the handles over the picture with the session's config and with undo."""

    def __init__(
        self, session: Session, panel: ControlPanel, comb: CombControl, gestures: Gestures
    ) -> None:
        super().__init__(panel)
        self._session, self._comb = session, comb
        self._suspended = False
        self._choice = panel.controls["strokes_direction"]
        self._offered = self._choice.isVisible()
        self._choice.installEventFilter(self)
        session.config_changed.connect(self._show)
        comb.combed.connect(self._use)
        comb.pressed.connect(gestures.press)
        comb.released.connect(gestures.release)
        self._show()

    def suspend(self, suspended: bool) -> None:
        """Show no handles while another tool works on the picture."""
        self._suspended = suspended
        self._show()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow whether the panel shows the choice of brushwork."""
        if event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self._offered = event.type() == QEvent.Type.Show
            self._show()
        return False

    def _show(self) -> None:
        config = self._session.config
        on = self._offered and not self._suspended and config.strokes_direction == HAND
        self._comb.show_handles(config.strokes_handles, on=on, hint=_hint(config.texture))

    def _use(self, handles: Handles) -> None:
        self._session.config = replace(self._session.config, strokes_handles=handles)


def _hint(texture: float | str) -> str:
    if texture == 0:
        return tr("Texture is off: turn it up to see the strokes")
    return tr("Drag across the picture to comb the strokes")
