"""A photograph for the metrics."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.evaluation.image_metrics import to_tensor
from tests.conftest import picture

CPU = torch.device("cpu")


@pytest.fixture
def photograph() -> Tensor:
    return to_tensor(picture(96, 72), CPU)
