"""Texts in the chosen language, or in English if it lacks them."""

from __future__ import annotations

import json
import pickle

import pytest

from app.errors import ADVICE, Problem
from utils.translation import files, texts
from utils.translation.languages import LANGUAGES
from utils.translation.texts import Filled, tr, trn


@pytest.fixture
def speak(tmp_path, monkeypatch):
    """Yield a function that selects a language with the given texts."""

    def use(language: str, **translations: object) -> None:
        folder = tmp_path / language
        folder.mkdir()
        (folder / "one.json").write_text(json.dumps(translations), "utf-8")
        monkeypatch.setattr(texts, "read", lambda key: files.read(key, tmp_path))
        texts.use(language)

    yield use
    monkeypatch.undo()
    texts.use("en")


def test_a_text_is_english_until_a_language_is_chosen():
    assert tr("Open {name}", name="waves") == "Open waves"


def test_placeholders_may_change_their_order(speak):
    speak("de", **{"{a} of {b}": "von {b} {a}"})
    assert tr("{a} of {b}", a=1, b=2) == "von 2 1"


def test_a_text_keeps_its_english_template_and_its_fields(speak):
    speak("de", **{"{file} is {error}": "{file} ist {error}"})
    text = tr("{file} is {error}", file="a.png", error=ValueError("torn"))
    assert text == "a.png ist torn"
    for kept in (text, pickle.loads(pickle.dumps(text))):
        assert isinstance(kept, Filled)
        assert kept.template == "{file} is {error}"
        assert kept.values == {"file": "a.png", "error": "torn"}
    many = trn("{n} picture", "{n} pictures", 2)
    assert (many.template, many.values) == ("{n} pictures", {"n": "2"})


def test_what_is_not_translated_yet_stays_english(speak):
    speak("de", Open="")
    assert tr("Open") == "Open"
    assert tr("Close") == "Close"


def test_one_text_with_two_meanings_has_two_translations(speak):
    speak("de", **{"none": "keine", "sound|none": "keiner"})
    assert (tr("none"), tr("none", "sound")) == ("keine", "keiner")


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("de", {0: "0 Bilder", 1: "1 Bild", 2: "2 Bilder"}),
        ("fr", {0: "0 Bild", 1: "1 Bild", 2: "2 Bilder"}),
        ("ja", {0: "0 Bilder", 1: "1 Bilder", 2: "2 Bilder"}),
    ],
)
def test_a_number_has_the_form_that_its_language_gives_it(speak, language, said):
    forms = {"one": "{n} Bild", "other": "{n} Bilder"}
    spoken = {form: forms[form] for form in LANGUAGES[language].forms}
    speak(language, **{"{n} pictures": spoken})
    assert {n: trn("{n} picture", "{n} pictures", n) for n in said} == said


def test_a_number_without_a_translation_has_the_english_form(speak):
    assert trn("{n} picture", "{n} pictures", 1) == "1 picture"
    speak("ja", **{"{n} pictures": {"other": ""}})
    assert trn("{n} picture", "{n} pictures", 1) == "1 picture"
    assert trn("{n} picture", "{n} pictures", 1200, n="1,200") == "1,200 pictures"


def test_an_error_says_in_the_language_what_failed_and_what_to_do(speak):
    advice = ADVICE["FileNotFoundError"]
    said = {"Could not open it": "Es war nicht zu öffnen", advice: "Den Namen prüfen."}
    speak("de", **said)
    problem = Problem.of(FileNotFoundError("waves.png"), failure="Could not open it")
    assert problem.summary == "Es war nicht zu öffnen: waves.png"
    assert problem.advice == "Den Namen prüfen."


def test_every_language_has_a_form_for_every_number():
    for language in LANGUAGES.values():
        assert {language.form(n) for n in range(200)} == set(language.forms)


def test_a_share_counts_what_is_translated_in_all_forms(tmp_path):
    (tmp_path / "de").mkdir()
    said = {"a": "A", "b": "", "c": {"one": "C", "other": ""}, "d": {"one": "D", "other": "D"}}
    (tmp_path / "de" / "all.json").write_text(json.dumps(said), "utf-8")
    assert files.share("de", tmp_path) == 0.5
    assert files.share("en", tmp_path) == 1
    assert files.share("ja", tmp_path) == 0


def test_a_text_that_is_deferred_is_english_until_it_is_said():
    made = texts.defer("{several} and {last}", several="a", last="b")
    assert made == "a and b"
    texts.use("de")
    assert texts.said(made) == "a und b"
    assert texts.said("a and b") == "a and b"
    texts.use("en")
