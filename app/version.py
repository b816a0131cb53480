"""The version of the running program."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def styleforge_version() -> str:
    """Return the version of the installed package, or "0.0.0" if it is not installed."""
    try:
        return version("styleforge")
    except PackageNotFoundError:
        return "0.0.0"
