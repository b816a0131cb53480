"""One place for the strips below the picture, with tabs if there are several."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import QTabBar, QVBoxLayout, QWidget

from app.ui.layouts import described, fill
from utils.translation.texts import tr


class StripTabs(QWidget):
    """Shows one of the wanted strips, and tabs to choose another one.

    Args:
        strips: Title and widget by key, in the order of the tabs.
    """

    def __init__(self, strips: Mapping[str, tuple[str, QWidget]], parent: QWidget) -> None:
        super().__init__(parent)
        self._strips = {key: strip for key, (_, strip) in strips.items()}
        self._titles = {key: title for key, (title, _) in strips.items()}
        self._wanted: set[str] = set()
        self._front = next(iter(strips))
        self.bar = described(
            QTabBar(self), tr("Below the picture"), tr("Choose what is below the picture")
        )
        self.bar.setDrawBase(False)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(False)
        self.bar.currentChanged.connect(self._pick)
        self.bar.setShape(QTabBar.Shape.RoundedSouth)
        # Below strips of different heights, so that the tabs stay where they were clicked.
        parts = *self._strips.values(), self.bar
        fill(QVBoxLayout(self), *parts, margins=(0, 0, 0, 0), spacing=0)
        self._show()

    @property
    def front(self) -> str:
        """The key of the strip that is shown while it is wanted."""
        return self._front

    def set_wanted(self, key: str, wanted: bool) -> None:
        """Offer a strip or not; one that comes later than the window comes to the front."""
        if wanted == (key in self._wanted):
            return
        self._wanted ^= {key}
        if wanted and self.isVisible():
            self._front = key
        self._show()

    def is_behind(self, key: str) -> bool:
        """Return whether a strip is wanted, and another one is in front of it."""
        return key in self._wanted and key != self._front

    def bring_up(self, key: str) -> None:
        """Show a wanted strip."""
        if self.is_behind(key):
            self._front = key
            self._show()

    def _show(self) -> None:
        offered = [key for key in self._strips if key in self._wanted]
        if self._front not in offered and offered:
            self._front = offered[0]
        self.bar.blockSignals(True)
        while self.bar.count():
            self.bar.removeTab(0)
        for key in offered:
            self.bar.setTabData(self.bar.addTab(self._titles[key]), key)
        if offered:
            self.bar.setCurrentIndex(offered.index(self._front))
        self.bar.blockSignals(False)
        self.bar.setVisible(len(offered) > 1)
        for key, strip in self._strips.items():
            strip.setVisible(key in offered and key == self._front)

    def _pick(self, index: int) -> None:
        self.bring_up(self.bar.tabData(index))
