"""Why a native library cannot be compiled or loaded, as exceptions whose message is the reason."""

from __future__ import annotations


class BuildError(RuntimeError):
    """A native library cannot be compiled or loaded; the message is the reason in words."""


class CachedFailure(BuildError):
    """A reason that holds until something in the build's key changes, so it is worth keeping."""


class Unsupported(BuildError):
    """A reason that no build changes: the machine cannot run the library, however it is made."""


class Damaged(BuildError):
    """A file of ours is missing, truncated or altered, so that it has to be made again."""


class Exposed(BuildError):
    """Raised for a file that another user could have written, so that it must not be loaded."""
