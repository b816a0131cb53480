"""Exceptions for native libraries that cannot be compiled or loaded; messages are the reasons."""

from __future__ import annotations


class BuildError(RuntimeError):
    """Raised if a native library cannot be compiled or loaded; the message is the reason."""


class CachedFailure(BuildError):
    """Raised for a reason that is valid until the build's key changes, and so is stored."""


class Unsupported(BuildError):
    """Raised if the machine cannot run the library, however it is built."""


class Damaged(BuildError):
    """Raised if a file of ours is missing, truncated or altered, so that it must be made again."""


class Exposed(BuildError):
    """Raised for a file that another user could have written, so that it must not be loaded."""
