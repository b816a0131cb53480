"""Opens the command palette with everything that the window offers."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QWidget

from app.ui.main_window.parts import WindowParts
from app.ui.main_window.visibility import Visibility
from app.ui.palette.entry import Entry
from app.ui.palette.finding import (
    action_entries,
    question_entries,
    setting_entries,
    style_entries,
)
from app.ui.palette.overlay import Palette
from app.ui.palette.recent import keys_of, with_newest
from app.ui.queue.actions import QUEUE_ACTIONS


class PaletteOpener:
    """Collects the entries at each opening, and keeps those used recently in the settings.

    Args:
        show_answer: Shows the answer to a translated question.
    """

    def __init__(
        self, window: WindowParts, visibility: Visibility, show_answer: Callable[[str], object]
    ) -> None:
        self._window, self._visibility, self._show_answer = window, visibility, show_answer
        self.view = Palette(window.workspace)
        self.view.chosen.connect(self._run)
        window.theme.add_widget(self.view)

    def toggle(self) -> None:
        """Open the palette, or close it if it is open."""
        if self.view.isVisible():
            self.view.close_up()
        else:
            recent = keys_of(self._window.settings.value.palette_recent)
            self.view.open(self.entries(), recent)

    def entries(self) -> list[Entry]:
        """Return everything that can be found now; the queue's actions only while it is shown."""
        window = self._window
        styles = ((s.key, s.title, f"{s.credit} {s.group}") for s in window.session.catalog.styles)
        queue = window.queue.actions if window.queue.shown else {}
        tokens = window.theme.tokens
        return [
            *action_entries(queue, tokens, QUEUE_ACTIONS, "queue."),
            *action_entries(window.actions_by_key, tokens),
            *style_entries(styles, window.gallery.model, window.mixer.choose_style),
            *setting_entries(window.panel, self._show_setting, tokens),
            *setting_entries(window.engine_bar, self._show_setting, tokens),
            *question_entries(self._show_answer, tokens),
        ]

    def _run(self, entry: Entry) -> None:
        settings = self._window.settings
        settings.update(palette_recent=with_newest(settings.value.palette_recent, entry.key))
        entry.run()

    def _show_setting(self, control: QWidget) -> None:
        """Show the panel if it has the control, unfold what hides it, and focus it."""
        panel = self._window.panel
        if panel.isAncestorOf(control):
            self._visibility.show_panel()
        unfold = self._window.actions_by_key.get("advanced")
        if not control.isVisible() and unfold is not None and not unfold.isChecked():
            unfold.trigger()
        control.setFocus(Qt.FocusReason.ShortcutFocusReason)
        # The panel gets its new height with the next layout.
        QTimer.singleShot(0, panel, lambda: panel.ensureWidgetVisible(control))
