"""The page of questions and the window's help come from one table."""

from __future__ import annotations

import re

import pytest

from app.cli import COMMANDS
from app.diagnostics.questions import QUESTIONS
from app.ui.actions import ACTIONS
from tools.questions_page import PAGE, page

ALL = [question for questions in QUESTIONS.values() for question in questions]
SEQUENCE = re.compile(r"\b(?:(?:Ctrl|Shift)\+)+(?:F\d+|Up|[A-Z])\b|\bF\d+\b")


def test_the_page_is_written_from_the_table():
    assert PAGE.read_text("utf-8") == page(), "run `python -m tools.questions_page`"


@pytest.mark.parametrize("question", ALL, ids=lambda each: each.asks)
def test_an_answer_is_short_and_names_keys_and_commands_that_exist(question):
    assert question.asks.endswith(("?", "."))
    assert question.answer.endswith(".")
    assert len(question.answer) < 400
    keys = {key for entry in ACTIONS for key in entry.keys}
    assert set(SEQUENCE.findall(question.answer)) <= keys
    named = re.findall(r"`styleforge (\w[\w-]*)", question.answer)
    assert set(named) <= set(COMMANDS)


def test_no_question_is_asked_twice():
    assert len({question.asks for question in ALL}) == len(ALL) > 20
