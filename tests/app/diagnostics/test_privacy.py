"""Text that leaves the machine names neither the user nor their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.diagnostics.privacy import without_home, without_names


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/people/anna"))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("in /people/anna/Pictures", "in ~/Pictures"),
        ("in /people/anna", "in ~"),
        ("in /people/annabel/x", "in /people/annabel/x"),
        ("/media/anna/disk", "/media/user/disk"),
        (r"D:\disk\anna\AppData", r"D:\disk\user\AppData"),
        ("a banana, said anna", "a banana, said anna"),
    ],
)
def test_the_home_folder_is_a_tilde_and_its_name_no_part_of_a_path(text, kept):
    assert without_home(text) == kept


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("Could not open 'wedding.jpg': it is damaged", "Could not open <name>: it is damaged"),
        ("'it's mine.jpg' is no picture", "<name> is no picture"),
        ('style "Aunt May" is missing', "style <name> is missing"),
        ("no answer from rtsp://me:secret@camera/live in 5 s", "no answer from <address> in 5 s"),
        ("10.0.0.7:8099/stream refused", "<address> refused"),
        ("wrote /media/disk/trip/1.png", "wrote <path>"),
        ("wrote /people/anna/trip/1.png", "wrote <path>"),
        (r"wrote D:\trip\1.png", "wrote <path>"),
        ("the input/output error, 30 fps", "the input/output error, 30 fps"),
    ],
)
def test_names_in_quotation_marks_paths_and_addresses_are_removed(line, kept):
    assert without_names(line) == kept


def test_lines_of_code_keep_their_place():
    line = '  File "/opt/styleforge/app/cli.py", line 9, in main'
    assert without_names(line) == line


def test_known_names_are_removed_wherever_they_are():
    names = ["/people/anna/Our trip/sea shore.jpg\n/people/anna/a"]
    assert without_names("opened sea shore.jpg in ~/Our trip", names).startswith("opened <name> in")
    assert without_names("sea shore, seashore, a", names) == "<name>, seashore, a"
