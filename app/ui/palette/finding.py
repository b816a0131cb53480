"""Collects what the palette finds: actions, styles, settings, questions with answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QAction, QIcon, QKeySequence, QPixmap
from PySide6.QtWidgets import QCheckBox, QLabel, QWidget

from app.diagnostics.questions import QUESTIONS
from app.ui.actions import ACTIONS, ActionEntry, tooltip_with_shortcut
from app.ui.palette.entry import Entry
from app.ui.theme.icons import icon
from app.ui.theme.tokens import Tokens
from app.ui.widgets.style_list import KEY
from utils.translation.joints import enumerated, sentences
from utils.translation.mnemonics import without_mnemonic
from utils.translation.texts import tr

_NUMBERED = "style_"  # followed by a number: the styles are found by their names instead
# They show what the palette itself shows, or what is open only without it.
_LEFT_OUT = ("palette", "menu", "back")


def action_entries(
    actions: Mapping[str, QAction],
    tokens: Tokens,
    rows: Iterable[ActionEntry] = ACTIONS,
    prefix: str = "",
) -> Iterator[Entry]:
    """Yield the actions of a table; `prefix` makes the keys of another table distinct."""
    usual_icon = icon("command", tokens)
    for row in rows:
        numbered = row.key.removeprefix(_NUMBERED).isdigit()
        if row.key in actions and row.key not in _LEFT_OUT and not numbered:
            action = actions[row.key]
            told = action.toolTip()
            usual = tooltip_with_shortcut(tr(row.tip), action.shortcut())
            yield Entry(
                f"action:{prefix}{row.key}",
                _plain(action.text()),
                _group_of(row, action),
                action.trigger,
                f"{tr(row.tip)} {tr(row.title)} {tr(row.words)} {_native(action.shortcut())}",
                _native(action.shortcut()),
                action.isEnabled(),
                "" if action.isEnabled() or told == usual else told,
                usual_icon if action.icon().isNull() else action.icon(),
            )


def _group_of(row: ActionEntry, action: QAction) -> str:
    """Return the action's group, and whether the action is on, which choosing it would end."""
    group = tr(row.group)
    return enumerated((group, tr("on now"))) if action.isChecked() else group


def style_entries(
    styles: Iterable[tuple[str, str, str]],
    model: QAbstractItemModel,
    choose: Callable[[str], object],
) -> Iterator[Entry]:
    """Yield the styles, with the pictures and the number keys of the gallery.

    Args:
        styles: Key, title, and other text of each style.
        model: The rows of the gallery, which may show a part of the styles.
        choose: Gets the key of a style.
    """
    rows = {str(model.index(row, 0).data(KEY)): row for row in range(model.rowCount())}
    keys = {row.key: row.keys[0] for row in ACTIONS}
    for key, title, more in styles:
        row = rows.get(key, -1)
        picture = model.index(row, 0).data(Qt.ItemDataRole.DecorationRole) if row >= 0 else None
        yield Entry(
            f"style:{key}",
            title,
            tr("Style"),
            lambda key=key: choose(key),
            more,
            keys.get(f"{_NUMBERED}{row + 1}", ""),
            icon=QIcon(picture) if isinstance(picture, QPixmap) else QIcon(),
            picture=True,
        )


def setting_entries(
    panel: QWidget, show: Callable[[QWidget], object], tokens: Tokens
) -> Iterator[Entry]:
    """Yield the controls of a panel: those with a label in front, and check boxes.

    A control that the panel hides by itself, in favor of another one, is left out.

    Args:
        show: Shows a control, and focuses it.
    """
    labels = [(each.text(), each.buddy()) for each in panel.findChildren(QLabel)]
    boxes = [(each.text(), each) for each in panel.findChildren(QCheckBox)]
    for text, control in (*labels, *boxes):
        if control is None or is_put_away(control):
            continue
        title = _plain(text)
        tip = control.toolTip()
        yield Entry(
            f"setting:{title}",
            title,
            tr("Setting"),
            lambda control=control: show(control),
            f"{control.accessibleName()} {tip}",
            enabled=control.isEnabledTo(panel),
            reason="" if control.isEnabledTo(panel) else tip,
            icon=icon("panel", tokens),
        )


def is_put_away(control: QWidget) -> bool:
    """Return whether a control was hidden by itself, not together with its surroundings."""
    by_choice = control.testAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide)
    return by_choice and control.isHidden()


def question_entries(show: Callable[[str], object], tokens: Tokens) -> Iterator[Entry]:
    """Yield the questions of the manual; `show` gets the translated question."""
    for topic, questions in QUESTIONS.items():
        for number, each in enumerate(questions):
            asks = tr(each.asks)
            yield Entry(
                f"question:{topic}:{number}",
                asks,
                tr("Manual"),
                lambda asks=asks: show(asks),
                sentences(tr(topic), tr(each.answer)),
                icon=icon("help", tokens),
            )


def _plain(text: str) -> str:
    """Return a title without its mnemonic, and without the dots of a command that asks."""
    return without_mnemonic(text).rstrip(". \u2026")


def _native(keys: QKeySequence) -> str:
    return keys.toString(QKeySequence.SequenceFormat.NativeText)
