"""Colors and icons are readable in both themes, which switch live."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtGui import QColor, QFontInfo
from PySide6.QtWidgets import QDialog, QPushButton, QWidget

from app.ui.theme.icons import FOLDER, application_icon, icon
from app.ui.theme.theme import CHOICES, style_sheet
from app.ui.theme.tokens import DARK, LIGHT, Tokens


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio as WCAG 2.2 defines it."""

    def luminance(color: str) -> float:
        channels = (QColor(color).redF(), QColor(color).greenF(), QColor(color).blueF())
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=lambda t: t.name)
def test_text_and_edges_have_contrast_enough(tokens: Tokens):
    for back in (tokens.window, tokens.panel, tokens.raised, tokens.hover, tokens.canvas):
        assert contrast(tokens.text, back) >= 4.5
        assert contrast(tokens.muted, back) >= 4.5
    for back in (tokens.window, tokens.panel, tokens.raised, tokens.hover):
        assert contrast(tokens.fault, back) >= 4.5
    assert contrast(tokens.on_accent, tokens.accent) >= 4.5
    assert contrast(tokens.on_alert, tokens.alert) >= 4.5
    assert contrast(tokens.on_calm, tokens.calm) >= 4.5
    for back in (tokens.window, tokens.panel, tokens.raised):
        assert contrast(tokens.accent, back) >= 3
    assert contrast(tokens.outline, tokens.panel) >= 3


class Noting(QObject):
    """An event filter that appends `what` to `noted` at every event of `kind`."""

    def __init__(self, kind: QEvent.Type, noted: list[QWidget], what: QWidget) -> None:
        super().__init__(what)
        self._kind, self._noted, self._what = kind, noted, what

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == self._kind:
            self._noted.append(self._what)
        return False


@pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=["dark", "light"])
def test_a_primary_button_is_orange_only_while_it_can_be_pressed(tokens: Tokens, qtbot):
    button = QPushButton("Paint")
    qtbot.addWidget(button)
    button.setProperty("role", "primary")
    button.setStyleSheet(style_sheet(tokens, 10.0))

    def color() -> str:
        return button.grab().toImage().pixelColor(button.width() // 2, 4).name()

    assert color() == tokens.accent.lower()
    button.setEnabled(False)
    assert color() == tokens.raised.lower()


def test_the_theme_changes_live(theme, qapp, qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    theme.add_widget(widget)
    for choice, tokens in (("dark", DARK), ("light", LIGHT)):
        with qtbot.waitSignal(theme.changed):
            theme.choice = choice
        qtbot.waitUntil(lambda t=tokens: widget.palette().window().color().name() == t.window)
        assert tokens.accent in widget.styleSheet()
    assert not qapp.styleSheet()  # setting it would block the window


def shown_dialogs(window: QWidget) -> list[QDialog]:
    dialogs = [QDialog(window) for _ in range(3)]
    for dialog in dialogs:
        dialog.show()
    return dialogs


def test_a_hidden_dialog_is_dressed_when_it_is_shown(theme, qtbot):
    dialog = shown_dialogs(theme.parent())[0]
    qtbot.waitUntil(lambda: bool(dialog.styleSheet()))
    dialog.hide()
    before = dialog.styleSheet()
    theme.choice = "dark" if theme.tokens is LIGHT else "light"
    qtbot.wait(50)
    assert dialog.styleSheet() == before
    dialog.show()
    assert dialog.styleSheet() != before


def test_dialogs_are_dressed_one_by_one_after_the_window(theme, qtbot):
    window, part = theme.parent(), QWidget(theme.parent())
    theme.add_widget(part)
    dialogs = shown_dialogs(window)
    qtbot.waitUntil(lambda: all(dialog.styleSheet() for dialog in dialogs))
    before, dressed = part.styleSheet(), []
    for dialog in dialogs:
        dialog.installEventFilter(Noting(QEvent.Type.StyleChange, dressed, dialog))
    theme.choice = "dark" if theme.tokens is LIGHT else "light"
    assert part.styleSheet() != before
    assert not dressed, "they would hold the window up"
    turns: list[int] = []
    while len(turns) < 50 and any(d.styleSheet() != part.styleSheet() for d in dialogs):
        QCoreApplication.processEvents()
        turns.append(len({id(dialog) for dialog in dressed}))
    assert turns[-1] == len(dialogs)
    assert all(later - now <= 1 for now, later in pairwise([0, *turns]))


def test_a_dialog_that_goes_while_the_others_are_dressed_does_no_harm(theme, qtbot):
    dialogs = shown_dialogs(theme.parent())
    qtbot.waitUntil(lambda: all(dialog.styleSheet() for dialog in dialogs))
    for choice in ("light", "dark") * 5:
        theme.choice = choice
        QDialog(theme.parent()).deleteLater()
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    sheet = style_sheet(theme.tokens, QFontInfo(theme.parent().font()).pointSizeF())
    qtbot.waitUntil(lambda: all(dialog.styleSheet() == sheet for dialog in dialogs))


def test_the_system_theme_follows_the_system(theme, qapp, monkeypatch):
    theme.choice = "system"
    for scheme, tokens in ((Qt.ColorScheme.Light, LIGHT), (Qt.ColorScheme.Dark, DARK)):
        monkeypatch.setattr(type(qapp.styleHints()), "colorScheme", lambda _, s=scheme: s)
        qapp.styleHints().colorSchemeChanged.emit(scheme)
        assert theme.tokens == tokens


def test_an_unknown_theme_is_refused(theme):
    with pytest.raises(ValueError, match="no theme 'pink'"):
        theme.choice = "pink"
    assert theme.choice in CHOICES


def test_icons_take_the_color_of_the_theme(qapp):
    image = icon("pause", DARK).pixmap(32, 32).toImage()
    inks = {
        image.pixelColor(x, 16).name() for x in range(32) if image.pixelColor(x, 16).alpha() == 255
    }
    assert inks == {DARK.text}  # fmt: skip
    assert not application_icon().isNull()


def test_every_icon_takes_its_color_from_the_theme_or_is_named_for_one():
    for path in FOLDER.glob("*.svg"):
        fixed = path.stem.endswith(("-light", "-dark")) or path.stem == "styleforge"
        assert fixed or "currentColor" in path.read_text("utf-8"), path.name


def test_the_sheet_names_only_files_that_exist(theme):
    names = re.findall(r'url\("([^"]+)"\)', style_sheet(theme.tokens, 10.0))
    assert names
    assert all(Path(name).is_file() for name in names)
