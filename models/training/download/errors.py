"""The errors of a download in parts."""

from __future__ import annotations

from models.training.errors import TrainingError


class LayoutError(ValueError):
    """A file is not laid out as `torch.save` does; the message completes "the file ..."."""


class NoRangesError(OSError):
    """A server sends no ranges of a file, or does not say which version they are of."""


class WholeFileNeededError(TrainingError):
    """The layers alone cannot be downloaded; the whole file can.

    Attributes:
        reason: Why, to complete "VGG-19's first layers cannot be downloaded alone: ...".
    """

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"VGG-19's first layers cannot be downloaded alone: {reason}; {advice}")
        self.reason = reason
