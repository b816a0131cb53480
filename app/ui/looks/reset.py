"""Resets controls to their defaults: by double click, or by Delete on the focused control."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QLabel, QWidget

from app.engine.config import EngineConfig
from app.live.session import Session
from app.ui.panel.panel import ControlPanel
from app.ui.panel.stroke_width import FIELDS
from app.ui.speed.engine_bar import EngineBar
from utils.translation.joints import sentences
from utils.translation.texts import mark, tr

KEYS = (Qt.Key.Key_Delete, Qt.Key.Key_Backspace)
HINT = mark("Double-click or Delete resets it")
BOX_HINT = mark(
    "Delete, or a double click on its name, resets it"
)  # a click on the box opens its list
_TIP = "tip"  # control property that stores its tip without the hint
_DEFAULTS = EngineConfig()


class ResetController(QObject):
    """Watches the controls of panel and engine and their labels, and adds reset hints to the tips.

    The automatic texture is also a default: the style then sets the amount.
    """

    def __init__(self, session: Session, panel: ControlPanel, engine: EngineBar) -> None:
        super().__init__(panel)
        self._session = session
        self._resets: dict[QWidget, Callable[[], object]] = {
            panel.mix: lambda: self._use(session.config.mixed([(session.config.style, 1.0)])),
            panel.speed.slider: panel.speed_control.automatic,
            **{
                control: self._to_default(name)
                for each in (panel, engine)
                for name, control in (each.controls | each.others).items()
            },
        }
        for control in self._resets:
            control.installEventFilter(self)
            self._add_hint(control)
        for label in (*panel.findChildren(QLabel), *engine.findChildren(QLabel)):
            if label.buddy() in self._resets:
                label.installEventFilter(self)

    def reset_all(self) -> None:
        """Set every setting to its default, except the styles and the view."""
        kept = self._session.config
        self._use(
            replace(
                _DEFAULTS,
                style=kept.style,
                mix=kept.mix,
                mix_amount=kept.mix_amount,
                mix_more=kept.mix_more,
                matte=kept.matte,
                compare=kept.compare,
            )
        )

    def _to_default(self, name: str) -> Callable[[], None]:
        names = FIELDS if name in FIELDS else (name,)  # the fields that its control sets
        defaults = {each: getattr(_DEFAULTS, each) for each in names}
        return lambda: self._use(replace(self._session.config, **defaults))

    def _use(self, config: EngineConfig) -> None:
        self._session.config = config

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Reset the control, and keep the hint at the end of its tip."""
        control = watched.buddy() if isinstance(watched, QLabel) else watched
        if not isinstance(control, QWidget) or control not in self._resets:
            return False
        match event.type():
            case QEvent.Type.ToolTipChange | QEvent.Type.EnabledChange:
                self._add_hint(control)
            case QEvent.Type.MouseButtonDblClick if control.isEnabled():
                self._resets[control]()
                return True
            case QEvent.Type.ShortcutOverride | QEvent.Type.KeyPress if _resets(event):
                event.accept()  # otherwise the key would be a shortcut of the window
                if event.type() == QEvent.Type.KeyPress:
                    self._resets[control]()
                return True
            case _:
                pass
        return False

    def _add_hint(self, control: QWidget) -> None:
        hint = tr(BOX_HINT if isinstance(control, QComboBox) else HINT)
        tip = control.toolTip()
        if tip.endswith(hint):
            tip = control.property(_TIP)
        control.setProperty(_TIP, tip)
        wanted = sentences(tip, hint) if control.isEnabled() else tip
        if wanted != control.toolTip():
            control.setToolTip(wanted)


def _resets(event: QEvent) -> bool:
    """Return whether a reset key is pressed without modifiers."""
    if not isinstance(event, QKeyEvent):
        return False
    return event.key() in KEYS and event.modifiers() in (
        Qt.KeyboardModifier.NoModifier,
        Qt.KeyboardModifier.KeypadModifier,
    )
