"""Handwritten lists are read without blank lines and comments, or refused in one sentence."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from utils.files.lists import read_list_file


def test_blank_lines_and_comments_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a.jpg\n\n  # not this one\n b/c.jpg \n", "utf-8")
    assert read_list_file(tmp_path / "list.txt") == ["a.jpg", "b/c.jpg"]


def test_what_cannot_be_read_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "two\nlines").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=re.escape(r"two\nlines' cannot be read: it is not text")):
        read_list_file(tmp_path / "two\nlines")
    with pytest.raises(ValueError, match=r"gone' .*No such file"):
        read_list_file(tmp_path / "gone")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="a pipe"):
        read_list_file(tmp_path / "pipe")
