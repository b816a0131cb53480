"""Processes started by the window use its language; the terminal uses English."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QLocale

from app.processes.command_process import ROOT, CommandProcess
from app.processes.language import LANGUAGE, NUMBERS, adopt, told
from tests.helpers.errors import mentions
from utils.translation import numbers, texts
from utils.translation.languages import LANGUAGES
from utils.translation.numbers import number
from utils.translation.texts import tr

PATIENCE = 60_000  # ms; a process has to import PyTorch first
REFUSED = ("export", "sketch", "nothing.tflite")  # its error lists endings


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    yield
    texts.use("en")
    numbers.use(None)


def speak(language: str) -> None:
    """Choose a language as the window does."""
    locale = QLocale(language)
    texts.use(language)
    numbers.use(lambda value, decimals: locale.toString(value, "f", decimals))


@pytest.mark.full
def test_a_process_of_the_window_says_what_went_wrong_in_its_language(qtbot):
    speak("ja")
    process = CommandProcess()
    with qtbot.waitSignal(process.exited, timeout=PATIENCE) as ended:
        process.start(list(REFUSED))
    (how,) = ended.args
    assert how.outcome == "failed"
    assert how.reason.endswith(".onnx、.pt2、.xml"), "listed with the comma of Japanese"


@pytest.mark.full
def test_a_command_of_the_terminal_speaks_english_whatever_the_system_does():
    system = {**os.environ, "LANG": "ja_JP.UTF-8", "LANGUAGE": "ja"}
    assert not {LANGUAGE, NUMBERS} & set(system)
    line = [sys.executable, "-m", "app", *REFUSED]
    done = subprocess.run(line, cwd=ROOT, env=system, capture_output=True, text=True, check=False)
    assert mentions(done.stderr, "nothing.tflite", ".onnx, .pt2, .xml")


VALUES = ((1234.56, 1), (7, 0), (-1234.5, 2), (12_345.0, 0), (-9_876_543.21, 1))


def said() -> tuple[str, list[str]]:
    return tr("the address"), [number(value, decimals) for value, decimals in VALUES]


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_and_numbers_arrive_as_the_window_writes_them(language):
    speak(language)
    wanted, environment = said(), told()
    texts.use("en")
    numbers.use(None)
    adopt(environment)
    assert texts.chosen() == language
    assert said() == wanted


@pytest.mark.parametrize("language", ["", "xx", "../de", "EN"])
def test_a_language_that_is_not_known_is_ignored(language):
    adopt({LANGUAGE: language, NUMBERS: "1.234,5|1.234.567,8"})
    assert texts.chosen() == "en"
    assert number(1234.5, 1) == "1,234.5"


@pytest.mark.parametrize("examples", ["", "1.234,5", "1,234.5|12,34,567.8", "a|b"])
def test_numbers_whose_signs_are_not_understood_stay_english(examples):
    adopt({LANGUAGE: "de", NUMBERS: examples})
    assert tr("the address") == "die Adresse"
    assert number(1234.5, 1) == "1,234.5"
