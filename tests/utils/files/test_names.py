"""File names made from typed texts are valid on every system."""

from __future__ import annotations

import pytest

from utils.files.names import is_device, portable_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CON", "_CON"),
        ("con.png", "_con.png"),
        ("nul .tar.gz", "_nul .tar.gz"),
        ("COM1", "_COM1"),
        ("lpt\u00b2", "_lpt\u00b2"),
        ("CONIN$", "_CONIN$"),
        ("console", "console"),
        ("com", "com"),
        ("a con", "a con"),
        ("ends. . ", "ends"),
        ('a/b\\c:d*e?"<f>|\n', "a_b_c_d_e_f_"),
        (" . ", ""),
        ("aux. ", "_aux"),
        ("", ""),
    ],
)
def test_a_portable_name_is_no_device_and_keeps_what_it_can(text: str, name: str):
    assert portable_name(text) == name
    assert portable_name(name) == name
    assert not is_device(name)
