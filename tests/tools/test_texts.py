"""A reviewed file holds every sentence of the program.

The file is not one of the translations, which hold the texts of the window alone: the commands, the
server and the library write in English only. Here a change of any sentence is one line of a diff.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tools.texts import (
    SNAPSHOT,
    sentences_of,
    sentences_of_page,
    sentences_of_script,
    snapshot,
)

LONG = 5  # words; shorter literals are names and reasons


def test_the_file_has_the_sentences_of_the_program():
    kept, now = SNAPSHOT.read_text("utf-8").splitlines(), snapshot().splitlines()
    gone, new = set(kept) - set(now), set(now) - set(kept)
    assert (gone, new) == (set(), set()), "review them, then run python -m tools.texts"
    assert kept == now


def compared(source: str) -> Iterator[str]:
    """Yield the literals in the assertions and patterns of a test module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            held: ast.AST = node.test
        elif isinstance(node, ast.keyword) and node.arg == "match":
            held = node.value
        else:
            continue
        literals = (each.value for each in ast.walk(held) if isinstance(each, ast.Constant))
        yield from (each for each in literals if isinstance(each, str))


@pytest.mark.parametrize(
    "folder", ["app", "benchmarks", "fuzz", "models", "tools", "utils", "wheels"]
)
def test_no_other_test_holds_the_wording_of_a_sentence(folder):
    texts = SNAPSHOT.read_text("utf-8")
    found = [
        (path.name, literal)
        for path in (SNAPSHOT.parent / folder).rglob("*.py")
        for literal in compared(path.read_text("utf-8"))
        if len(literal.split()) >= LONG and literal.replace("\\", "").strip() in texts
    ]
    assert found == [], "compare the class and the fields, see tests/helpers/errors.py"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('raise Fault(f"{name!r} is {len(parts)} long")', ["{name} is {len(parts)} long"]),
        ('parser.add_argument("--size", help="the long side")', ["the long side"]),
        (
            'write(f"{count:,} of {total} pictures are done")',
            ["{count} of {total} pictures are done"],
        ),
        ('tr("shown in the window", name=f"the camera {name}")', ["the camera {name}"]),
        ('def f():\n    """Do nothing at all."""\n    return "no such thing"', ["no such thing"]),
        ('style("a:hover { color: red;\\n}")', []),
        ('parts = name.split("/"), "word"', []),
    ],
)
def test_sentences_of_a_module_are_found_with_their_fields(source, found):
    assert list(sentences_of(source)) == found


def test_the_texts_of_a_page_and_its_script_are_found():
    page = '<p title="Over it">Drop  a\npicture<script>let a = "not this";</script> <b>here</b></p>'
    assert list(sentences_of_page(page)) == ["Over it", "Drop a picture", "here"]
    script = 'say("It is done"); get(`/api/${id}`); say(`${n} pictures are left`)'
    assert list(sentences_of_script(script)) == ["It is done", "${n} pictures are left"]
