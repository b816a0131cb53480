"""Applies a function to values on several threads, a few ahead, with the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# For converting frames; more would only take cores from decoder and encoder.
THREADS = min(4, max(1, (os.cpu_count() or 1) // 2))


def mapped_ahead(function: Callable[[T], R], values: Iterable[T], name: str) -> Generator[R]:
    """Apply a function to values.

    Args:
        function: Called on threads of their own, for several values at once.
        values: Taken on the caller's thread, no further ahead than there are threads.
        name: Of the threads.

    Yields:
        The results, in the order of the values.
    """
    with ThreadPoolExecutor(THREADS, thread_name_prefix=name) as pool:
        coming: deque[Future[R]] = deque()
        for value in values:
            coming.append(pool.submit(function, value))
            if len(coming) > THREADS:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
