"""What goes wrong in training, as one sentence."""

from __future__ import annotations


class TrainingError(RuntimeError):
    """Training cannot start or go on; the message names the thing and its fault."""
