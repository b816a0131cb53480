"""Writes docs/how-to/questions.md from the table of questions: `python -m tools.questions_page`."""

from __future__ import annotations

import textwrap
from pathlib import Path

from app.diagnostics.questions import TITLE, as_markdown

PAGE = Path(__file__).resolve().parent.parent / "docs" / "how-to" / "questions.md"
WIDTH = 100  # characters of a line
INTRODUCTION = (
    "The window shows the same with Shift+F1. `app/diagnostics/questions.py` is the source of both "
    "and `python -m tools.questions_page` writes this page."
)


def page() -> str:
    """Return the text of the page."""
    paragraphs = [f"# {TITLE}", INTRODUCTION, *as_markdown().strip().split("\n\n")]
    wrapped = [
        textwrap.fill(each, WIDTH, break_long_words=False, break_on_hyphens=False)
        for each in paragraphs
    ]
    return "\n\n".join(wrapped) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
