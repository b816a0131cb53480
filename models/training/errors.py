"""The error of training, and the check of a value that raises it."""

from __future__ import annotations

from utils.translation.texts import tr


class TrainingError(RuntimeError):
    """Raised if training cannot start or continue; the message is one sentence with the reason."""


def require(valid: bool, name: str, value: object, expected: str) -> None:
    """Raise TrainingError unless valid; `expected` is the range, in the chosen language."""
    if not valid:
        raise TrainingError(
            tr(
                "{name} should be {expected}, not {value}",
                name=name,
                expected=expected,
                value=value,
            )
        )
