"""An ordered map over several threads that works a few values ahead."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# For converting frames; more threads would only take cores from the decoder and the encoder.
THREADS = min(4, max(1, (os.cpu_count() or 1) // 2))


def mapped_ahead(function: Callable[[T], R], values: Iterable[T], name: str) -> Generator[R]:
    """Apply a function on several threads; yield the results in the order of the values.

    Args:
        values: Consumed on the caller's thread, at most as many ahead as there are threads.
    """
    with ThreadPoolExecutor(THREADS, thread_name_prefix=name) as pool:
        coming: deque[Future[R]] = deque()
        for value in values:
            coming.append(pool.submit(function, value))
            if len(coming) > THREADS:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
