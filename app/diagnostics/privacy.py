"""Removal of private data from text: the user's home and name, file names, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePath

HOME, USER, NAME, PATH, ADDRESS = "~", "user", "<name>", "<path>", "<address>"
SHORTEST_NAME = 2  # characters; a file named "a" is not private, and "a" is part of many words

_CODE_LINE = re.compile(r'^\s*File ".*", line \d+')  # a line of a traceback
# From the first to the last mark of a line, because a name may contain one.
_QUOTED = re.compile(r"(?<!\w)'.*'|\".*\"")
_ADDRESS = re.compile(r"\w+://\S+|\b\d{1,3}(\.\d{1,3}){3}\b\S*")
_PATH = re.compile(r"(?<![\w<.])(?:~|[A-Za-z]:)?[/\\][^\s/\\]+[/\\]\S+")
_NO_WORD_BEFORE, _NO_WORD_AFTER = r"(?<![^\W_])", r"(?![^\W_])"


def without_home(text: str) -> str:
    """Return `text` with "~" for the home folder, and "user" for its name in other paths."""
    home = Path.home()
    if not home.name:
        return text  # the root of the file system is not private
    for folder in {str(home), home.as_posix()}:
        text = re.sub(rf"{re.escape(folder)}{_NO_WORD_AFTER}", HOME, text)
    return re.sub(rf"(?<=[/\\]){re.escape(home.name)}(?=[/\\\s'\"]|$)", USER, text)


def without_names(text: str, names: Iterable[str] = ()) -> str:
    """Return one line without names of the user's files, folders or addresses.

    Lines of code in a traceback keep their location, because the program's files are not private.

    Args:
        names: Known private names and paths, each of one or several lines. They are removed
            everywhere; unknown names only in quotation marks or as a path.
    """
    text = without_home(text)
    for name in sorted({part for each in names for part in _parts(each)}, key=len, reverse=True):
        text = re.sub(f"{_NO_WORD_BEFORE}{re.escape(name)}{_NO_WORD_AFTER}", NAME, text)
    if _CODE_LINE.match(text):
        return text
    return _PATH.sub(PATH, _ADDRESS.sub(ADDRESS, _QUOTED.sub(NAME, text)))


def _parts(name: str) -> set[str]:
    """Return the path, its file name, and the file name without its ending."""
    found: set[str] = set()
    for line in name.splitlines():
        path = PurePath(without_home(line))
        found |= {str(path), path.name, path.stem}
    return {part for part in found if len(part) >= SHORTEST_NAME}
