"""The files of translations: a folder per language, with a JSON file per part of the program."""

from __future__ import annotations

import json
from pathlib import Path

from utils.translation.languages import LANGUAGES, SOURCE

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "translations"

Translation = str | dict[str, str]  # of a text; for a text with a number, by plural form


def read(language: str, folder: Path = FOLDER) -> dict[str, Translation]:
    """Return a language's texts by their English ones; missing ones are empty, English has none."""
    texts: dict[str, Translation] = {}
    for path in sorted((folder / language).glob("*.json")):
        texts.update(json.loads(path.read_text("utf-8")))
    return texts


def is_complete(translation: Translation) -> bool:
    return bool(translation) and (isinstance(translation, str) or all(translation.values()))


def share(language: str, folder: Path = FOLDER) -> float:
    """Return the translated share of a language, 0 to 1."""
    texts = read(language, folder)
    if language == SOURCE or not texts:
        return float(language == SOURCE)
    return sum(map(is_complete, texts.values())) / len(texts)


def available() -> list[str]:
    return [key for key, language in LANGUAGES.items() if language.offered]
