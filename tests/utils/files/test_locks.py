"""Two processes never work on one file at once."""

from __future__ import annotations

from tests.helpers.errors import refused
from utils.files.locks import LockedError, locked


def test_a_file_in_use_is_named(tmp_path):
    path = tmp_path / "film.mp4"
    with locked(path, 0):
        with refused(LockedError, file=str(path)), locked(path, 0):
            pass
        assert path.with_name(".film.mp4.lock").is_file()
    with locked(path, 0, keep=True):
        pass
    assert path.with_name(".film.mp4.lock").is_file()
