"""The files of translations: a folder per language, with a JSON file per part of the program."""

from __future__ import annotations

import json
from pathlib import Path

from utils.translation.languages import LANGUAGES, SOURCE

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "translations"

Translation = str | dict[str, str]  # of a text; for a text with a number, by plural form


def read(language: str, folder: Path = FOLDER) -> dict[str, Translation]:
    """Return all texts of a language by their English ones; missing translations are empty.

    Args:
        language: A key of LANGUAGES. The source language has no files.
    """
    texts: dict[str, Translation] = {}
    for path in sorted((folder / language).glob("*.json")):
        texts.update(json.loads(path.read_text("utf-8")))
    return texts


def is_complete(translation: Translation) -> bool:
    """Return whether a text is translated, in all its forms."""
    return bool(translation) and (isinstance(translation, str) or all(translation.values()))


def share(language: str, folder: Path = FOLDER) -> float:
    """Return the translated share of a language, 0 to 1."""
    texts = read(language, folder)
    if language == SOURCE or not texts:
        return float(language == SOURCE)
    return sum(map(is_complete, texts.values())) / len(texts)


def available() -> list[str]:
    """Return the languages on offer, in the order of the table."""
    return [key for key, language in LANGUAGES.items() if language.offered]
