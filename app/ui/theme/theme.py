"""Applies the light or dark theme to the window, and follows changes of the system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QChildEvent, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.incremental_work import IncrementalWork
from app.ui.theme.keyboard_focus import KeyboardFocus
from app.ui.theme.motion import STILL_SHEET, system_is_still
from app.ui.theme.tokens import DARK, LIGHT, RADIUS, Tokens
from app.ui.theme.underlines import Underlines
from utils.translation.texts import mark

CHOICES = (mark("system"), mark("light"), mark("dark"))
STYLE = "fusion"  # Qt's own style, which looks the same on every system
_ICONS = Path(__file__).resolve().parents[3] / "assets" / "icons"


class Theme(QObject):
    """Sets the application's palette and the style sheet of the added widgets.

    Dialogs and menus owned by `window` get the style sheet too. `changed(Tokens)` is emitted after
    every switch, by the user or the system. Only one instance per application may exist at a time.
    """

    changed = Signal(object)

    def __init__(
        self,
        app: QApplication,
        window: QWidget,
        choice: str = "system",
        *,
        reduce_motion: bool = False,
    ) -> None:
        super().__init__(window)
        self._app, self._window = app, window
        self._choice = "system"
        self._reduce_motion = reduce_motion
        self._sheet = ""
        self._widgets: list[QWidget] = []
        self._restyling = IncrementalWork(self)
        self.tokens = LIGHT
        KeyboardFocus(app, self)
        if app.style().name() != STYLE:  # setting it restyles every existing widget
            app.setStyle(STYLE)
        self._underlines = Underlines(app, STYLE, self)
        app.styleHints().colorSchemeChanged.connect(self._apply)
        window.installEventFilter(self)
        self.choice = choice

    def add_widget(self, part: QWidget) -> None:
        """Apply the style sheet to `part` and its children, now and after every switch."""
        self._widgets.append(part)
        part.setStyleSheet(self._sheet)
        self._underlines.add(part)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Apply the style sheet to new dialogs, and to hidden ones when they are shown."""
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget):
            self._show(watched)
        elif watched is self._window and isinstance(event, QChildEvent):
            child = event.child()
            polished = event.type() == QEvent.Type.ChildPolished
            if polished and isinstance(child, QWidget) and child.isWindow():
                child.setStyleSheet(self._sheet)
                child.installEventFilter(self)
        return False

    def _show(self, window: QWidget) -> None:
        if window is not self._window:
            if window.styleSheet() != self._sheet:  # the theme changed while it was hidden
                window.setStyleSheet(self._sheet)
            self._underlines.add(window)
        self._underlines.follow(window)

    @property
    def choice(self) -> str:
        return self._choice

    @choice.setter
    def choice(self, choice: str) -> None:
        if choice not in CHOICES:
            raise ValueError(f"there is no theme '{choice}', only {', '.join(CHOICES)}")
        self._choice = choice
        # Also tells the platform, which colors the title bar. Most platforms then emit
        # colorSchemeChanged; some do not, hence the call below.
        schemes = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
        hints = self._app.styleHints()
        hints.setColorScheme(schemes.get(choice, Qt.ColorScheme.Unknown))
        self._apply()

    @property
    def reduce_motion(self) -> bool:
        """Whether nothing moves by itself, regardless of the system's setting."""
        return self._reduce_motion

    @reduce_motion.setter
    def reduce_motion(self, on: bool) -> None:
        self._reduce_motion = on
        self._apply()

    def _apply(self) -> None:
        scheme = self._app.styleHints().colorScheme()
        if self._choice == "system":
            dark = scheme != Qt.ColorScheme.Light  # unknown: pictures look best on dark
        else:
            dark = self._choice == "dark"
        self.tokens = DARK if dark else LIGHT
        self._app.setPalette(palette(self.tokens))
        sheet = style_sheet(self.tokens, QFontInfo(self._app.font()).pointSizeF())
        if self._reduce_motion or system_is_still():
            sheet += STILL_SHEET
        if sheet != self._sheet:  # skip restyling if nothing changed
            self._sheet = sheet
            # In steps: restyling everything at once would block the window too long.
            self._restyling.start(self._apply_sheets())
        self.changed.emit(self.tokens)

    def _apply_sheets(self) -> Iterator[None]:
        for part in self._widgets:
            part.setStyleSheet(self._sheet)
            yield
        # Searched again each time, since a dialog may be destroyed meanwhile.
        while (window := self._next_outdated_window()) is not None:
            window.setStyleSheet(self._sheet)
            del window
            yield

    def _next_outdated_window(self) -> QWidget | None:
        """Return a visible window owned by `window` with an outdated style sheet.

        Hidden ones are updated when shown, since updating a file dialog takes 50 ms.
        """
        direct = Qt.FindChildOption.FindDirectChildrenOnly
        owned = self._window.findChildren(QWidget, options=direct)
        return next(
            (w for w in owned if w.isVisible() and w.isWindow() and w.styleSheet() != self._sheet),
            None,
        )


def palette(tokens: Tokens) -> QPalette:
    """Return the palette for custom-painted widgets.

    Dark is the canvas, PlaceholderText muted text, LinkVisited failure text, Mid the separators,
    Highlight the accent.
    """
    role = QPalette.ColorRole
    colors = {
        role.Window: tokens.window,
        role.WindowText: tokens.text,
        role.Base: tokens.raised,
        role.AlternateBase: tokens.panel,
        role.Text: tokens.text,
        role.Button: tokens.raised,
        role.ButtonText: tokens.text,
        role.BrightText: tokens.on_alert,
        role.ToolTipBase: tokens.raised,
        role.ToolTipText: tokens.text,
        role.PlaceholderText: tokens.muted,
        role.Highlight: tokens.accent,
        role.HighlightedText: tokens.on_accent,
        role.Accent: tokens.accent,
        role.Link: tokens.accent,
        role.LinkVisited: tokens.fault,
        role.Light: tokens.hover,
        role.Midlight: tokens.hover,
        role.Mid: tokens.line,
        role.Dark: tokens.canvas,
        role.Shadow: tokens.canvas,
    }
    made = QPalette()
    for which, color in colors.items():
        made.setColor(which, QColor(color))
    for which in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, which, QColor(tokens.disabled))
    return made


def style_sheet(tokens: Tokens, points: float) -> str:
    """Return the style sheet; font sizes scale with `points`, the application's font size."""
    t = tokens
    keys = '[keys="true"]'  # see KeyboardFocus
    check = (_ICONS / f"check-{t.name}.svg").as_posix()
    chevron = (_ICONS / f"chevron-{t.name}.svg").as_posix()
    chevron_up = (_ICONS / f"chevron-up-{t.name}.svg").as_posix()
    return f"""
QToolTip {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.outline};
    padding: 4px 6px; }}
#toolbar, #status, #gallery, #looks, #transport, #engine, #speedTest {{ background: {t.window}; }}
#toolbar {{ border-bottom: 1px solid {t.line}; }}
#status, #gallery, #looks, #transport, #engine, #speedTest {{ border-top: 1px solid {t.line}; }}
#panel, #form, #panelScroll {{ background: {t.panel}; border: none; }}
#panelScroll {{ border-left: 1px solid {t.line}; }}
#problem {{ background: {t.alert}; }}
#problem QLabel {{ color: {t.on_alert}; }}
#notice, #job {{ background: {t.calm}; }}
#notice QLabel, #job QLabel {{ color: {t.on_calm}; }}
#saved, #question {{ background: {t.panel}; }}
#problem, #notice, #job, #saved {{ border: 1px solid {t.outline};
    border-radius: {RADIUS + 2}px; }}
#question {{ border: 1px solid {t.outline}; border-radius: {2 * RADIUS}px; }}
#question QLabel {{ color: {t.text}; font-size: {points * 1.1:.1f}pt; }}
#card {{ background: {t.panel}; border-radius: {RADIUS + 2}px; }}
QProgressBar {{ background: {t.raised}; border: none; border-radius: 4px; }}
QProgressBar::chunk {{ background: {t.accent}; border-radius: 4px; }}
QLabel:disabled {{ color: {t.disabled}; }}
QLabel[role="muted"] {{ color: {t.muted}; font-size: {points * 0.92:.1f}pt; }}
QLabel[role="fault"] {{ color: {t.fault}; }}
QLabel[role="command"] {{ background: {t.raised}; border: 1px solid {t.outline};
    border-radius: {RADIUS}px; padding: 6px 8px; }}
QLabel[role="command"]:focus {{ border-color: {t.accent}; }}
QLabel[role="heading"] {{ color: {t.muted}; font-size: {points * 0.88:.1f}pt; font-weight: 600; }}
QLabel[role="title"] {{ font-size: {points * 1.35:.1f}pt; font-weight: 600; }}
QLabel[role="key"] {{ background: {t.raised}; border: 1px solid {t.outline}; border-radius: 4px;
    padding: 2px 6px; }}
QToolButton, QPushButton {{ background: {t.raised}; color: {t.text}; border: 2px solid {t.raised};
    border-radius: {RADIUS}px; padding: 4px 10px; min-height: 28px; }}
QToolButton {{ padding: 4px 7px; }}
#status QToolButton {{ padding: 0px 6px; min-height: 20px; }}
QFileDialog QToolButton {{ padding: 0; min-height: 0; }}
QFileDialog QListView#sidebar::item {{ min-height: 28px; color: {t.text}; }}
QFileDialog QListView#sidebar::item:selected {{ background: {t.raised}; color: {t.text}; }}
#toolbar QToolButton, #transport QToolButton {{ background: transparent;
    border-color: transparent; }}
#cross, #wallBar QToolButton, QPushButton#quiet {{ background: transparent;
    border-color: transparent; }}
#wallSources QPushButton {{ padding: 10px 20px; font-size: {points * 1.1:.1f}pt; }}
QToolButton:hover, QPushButton:hover, #cross:hover, #toolbar QToolButton:hover,
    #transport QToolButton:hover {{ background: {t.hover}; }}
QToolButton:pressed, QPushButton:pressed {{ background: {t.line}; }}
QToolButton:checked, #toolbar QToolButton:checked, #transport QToolButton:checked
    {{ background: {t.raised}; border-color: {t.raised}; }}
#queue QToolButton:checked {{ background: {t.line}; border-color: {t.text}; }}
#segments QToolButton:checked {{ background: {t.accent}; color: {t.on_accent};
    border-color: {t.accent}; }}
QPushButton[role="tool"]:checked {{ background: {t.accent}; color: {t.on_accent};
    border-color: {t.accent}; }}
QPushButton[role="card"] {{ background: {t.panel}; border-color: {t.line}; }}
QPushButton[role="card"]:hover {{ background: {t.hover}; }}
QPushButton[role="card"]:checked {{ border-color: {t.accent}; }}
QLabel[role="cardTitle"] {{ font-weight: 600; }}
#fold {{ background: transparent; border-color: transparent; color: {t.muted}; padding: 0;
    min-height: 38px; }}
QToolButton:disabled, QPushButton:disabled {{ color: {t.disabled}; }}
QToolButton{keys}:focus, QPushButton{keys}:focus, #toolbar QToolButton{keys}:focus,
    #transport QToolButton{keys}:focus, #cross{keys}:focus {{ border-color: {t.accent}; }}
QToolButton{keys}:checked:focus, #toolbar QToolButton{keys}:checked:focus
    {{ border-color: {t.accent}; }}
#queue QToolButton{keys}:checked:focus {{ border-color: {t.accent}; }}
#segments QToolButton{keys}:checked:focus, QPushButton[role="tool"]{keys}:checked:focus
    {{ border-color: {t.text}; }}
QToolButton::menu-indicator {{ image: none; }}
#segments {{ background: {t.raised}; border-radius: {RADIUS + 2}px; }}
#segments QToolButton {{ padding: 4px 10px; }}
QPushButton[role="card"]{keys}:focus {{ border-color: {t.text}; }}
QPushButton[role="primary"], QToolButton[role="primary"] {{ background: {t.accent};
    color: {t.on_accent}; border-color: {t.accent}; }}
QPushButton[role="primary"]{keys}:focus, QToolButton[role="primary"]{keys}:focus
    {{ border-color: {t.text}; }}
QPushButton[role="primary"]:disabled, QToolButton[role="primary"]:disabled
    {{ background: {t.raised}; color: {t.disabled}; border-color: {t.raised}; }}
#queue {{ background: {t.window}; }}
#paletteCard {{ background: {t.panel}; border: none; border-radius: {2 * RADIUS}px; }}
#paletteLine {{ background: {t.line}; }}
#paletteCard QLineEdit, #paletteCard QLineEdit:focus {{ background: transparent; border: none;
    padding: 12px 20px; font-size: {points * 1.3:.1f}pt; }}
QComboBox, QLineEdit, QSpinBox {{ background: {t.raised}; color: {t.text};
    border: 1px solid {t.outline}; border-radius: {RADIUS}px; padding: 5px 8px; min-height: 28px;
    selection-background-color: {t.accent}; selection-color: {t.on_accent}; }}
QComboBox:focus, QComboBox:on, QLineEdit:focus, QSpinBox:focus {{ border: 2px solid {t.accent};
    padding: 4px 7px; }}
QComboBox:disabled, QLineEdit:disabled, QSpinBox:disabled {{ color: {t.disabled}; }}
QComboBox::drop-down {{ border: none; width: 24px; }}
QComboBox::down-arrow {{ image: url("{chevron}"); width: 14px; height: 14px; }}
QLineEdit QToolButton {{ background: transparent; border: none; padding: 0; min-height: 0; }}
QSpinBox QLineEdit {{ background: transparent; border: none; padding: 0; min-height: 0; }}
QSpinBox::up-button, QSpinBox::down-button {{ border: none; width: 24px; }}
QSpinBox::up-arrow {{ image: url("{chevron_up}"); width: 14px; height: 14px; }}
QSpinBox::down-arrow {{ image: url("{chevron}"); width: 14px; height: 14px; }}
QComboBox QAbstractItemView {{ background: {t.raised}; color: {t.text};
    border: 1px solid {t.outline}; outline: none; selection-background-color: {t.accent};
    selection-color: {t.on_accent}; placeholder-text-color: {t.muted}; }}
QMenu {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.line}; padding: 4px; }}
QMenu::item {{ padding: 6px 24px 6px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {t.accent}; color: {t.on_accent}; }}
QMenu::item:disabled {{ color: {t.disabled}; }}
QMenu::separator {{ height: 1px; background: {t.line}; margin: 4px 8px; }}
QSlider {{ min-height: 40px; }}
QSlider::groove:horizontal {{ height: 4px; background: {t.outline}; border-radius: 2px; }}
QSlider::sub-page:horizontal {{ background: {t.text}; border-radius: 2px; }}
QSlider::handle:horizontal {{ background: {t.text}; border: 2px solid {t.panel}; width: 14px;
    margin: -7px 0; border-radius: 9px; }}
QSlider::sub-page:horizontal:disabled, QSlider::handle:horizontal:disabled
    {{ background: {t.outline}; }}
QSlider{keys}::handle:horizontal:focus {{ border-color: {t.accent}; }}
QCheckBox {{ spacing: 8px; padding: 4px 0; min-height: 32px; }}
QCheckBox::indicator, QListView::indicator {{ width: 16px; height: 16px;
    border: 1px solid {t.outline}; border-radius: 4px; background: {t.raised}; }}
QCheckBox::indicator:checked, QListView::indicator:checked {{ background: {t.accent};
    border-color: {t.accent}; image: url("{check}"); }}
QCheckBox{keys}::indicator:focus {{ width: 14px; height: 14px; border: 2px solid {t.text}; }}
QTabBar::tab {{ background: transparent; color: {t.muted}; padding: 8px 16px;
    border: 2px solid transparent; border-radius: {RADIUS}px; margin: 4px 0 4px 4px; }}
QTabBar::tab:hover {{ background: {t.hover}; color: {t.text}; }}
QTabBar::tab:selected {{ background: {t.raised}; color: {t.text}; }}
QTabBar{keys}::tab:selected:focus {{ border-color: {t.accent}; }}
QTextBrowser {{ background: {t.window}; color: {t.text}; }}
{_panel_sheet(t, points)}
QListView {{ background: transparent; border: none; outline: none; }}
QListView#places::item {{ min-height: 32px; padding: 0 8px; border-radius: {RADIUS}px;
    color: {t.text}; }}
QListView#places::item:hover {{ background: {t.hover}; }}
QListView#places::item:selected {{ background: {t.raised}; color: {t.text}; }}
QListView#ticked {{ background: {t.raised}; border: 1px solid {t.outline};
    border-radius: {RADIUS}px; padding: 0 8px; }}
QListView#ticked:focus {{ border-color: {t.accent}; }}
QListView#ticked::item {{ min-height: 40px; border-radius: 4px; }}
QListView#ticked::item:hover, QListView#ticked::item:selected {{ background: {t.hover};
    color: {t.text}; }}
QScrollBar:horizontal {{ background: transparent; height: 10px; margin: 0; }}
QScrollBar:vertical {{ background: transparent; width: 10px; margin: 0; }}
QScrollBar::handle {{ background: {t.outline}; border-radius: 3px; min-width: 32px;
    min-height: 32px; margin: 2px; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
"""


def _panel_sheet(t: Tokens, points: float) -> str:
    """Return the rules of the panel, whose rows are 32 px high at the default font."""
    return f"""
#panel QLabel {{ color: {t.muted}; }}
#panel QLabel[role="heading"] {{ color: {t.text}; font-size: {points * 1.12:.1f}pt; }}
#panel QLabel[role="value"] {{ color: {t.text}; min-width: 38px; }}
#panel QLabel[role="automatic"] {{ background: {t.hover}; color: {t.muted}; border-radius: 6px;
    min-width: 38px; font-size: {points * 0.88:.1f}pt; }}
#panel QLabel:disabled {{ color: {t.disabled}; }}
#panel QComboBox, #panel QLineEdit {{ min-height: 18px; padding: 4px 8px; }}
#panel QComboBox:focus, #panel QComboBox:on, #panel QLineEdit:focus {{ padding: 3px 7px; }}
#panel QPushButton {{ min-height: 20px; padding: 2px 10px; }}
#panel QPushButton[role="small"] {{ background: transparent; color: {t.muted};
    border-color: transparent; }}
#panel QPushButton[role="small"]:hover {{ background: {t.hover}; color: {t.text}; }}
#panel QPushButton[role="small"]:focus {{ border-color: {t.accent}; }}
#panel QToolButton {{ min-height: 24px; padding: 0; border: none; }}
#panel QSlider {{ min-height: 32px; }}
#panel QCheckBox {{ min-height: 24px; }}
"""
