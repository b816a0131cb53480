"""The error of training, and the check of a value that raises it."""

from __future__ import annotations

from utils.translation.texts import tr


class TrainingError(RuntimeError):
    """Training cannot start or continue; the message is one sentence that says why."""


def require(valid: bool, name: str, value: object, expected: str) -> None:
    """Raise a TrainingError that names a value unless it is valid.

    Args:
        valid: Whether it is.
        name: What it is called.
        value: What it is.
        expected: What it should be, in the chosen language.
    """
    if not valid:
        raise TrainingError(
            tr(
                "{name} should be {expected}, not {value}",
                name=name,
                expected=expected,
                value=value,
            )
        )
