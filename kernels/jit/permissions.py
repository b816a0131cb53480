"""Refuses files that other users can change, because they could make this user run anything."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from kernels.jit.errors import Damaged, Exposed
from utils.translation.texts import mark, tr

# Messages for the path itself, and for a folder above it.
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
    """Raise Exposed, naming the place, if others can write to a path or to the folders above it.

    It trusts this user, root, the owner of the program, and a group that is the user's own, as some
    systems give one to every user. On Windows it checks nothing: access lists keep other users out
    of a user's folders.

    Each link's owner and the folders above it count too.

    Raises:
        Damaged: If the path is missing.
    """
    if sys.platform == "win32":
        return
    try:
        parts = [(part, part.lstat()) for part in _way(path)]
    except OSError as error:
        raise Damaged(
            tr("{path} cannot be read: {error}", path=path, error=error.strerror)
        ) from error
    for part, found in parts:
        if found.st_uid not in _trusted():
            raise Exposed(_refusal(_ANOTHER_OWNER, part, path))
        if stat.S_ISLNK(found.st_mode):
            continue  # its mode means nothing
        if found.st_mode & stat.S_ISVTX:
            continue  # in such a folder, users can change only their own files
        if found.st_mode & stat.S_IWOTH:
            raise Exposed(_refusal(_FOR_ALL, part, path))
        if found.st_mode & stat.S_IWGRP and not _own_group(found.st_gid):
            raise Exposed(_refusal(_FOR_GROUP, part, path))


def _way(path: Path) -> list[Path]:
    """Return a path and the folders above it, and the same for the target of each link among them.

    Raises:
        OSError: If the path does not exist or a link is broken.
    """
    os.path.realpath(path, strict=True)
    way: list[Path] = []
    inside = [path.absolute()]
    while inside:
        part = inside.pop()
        if part in way:
            continue
        way.append(part)
        if part.parent != part:
            inside.append(part.parent)
        if part.is_symlink():
            inside.append(part.parent.resolve() / part.readlink())
    return way


def _trusted() -> set[int]:
    return {0, os.getuid(), Path(__file__).stat().st_uid}


def _own_group(group: int) -> bool:
    """Return whether the user is the group's only member, or it is root's group."""
    import grp  # not on Windows
    import pwd

    if group == 0:
        return True
    try:
        name, _, _, members = grp.getgrgid(group)
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a group or user without a name
        return False
    return name == user and set(members) <= {user}


def _refusal(said: tuple[str, str], part: Path, path: Path) -> str:
    of_itself, of_folder = said
    return tr(of_itself if part == path.absolute() else of_folder, path=path, folder=part)
