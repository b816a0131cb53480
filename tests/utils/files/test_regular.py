"""A special file or an oversized one is refused before it is read."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from utils.files.regular import open_regular, read_regular

MAPS = Path("/proc/self/maps")


def test_a_file_that_is_too_large_is_refused_when_it_is_opened(tmp_path):
    path = tmp_path / "eleven"
    path.write_bytes(bytes(11))
    with pytest.raises(OSError, match="larger than") as caught:
        open_regular(path, 10)
    assert caught.value.errno == errno.EFBIG
    with open_regular(path, 11) as file:
        assert file.read() == bytes(11)


@pytest.mark.skipif(not MAPS.exists(), reason="the system has no /proc")
def test_a_file_that_is_longer_than_its_size_is_refused():
    assert MAPS.stat().st_size == 0
    with pytest.raises(OSError, match="larger than"):
        read_regular(MAPS, 100)
