"""A second window with only the picture, for a projector: the same frames, painted twice."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QMouseEvent, QPalette, QScreen
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.engine.matting.cutout import KEY_COLOR
from app.engine.result import StyledFrame
from app.ui.layouts import fill
from app.ui.theme.icons import application_icon
from app.ui.viewport.viewport import Viewport
from utils.translation.joints import enumerated
from utils.translation.texts import tr

SIZE = (960, 540)  # of the window without a second screen


class ProjectorWindow(QWidget):
    """Shows results. Escape leaves full screen, then closes it; a double click toggles full screen.

    Signals:
        closed: The window was closed in any way.
        resized: Width and height of the picture in screen pixels.
    """

    closed = Signal()
    resized = Signal(int, int)

    def __init__(self) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self.setWindowTitle(tr("StyleForge: projector"))
        self.setAccessibleName(tr("Projector"))
        self.setWindowIcon(application_icon())
        self._surround(QColor("black"))
        self.picture = Viewport(lambda *_: None, self)
        self.picture.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.picture.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        fill(QVBoxLayout(self), self.picture, margins=(0, 0, 0, 0))
        self.picture.resized.connect(self.resized)
        self.resize(*SIZE)

    def open_on(self, screen: QScreen, *, full: bool) -> None:
        self.setScreen(screen)
        # In the corner, it does not cover the message below the main window's picture.
        room = screen.availableGeometry()
        self.move(room.right() - self.width(), room.top())
        (self.showFullScreen if full else self.show)()
        self._hide_pointer()

    def show_styled(self, styled: StyledFrame | None) -> None:
        """Show a result, or black for None; what surrounds a green rest is green too."""
        keyed = styled is not None and styled.config.has_green
        self._surround(QColor(*KEY_COLOR) if keyed else QColor("black"))
        self.picture.show_styled(styled, timed=False)

    def _surround(self, color: QColor) -> None:
        palette = self.palette()
        if palette.color(QPalette.ColorRole.Dark) != color:
            for role in (QPalette.ColorRole.Window, QPalette.ColorRole.Dark):
                palette.setColor(role, color)
            self.setPalette(palette)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.isFullScreen():
            self._toggle_full()
        elif event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._toggle_full()

    def closeEvent(self, event: object) -> None:
        self.closed.emit()

    def _toggle_full(self) -> None:
        (self.showNormal if self.isFullScreen() else self.showFullScreen)()
        self._hide_pointer()

    def _hide_pointer(self) -> None:
        full = self.isFullScreen()
        self.setCursor(Qt.CursorShape.BlankCursor if full else Qt.CursorShape.ArrowCursor)


def other_screens(window: QWidget) -> list[QScreen]:
    """Return all screens except the window's own."""
    return [screen for screen in QGuiApplication.screens() if screen is not window.screen()]


def screen_title(screen: QScreen) -> str:
    """Return a title such as "DELL U2720Q, 3840x2160"."""
    ratio, size = screen.devicePixelRatio(), screen.size()
    pixels = f"{round(size.width() * ratio)}x{round(size.height() * ratio)}"
    model = " ".join(filter(None, (screen.manufacturer(), screen.model()))) or screen.name()
    return enumerated((model, pixels))
