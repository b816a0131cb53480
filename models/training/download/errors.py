"""The errors of a download in parts."""

from __future__ import annotations

from models.training.errors import TrainingError
from utils.translation.texts import tr


class LayoutError(ValueError):
    """Raised if a file on the server lacks the layout of `torch.save`; the message is a clause."""


class NoRangesError(OSError):
    """Raised if a server sends no ranges of a file, or does not identify its version."""


class WholeFileNeededError(TrainingError):
    """Raised if VGG-19's first layers can be downloaded only with the whole file.

    `reason` and `advice` are clauses of the message.
    """

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(
            tr(
                "VGG-19's first layers cannot be downloaded alone: {reason}; {advice}",
                reason=reason,
                advice=advice,
            )
        )
        self.reason = reason
