"""Refuses to run what other users can change: they could have this one run anything."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from kernels.jit.errors import BuildError, Damaged
from utils.translation.texts import mark, tr

# What is said of the path itself, and of a folder above it.
_ANOTHER_OWNER = (
    mark("{path} is not loaded: it belongs to another user"),
    mark("{path} is not loaded: {folder} belongs to another user"),
)
_FOR_ALL = (
    mark("{path} is not loaded: every user can write to it"),
    mark("{path} is not loaded: every user can write to {folder}"),
)
_FOR_GROUP = (
    mark("{path} is not loaded: a group can write to it"),
    mark("{path} is not loaded: a group can write to {folder}"),
)


def refuse_writable_by_others(path: Path) -> None:
    """Check who can write to a file or folder, and to the folders above it.

    Trusted are this user, root, and whoever owns the program itself; a group is, where it is the
    user's own, as some systems give every user one. On Windows nothing is checked: its access
    lists keep other users out of a user's folders.

    Raises:
        BuildError: Others can write there; the message names what.
        Damaged: It is missing.
    """
    if sys.platform == "win32":
        return
    for part in (path, *path.resolve().parents):
        try:
            found = part.stat()
        except OSError as error:
            raise Damaged(
                tr("{path} cannot be read: {error}", path=part, error=error.strerror)
            ) from error
        if found.st_uid not in _trusted():
            raise BuildError(_refusal(_ANOTHER_OWNER, part, path))
        if found.st_mode & stat.S_ISVTX:
            continue  # in such a folder, users change only what is theirs
        if found.st_mode & stat.S_IWOTH:
            raise BuildError(_refusal(_FOR_ALL, part, path))
        if found.st_mode & stat.S_IWGRP and not _own_group(found.st_gid):
            raise BuildError(_refusal(_FOR_GROUP, part, path))


def _trusted() -> set[int]:
    return {0, os.getuid(), Path(__file__).stat().st_uid}


def _own_group(group: int) -> bool:
    """Whether the user is the group's only member, or it is root's."""
    import grp  # not on Windows
    import pwd

    if group == 0:
        return True
    try:
        name, _, _, members = grp.getgrgid(group)
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a number without a name
        return False
    return name == user and set(members) <= {user}


def _refusal(said: tuple[str, str], part: Path, path: Path) -> str:
    of_itself, of_folder = said
    return tr(of_itself if part == path else of_folder, path=path, folder=part)
