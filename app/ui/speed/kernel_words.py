"""The line below the list of engines: the state of the chosen kernels in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels.table.registry import KernelStatus
from models.families.table import FAMILIES
from utils.text import capitalized
from utils.translation.joints import enumerated, labeled
from utils.translation.texts import tr

MAX_NAMED_KERNELS = 2  # more missing kernels are listed as a count


def kernel_words(
    kernels: str, family: str, runtimes: Mapping[str, str], found: Sequence[KernelStatus]
) -> str:
    """Return the state of `kernels`, a key of ALL_VARIANTS, for a family of networks.

    Args:
        runtimes: The devices of the runtimes that were found.
        found: The states of our own kernels on the chosen device.
    """
    if kernels == "baseline":
        return tr("Plain PyTorch, for comparison")
    if runtime := FAMILIES[family].variant(kernels).runtime:
        return runtimes.get(runtime.key, "")
    if remark := FAMILIES[family].kernels_remark:
        return capitalized(tr(remark))
    return _native_words(found)


def _native_words(found: Sequence[KernelStatus]) -> str:
    missing: dict[str, list[str]] = {}
    for status in found:
        if not (status.ready or status.by_choice):
            missing.setdefault(status.reason, []).append(status.name)
    if not missing:
        if chosen := sum(status.by_choice for status in found):
            return tr(
                "Native kernels: ready; {n} operations run on PyTorch, which is faster",
                n=chosen,
            )
        return tr("Native kernels: ready") if found else ""
    if len(missing) == 1 and not any(status.ready for status in found):
        return tr("Native kernels: {reason}", reason=next(iter(missing)))
    return "\n".join(labeled(_named(names), reason) for reason, names in missing.items())


def _named(names: list[str]) -> str:
    few = len(names) <= MAX_NAMED_KERNELS
    return enumerated(names) if few else tr("{n} kernels", n=len(names))
