"""The limits of a device for one family of networks, as lists and remarks show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch

from app.engine.painting_devices import painting_device
from kernels.table.registry import STYLE, KernelStatus, statuses
from models.families.table import FAMILIES
from models.precision import Precision
from models.webgpu_devices import is_webgpu


class DeviceLimits(NamedTuple):
    """The limits of a device for one family of networks.

    Attributes:
        remarks: A sentence next to a precision; "" for none.
        refusals: Why a precision is not offered; "" if it is.
        absences: Why a precision cannot run, not even slowly; "" if it can.
        fast: The fastest precision in which the device computes well.
    """

    family: str
    remarks: Mapping[Precision, str]
    refusals: Mapping[Precision, str]
    absences: Mapping[Precision, str]
    statuses: tuple[KernelStatus, ...]
    fast: Precision


UNKNOWN = DeviceLimits("", {}, {}, {}, (), Precision.fp32)


def limits_of(device: str, family_key: str) -> DeviceLimits:
    """Return the limits of `device`; this may wake a GPU and measures BF16 on a CPU."""
    family, where = FAMILIES[family_key], _device_or_automatic(device)
    half = where.type != "cpu" and not Precision.fp16.remark(where)
    return DeviceLimits(
        family.key,
        {each: each.remark(where) or each.cost for each in Precision},
        {each: family.refusal("fused", each, where) for each in Precision},
        {each: family.absence("fused", each, where) for each in Precision},
        () if is_webgpu(where) else statuses(where, STYLE),
        Precision.fp16 if half else Precision.fp32,
    )


def _device_or_automatic(key: str) -> torch.device:
    """Return a device, or the automatic one for a key that the engine rejects."""
    try:
        return painting_device(key)
    except ValueError:
        return painting_device("auto")
