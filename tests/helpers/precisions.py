"""The precisions that the CPU offers, as tests choose: no result depends on a machine's speed."""

from __future__ import annotations

import pytest
import torch

from models.families import bf16_gain
from models.families.table import FAMILIES
from models.precision import Precision


def set_bf16_gains(monkeypatch: pytest.MonkeyPatch, usual: float, **others: float) -> None:
    """Set the measured gain of every family; `others` are gains by family, with "_" for "-"."""
    gains = dict.fromkeys(FAMILIES, usual)
    gains |= {family.replace("_", "-"): gain for family, gain in others.items()}
    measured = {(family, ours): gains[family] for family in gains for ours in (False, True)}
    monkeypatch.setattr(bf16_gain, "_gains", measured)


def offer_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make BF16 count as faster than FP32 on this CPU, whatever it is."""
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    set_bf16_gains(monkeypatch, 2.0)


def offer_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer every precision on the CPU, which then stands in for a GPU."""
    for name in ("refusal", "absence"):
        monkeypatch.setattr(Precision, name, lambda *_: "")
    set_bf16_gains(monkeypatch, 2.0)
