"""Finds the visible texts of the program and updates the files of translations to match them.

`python -m tools.translations` adds new texts to the files of every language, empty, removes texts
that no longer exist, and prints how many are translated; `missing LANGUAGE` lists the others.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from string import Formatter

from app.diagnostics.questions import QUESTIONS, TITLE
from app.errors import ADVICE, ASK_FOR_HELP, CORRECT, DISK_FULL, IN_WINDOW
from app.options import (
    CAMERA_FITS,
    CAMERA_FORMATS,
    PAINTED_BY_MASK,
    STROKE_DIRECTIONS,
)
from app.parameters import (
    CHOICES,
    PARAMETERS,
    AmountParameter,
    DirectionParameter,
    FractionParameter,
    Group,
)
from app.ui.actions import ACTIONS, GROUPS, SECTIONS, ActionEntry
from app.ui.queue.actions import GROUP, QUEUE_ACTIONS
from models import precision
from models.families.table import FAMILIES
from models.training import presets
from utils.files.signatures import KINDS
from utils.translation.files import FOLDER, Translation, is_complete
from utils.translation.languages import LANGUAGES, SOURCE
from utils.translation.texts import key_of

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("app", "kernels", "models", "utils")
FUNCTIONS = ("tr", "trn", "mark", "defer")
KEYWORDS = ("failure", "doing")  # arguments that are translated where they are shown
TEXTS = "utils.translation.texts"  # the module of the translation functions
SHARED = {"main_window": "ui"}  # packages whose texts are in the file of another part
Texts = dict[str, bool]  # the key of a text, and whether it has plural forms


def _of_actions(entries: Iterable[ActionEntry]) -> Iterator[str]:
    for entry in entries:
        yield from (entry.title, entry.tip, entry.short, entry.words)


def _of_parameters() -> Iterator[str]:
    yield from Group
    for row in PARAMETERS.values():
        yield from (row.label, row.title, row.tip)
        if isinstance(row, FractionParameter | AmountParameter):
            yield row.zero
        if isinstance(row, DirectionParameter):
            yield from (row.automatic.title, row.automatic.remark, row.angle, row.angle_title)


def _of_options() -> Iterator[str]:
    drawn = *CHOICES.values(), STROKE_DIRECTIONS, PAINTED_BY_MASK
    for table in (*drawn, CAMERA_FORMATS, CAMERA_FITS):
        for option in table.values():
            yield from (option.title, option.remark)


def _of_presets() -> Iterator[str]:
    for row in (*presets.PRESETS, *presets.STROKES):
        yield from (row.title, row.words)


def _of_families() -> Iterator[str]:
    for family in FAMILIES.values():
        yield from (family.one_of, family.kernels_remark, *family.unavailable.values())
        for reasons in family.unavailable_options.values():
            yield from reasons.values()


def _of_advice() -> Iterator[str]:
    """Yield the advice that the window shows."""
    for each in (*ADVICE.values(), DISK_FULL, CORRECT, ASK_FOR_HELP):
        yield IN_WINDOW.get(each, each)


def _of_questions() -> Iterator[str]:
    yield TITLE
    for topic, questions in QUESTIONS.items():
        yield topic
        for each in questions:
            yield from (each.asks, each.answer)


# Tables whose texts stay in English in the source, by the name of their file.
TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "actions": lambda: (*GROUPS, *SECTIONS, *_of_actions(ACTIONS)),
    "queue": lambda: (GROUP, *_of_actions(QUEUE_ACTIONS)),
    "parameters": _of_parameters,
    "options": _of_options,
    "advice": _of_advice,
    "questions": _of_questions,
    "kinds_of_files": lambda: KINDS,
    "families": _of_families,
    "precisions": precision.sentences,
    "presets": _of_presets,
}


def texts() -> dict[str, Texts]:
    """Return all texts by their file; each is in one file."""
    found: dict[str, Texts] = {}
    seen: set[str] = set()
    for area, table in TABLES.items():
        found[area] = {text: False for text in table() if _has_words(text) and text not in seen}
        seen.update(found[area])
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        if "commands" in path.parts:
            continue  # the window shows none of their texts
        source = path.read_text("utf-8")
        if path.is_relative_to(ROOT / "models") and f"{TEXTS} import" not in source:
            continue  # its `mark` is a different one
        area = found.setdefault(_area(path), {})
        for key, plural in texts_of(source):
            if key not in seen:
                area[key] = plural
                seen.add(key)
    return {area: keys for area, keys in found.items() if keys}


def texts_of(source: str) -> Iterator[tuple[str, bool]]:
    """Yield the key of each text that a module translates or passes as `failure` or `doing`.

    The second value tells whether the text has plural forms.
    """
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        name = function_of(call)
        literals = [a.value for a in call.args if isinstance(a, ast.Constant)]
        words = [word for word in literals if isinstance(word, str)]
        if name == "trn" and len(words) >= 2:
            yield words[1], True
        elif name in FUNCTIONS and words and isinstance(call.args[0], ast.Constant):
            yield key_of(*words[:2]), False
        for keyword in call.keywords:
            text = keyword.value.value if isinstance(keyword.value, ast.Constant) else ""
            if keyword.arg in KEYWORDS and text:
                yield str(text), False


def function_of(call: ast.Call) -> str:
    """Return the name of the function that is called; "" for a method."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def update(folder: Path = FOLDER) -> None:
    """Write the files of all languages: the texts of the program and the existing translations."""
    wanted = texts()
    for language in _languages():
        known = _read(folder / language)
        for path in (folder / language).glob("*.json"):
            if path.stem not in wanted:
                path.unlink()
        for area, keys in wanted.items():
            forms = dict.fromkeys(LANGUAGES[language].forms, "")
            filled: dict[str, Translation] = {
                key: known.get(key) or (forms if plural else "") for key, plural in keys.items()
            }
            path = folder / language / f"{area}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(filled, ensure_ascii=False, indent=1) + "\n", "utf-8")


def missing(language: str, folder: Path = FOLDER) -> list[str]:
    """Return the keys of the texts without a translation in this language."""
    known = _read(folder / language)
    return [key for keys in texts().values() for key in keys if not is_complete(known.get(key, ""))]


def faults(language: str, folder: Path = FOLDER) -> list[str]:
    """Return a sentence for every translation that does not match its text.

    Placeholders, mnemonics, the three dots of a command that opens a dialog, spaces at the ends and
    plural forms must be equal.
    """
    plural = {key: forms for keys in texts().values() for key, forms in keys.items()}
    found: list[str] = []
    for key, translation in _read(folder / language).items():
        if key not in plural:
            found.append(f"the text '{key}' no longer exists")
        elif plural[key] != isinstance(translation, dict):
            found.append(f"'{key}' and its translation must both have plural forms, or neither")
        elif isinstance(translation, dict) and set(translation) != set(LANGUAGES[language].forms):
            found.append(f"'{key}' has plural forms that the language does not use")
        else:
            said = translation.values() if isinstance(translation, dict) else [translation]
            found += [
                f"'{key}': '{each}' differs in {what}"
                for each in said
                if each
                for what, part in _PARTS.items()
                if part(key) != part(each)
            ]
    return found


def placeholders(text: str) -> list[str]:
    """Return the sorted names of the placeholders in a template."""
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)


_PARTS: dict[str, Callable[[str], object]] = {
    "placeholders": placeholders,
    "mnemonics": lambda text: text.replace("&&", "").count("&"),
    "dots": lambda text: text.rstrip().endswith("..."),
    "spaces": lambda text: (text[:1] == " ", text[-1:] == " "),
}


def _languages() -> list[str]:
    return [key for key in LANGUAGES if key != SOURCE]


def _read(folder: Path) -> dict[str, Translation]:
    known: dict[str, Translation] = {}
    for path in sorted(folder.glob("*.json")):
        known.update(json.loads(path.read_text("utf-8")))
    return known


def _area(path: Path) -> str:
    """Return the file for the texts of a module.

    It is the module's package in the window or in `app`, or its top-level folder outside `app`.
    """
    parts: tuple[str, ...] = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] != "app":
        return parts[0]
    if parts[1] == "ui" and len(parts) > 3:
        return SHARED.get(parts[2], parts[2])
    return parts[1] if len(parts) > 2 else "app"


def _has_words(text: str) -> bool:
    return any(letter.isalpha() for letter in text)


def main(arguments: list[str]) -> int:
    """Update the files, or list the missing translations of one language; return the exit code."""
    if arguments[:1] == ["missing"] and arguments[1:2] and arguments[1] in _languages():
        lacking = missing(arguments[1])
        sys.stdout.writelines(f"{key}\n" for key in lacking)
        return 0
    if arguments:
        known = "|".join(_languages())
        sys.stderr.write(f"usage: python -m tools.translations [missing {known}]\n")
        return 2
    update()
    count = sum(map(len, texts().values()))
    for language in _languages():
        sys.stdout.write(f"{language}: {count - len(missing(language))} of {count}\n")
        sys.stdout.writelines(f"  {fault}\n" for fault in faults(language))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
