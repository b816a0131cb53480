"""Moves filters to a workgroup's memory: when they are needed, or one step ahead."""

from __future__ import annotations

from typing import NamedTuple

from kernels.network.webgpu.wgsl import lines, unrolled


class Staging(NamedTuple):
    """Code for the steps of a workgroup.

    Attributes:
        begin: Before the first step, where `next` is the step's first filter.
        store: In a step, between two barriers.
        fetch: After the second barrier, where `next` is the next step's first filter.
    """

    begin: str
    store: str
    fetch: str


def staging(
    filters: int, threads: int, total: int, *, ahead: bool, vector: str = "vec4<f32>"
) -> Staging:
    """Return the code that fills `taps` from the buffer `filters`, both of vectors.

    Args:
        filters: Vectors of a step.
        total: Vectors of the buffer.
        ahead: Whether threads load the next step's filters into registers while they multiply.
        vector: The type of `taps`.
    """
    if not ahead:
        store = unrolled(filters, threads, f"taps[i] = {vector}(filters[next + i]);")
        return Staging("", store, "")
    starts = range(0, filters, threads)
    # Behind the last step, the threads load a filter that nobody uses.
    places = {start: f"min(next + thread + {start}u, {total - 1}u)" for start in starts}
    return Staging(
        lines(f"  var ahead{start} = filters[{place}];" for start, place in places.items()),
        lines(_stored(start, start + threads <= filters, filters, vector) for start in starts),
        lines(f"      ahead{start} = filters[{place}];" for start, place in places.items()),
    )


def _stored(start: int, whole: bool, filters: int, vector: str) -> str:
    store = f"taps[thread + {start}u] = {vector}(ahead{start});"
    return f"      {store}" if whole else f"      if (thread + {start}u < {filters}u) {{ {store} }}"
