"""The token that grants access, since other users of the machine reach loopback too."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path

from app.errors import StyleForgeError
from utils.files.regular import read_regular
from utils.text import printable

BYTES = 32  # of a new token
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32,512}")
_MAX_BYTES = 1024  # of the file
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class TokenError(StyleForgeError):
    """Raised if the token file cannot be used."""


def new_token() -> str:
    return secrets.token_urlsafe(BYTES)


def token_of(path: Path) -> str:
    """Read the token from its file, or create it with a new one.

    Raises:
        TokenError: If the file cannot be read or written, has no token, or is readable by others.
    """
    shown = printable(str(path))
    try:
        if not path.exists():
            _write(path, new_token())
        others = os.name != "nt" and path.stat().st_mode & _OTHERS
        token = read_regular(path, _MAX_BYTES).decode("ascii", "replace").strip()
    except OSError as exc:
        raise TokenError(f"the token file '{shown}' cannot be used: {exc.strerror or exc}") from exc
    if others:
        raise TokenError(
            f"the token file '{shown}' can be read by other users; chmod 600 makes it private"
        )
    if not _TOKEN.fullmatch(token):
        raise TokenError(
            f"'{shown}' contains no token of 32 or more letters, digits, - and _; delete the "
            "file, and the server creates a new token"
        )
    return token


def is_allowed(authorization: str | None, token: str) -> bool:
    """Return whether an Authorization header has the token; any wrong token takes equally long."""
    scheme, _, given = (authorization or "").partition(" ")
    right = secrets.compare_digest(given.strip().encode(), token.encode())
    return right and scheme.lower() == "bearer"


def _write(path: Path, token: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{token}\n")
