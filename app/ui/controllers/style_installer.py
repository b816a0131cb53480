"""Asks before a style is installed, grouped, renamed or removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from app.live.session import Session
from app.styles.pack import MAX_NAME_LENGTH, Style
from app.ui.widgets.prompt_bar import PromptBar
from utils.text import printable
from utils.translation.texts import tr


class StyleInstaller:
    """Asks through `questions`; `session` installs, renames and removes."""

    def __init__(self, session: Session, questions: PromptBar) -> None:
        self._session, self._questions = session, questions
        self._requests = 0  # counts calls of ask_install; only the newest asks

    def ask_install(self, path: Path) -> None:
        """Check the weights or pack at `path`, then ask for a title; faults become problems."""
        self._requests += 1
        number, name = self._requests, printable(path.name, MAX_NAME_LENGTH)

        def ask(title: str) -> None:
            if number == self._requests:
                self._questions.ask(
                    tr("Install '{name}' as a style?", name=name),
                    tr("&Install"),
                    lambda title: self._session.user_styles.install(path, title),
                    label=tr("&Title:"),
                    text=title,
                )

        catalog = self._session.catalog
        self._session.run(
            lambda: catalog.installable_title(path),
            ask,
            failure=tr("Could not install '{name}'", name=name),
        )

    def ask_group(
        self,
        style: Style,
        group: str,
        groups: Sequence[str],
        put: Callable[[str, str], None],
    ) -> None:
        """Ask for the group of a style.

        Args:
            group: Its current group; "" for none.
            put: Called with the key of the style and the new group.
        """
        self._questions.ask(
            tr(
                "Which group should '{title}' be in? Leave the name empty for none",
                title=style.title,
            ),
            tr("&Set"),
            lambda wanted: put(style.key, printable(wanted, MAX_NAME_LENGTH)),
            label=tr("&Group:"),
            text=group,
            choices=groups,
        )

    def ask_rename(self, style: Style) -> None:
        self._questions.ask(
            tr("Rename the style '{title}'?", title=style.title),
            tr("&Rename"),
            lambda title: self._session.user_styles.rename(style.key, title),
            label=tr("&Title:"),
            text=style.title,
        )

    def ask_remove(self, style: Style) -> None:
        self._questions.ask(
            tr("Remove the style '{title}' and its files?", title=style.title),
            tr("&Remove"),
            lambda _text: self._session.user_styles.remove(style.key),
        )
