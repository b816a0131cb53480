"""The terms of the training objective by name, as tensors or as numbers."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

Value = TypeVar("Value", Tensor, float)


class ObjectiveTerms(NamedTuple, Generic[Value]):
    """The objective of one batch, and its terms before weighting; `tv` is the total variation."""

    total: Value
    content: Value
    style: Value
    tv: Value


def read_terms(terms: ObjectiveTerms[Tensor]) -> ObjectiveTerms[float]:
    """Copy the terms to the host, in one transfer. Waits for the device."""
    return ObjectiveTerms(*floats(torch.stack(terms)))


def floats(values: Tensor) -> list[float]:
    """Return the elements of a one-dimensional tensor as floats. Waits for the device."""
    # PyTorch: annotated as a bare `list`.
    return values.tolist()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
