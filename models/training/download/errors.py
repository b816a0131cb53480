"""The errors of a download in parts."""

from __future__ import annotations

from models.training.errors import TrainingError
from utils.translation.texts import tr


class LayoutError(ValueError):
    """A file on the server is not laid out as `torch.save` does; the message is a clause."""


class NoRangesError(OSError):
    """A server sends no ranges of a file, or does not say which version they are of."""


class WholeFileNeededError(TrainingError):
    """The layers alone cannot be downloaded; the whole file can.

    Attributes:
        reason: Why, to complete "VGG-19's first layers cannot be downloaded alone: ...".
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
