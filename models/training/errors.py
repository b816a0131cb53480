"""The error of training."""

from __future__ import annotations


class TrainingError(RuntimeError):
    """Training cannot start or continue; the message is one sentence that says why."""
