"""Asks before a style is installed or removed."""

from __future__ import annotations

from pathlib import Path

from app.live.session import Session
from app.styles.library import NAME
from app.ui.widgets.prompt_bar import PromptBar
from utils.text import printable


class StyleInstaller:
    """Puts its questions to `questions`, and leaves the deed to `session`."""

    def __init__(self, session: Session, questions: PromptBar) -> None:
        self._session, self._questions = session, questions
        self._offered = 0  # counts calls of offer; only the newest asks

    def offer(self, path: Path) -> None:
        """Install the weights or the pack at `path`, under a title the user may change; first
        they are looked into, and what cannot be used becomes a problem instead of a question."""
        self._offered += 1
        number, name = self._offered, printable(path.name, NAME)

        def ask(title: str) -> None:
            if number == self._offered:
                self._questions.ask(
                    f"Install '{name}' as a style?",
                    "&Install",
                    lambda title: self._session.install_style(path, title),
                    label="&Title:",
                    text=title,
                )

        library = self._session.library
        self._session.run(lambda: library.look_into(path), ask, doing=f"install '{name}'")

    def ask_remove(self) -> None:
        """Remove the style that is chosen, unless it is built in."""
        style = next(
            (s for s in self._session.library.styles if s.key == self._session.config.style), None
        )
        if style is None:
            return
        if style.builtin:
            self._session.notice.emit(f"{style.title} is built in and cannot be removed")
            return
        self._questions.ask(
            f"Remove the style '{style.title}' and its files?",
            "&Remove",
            lambda _text: self._session.remove_style(style.key),
        )
