"""The file with the user's saved looks: written as a whole, checked when it is read."""

from __future__ import annotations

import base64
import json
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.looks.look import MAX_TEXT, Look, LookError, look_from
from app.settings import settings_path
from utils.files import small_json
from utils.files.atomic import atomic_write
from utils.files.regular import read_regular
from utils.text import printable
from utils.translation.texts import tr, trn

MAX_BYTES = 16 << 20  # of the file; a look with its picture takes some 10 KB
MAX_NAME = 60  # characters of a look's name
NAME = "looks.json"
DAMAGED = "looks-damaged.json"  # a copy of an unreadable file


@dataclass(frozen=True, slots=True)
class NamedLook:
    """A look under a name.

    Attributes:
        name: One line, up to MAX_NAME characters.
        picture: A small painting with it, as JPEG; empty for none.
    """

    name: str
    look: Look
    picture: bytes = b""


class LookFile:
    """The file of looks, for any thread; `path` is by default next to the settings."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or settings_path().with_name(NAME)
        self._lock = threading.Lock()
        self._written = 0

    def read(self) -> tuple[list[NamedLook], str]:
        """Return the readable looks, and one sentence about the rest; "" if all are readable.

        A damaged file is copied, since the next change overwrites it.
        """
        try:
            text = read_regular(self.path, MAX_BYTES)
        except FileNotFoundError:
            return [], ""
        except OSError as exc:
            fault = exc.strerror or exc
            said = tr(
                "The saved looks in {path} cannot be read: {error}", path=self.path, error=fault
            )
            return [], said
        try:
            stored = small_json.loads_parts(text)
        except small_json.SmallJsonError as exc:
            return [], self._damaged(str(exc))
        entries = stored.get("looks") if isinstance(stored, dict) else None
        if not isinstance(entries, list):
            return [], self._damaged(tr("it has no list of looks"))
        looks: list[NamedLook] = []
        faults: list[str] = []
        for number, entry in enumerate(entries, 1):
            try:
                looks.append(_named(entry))
            except LookError as exc:
                faults.append(tr("look {number}: {fault}", number=number, fault=exc))
        if not faults:
            return looks, ""
        said, more = faults[0], len(faults) - 1
        if more:
            said = trn("{fault}, and {n} more", "{fault}, and {n} more", more, fault=said)
        return looks, self._damaged(said)

    def write(self, number: int, looks: Sequence[NamedLook]) -> None:
        """Write all looks, unless newer ones, by the `number` of changes, are already written.

        Raises:
            OSError: If the file cannot be written; it is left unchanged.
        """
        stored = [
            {
                "name": each.name,
                **each.look.stored(),
                "picture": base64.b64encode(each.picture).decode(),
            }
            for each in looks
        ]
        data = json.dumps({"looks": stored}, indent=2).encode()
        with self._lock:
            if number > self._written:
                atomic_write(self.path, data)
                self._written = number

    def _damaged(self, fault: str) -> str:
        try:
            shutil.copyfile(self.path, self.path.with_name(DAMAGED))
        except OSError:
            return tr(
                "Not all saved looks in {path} can be read ({fault}); "
                "StyleForge could not keep a copy",
                path=self.path,
                fault=fault,
            )
        return tr(
            "Not all saved looks in {path} can be read ({fault}); StyleForge kept a copy as {name}",
            path=self.path,
            fault=fault,
            name=DAMAGED,
        )


def look_name(text: str) -> str:
    """Return the user's text as a name in one line; "" for an empty name."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MAX_NAME].strip()


def _named(entry: object) -> NamedLook:
    look = look_from(entry)
    assert isinstance(entry, dict)  # `look_from` has checked this
    name, picture = entry.get("name"), entry.get("picture", "")
    if not isinstance(name, str) or not look_name(name):
        shown = printable(repr(name), MAX_TEXT)
        raise LookError(tr("its name is {value}, not a text", value=shown))
    try:
        data = base64.b64decode(picture, validate=True)
    except (TypeError, ValueError):
        raise LookError(tr("its picture is damaged")) from None
    return NamedLook(look_name(name), look, data)
