"""The check of prose finds what readers have to parse twice, and nothing else."""

from __future__ import annotations

import pytest

from tools.plain_english import faults

FAULTY = [
    ("a.py", '"""What a module is."""'),
    ("a.py", 'class A:\n    """Those of a family."""'),
    ("a.py", 'def a():\n    """Return the sizes, and that\n    of the picture."""'),
    ("a.py", "x = 1  #{}as those of the others".format(" ")),
    ("a.cu", "// the tile, and that of the next layer"),
    ("a.md", "The time, and those of the others."),
]
PLAIN = [
    ("a.py", '"""Reads files."""\n\n\ndef a():\n    """Return what the caller asked for."""\n'),
    ("a.py", 'x = "those of"  # the words it looks for'),
    ("a.cuh", 'print("that of");  // prints two words'),
    ("a.md", "Whatever the page says."),
]


@pytest.mark.parametrize(("name", "text"), FAULTY)
def test_a_sentence_in_the_old_dialect_is_named_with_its_line(name, text):
    (found,) = faults(name, text)
    assert found.startswith(f"{name}:")


@pytest.mark.parametrize(("name", "text"), PLAIN)
def test_plain_prose_and_texts_of_the_program_pass(name, text):
    assert not [*faults(name, text)]
