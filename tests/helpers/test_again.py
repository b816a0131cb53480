"""A file that was made before comes from memory."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.again import written_again


def test_a_file_is_made_once_for_the_same_arguments_and_suffix(tmp_path):
    asked = []

    @written_again
    def write(path: Path, words: list[str], *, times: int = 1) -> Path:
        asked.append(path.name)
        path.write_text(" ".join(words * times) + path.suffix)
        return path

    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    assert write(first, ["a", "b"]) == first
    assert write(second, ["a", "b"]) == second
    assert second.read_text() == first.read_text() == "a b.txt"
    assert write(second, ["a", "b"], times=2).read_text() == "a b a b.txt"
    assert write(second, ["c"]).read_text() == "c.txt"
    assert write(tmp_path / "third.md", ["c"]).read_text() == "c.md"
    assert asked == ["first.txt", "second.txt", "second.txt", "third.md"]
