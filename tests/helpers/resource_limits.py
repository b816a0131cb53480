"""Limits a resource of this process and its child processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def resource_limit(name: str, most: int) -> Iterator[None]:
    """Lower a soft limit, such as "RLIMIT_NOFILE", to `most` during the block.

    The test is skipped if the system has no such limits.
    """
    resource = pytest.importorskip("resource")
    limit = getattr(resource, name)
    before = resource.getrlimit(limit)
    resource.setrlimit(limit, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(limit, before)
