"""A style exports to one file, and any other file is refused in one sentence."""

from __future__ import annotations

import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app.styles.catalog import Catalog
from app.styles.facts import facts_of
from app.styles.pack import StyleError
from app.styles.style_file import MAX_WEIGHTS, SPEC, unpacked
from models import checkpoints
from tests.helpers.errors import refused
from utils.translation import texts


@pytest.fixture
def file(catalog: Catalog, tmp_path: Path) -> Path:
    return catalog.export_file("candy", tmp_path / "candy.styleforge")


def contents(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(file: Path, files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def left(catalog: Catalog) -> list[str]:
    return [path.name for path in catalog.user.iterdir()] if catalog.user.exists() else []


def test_a_style_goes_through_one_file_whole(catalog, file):
    again = catalog.install(file)
    original = catalog.get("candy")
    assert (again.title, again.key, again.builtin) == ("Candy 2", "candy_2", False)
    for name in ("weights", "lite", "thumbnail"):
        assert getattr(again, name).read_bytes() == getattr(original, name).read_bytes()
    assert (again.texture, again.credit) == (original.texture, original.credit)
    assert dict(facts_of(again))["Trained"] == dict(facts_of(original))["Trained"]
    assert left(catalog) == ["candy_2"]


def test_equal_styles_are_equal_files(catalog, file, tmp_path):
    again = catalog.export_file("candy", tmp_path / "again")
    assert again.name == "again.styleforge"
    assert again.read_bytes() == file.read_bytes()


def test_a_title_can_be_given(catalog, file):
    assert catalog.installable_title(file) == "Candy 2"
    assert catalog.install(file, "Sweets").title == "Sweets"


def test_an_export_that_fails_leaves_the_file_as_it_was(catalog, file, monkeypatch):
    before = file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.styles.style_file.shutil.copyfileobj", full)
    with refused(StyleError, style="Candy", file="candy.styleforge"):
        catalog.export_file("candy", file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.glob("*candy*")] == [file.name]


def with_file(name: str, data: bytes = b"x") -> Callable[[Path], None]:
    return lambda file: write(file, contents(file) | {name: data})


def with_spec(old: str, new: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        files = contents(file)
        spec = files[SPEC].decode()
        assert old in spec
        write(file, files | {SPEC: spec.replace(old, new).encode()})

    return change


def bomb(file: Path) -> None:
    write(file, contents(file) | {SPEC: bytes(2 << 20)}, zipfile.ZIP_DEFLATED)


def twice(file: Path) -> None:
    files = contents(file)
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for name in (*files, "thumbnail.png"):
            archive.writestr(name, files[name])


def link(file: Path) -> None:
    files = contents(file)
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o120777 << 16 if name == "thumbnail.png" else 0
            archive.writestr(info, data)


def lie(file: Path) -> None:
    """Declare a compressed entry smaller than it is."""
    write(file, contents(file), zipfile.ZIP_DEFLATED)
    data = bytearray(file.read_bytes())
    place = 0
    while (place := data.find(b"PK\1\2", place)) >= 0:
        name = data[place + 46 : place + 46 + struct.unpack_from("<H", data, place + 28)[0]]
        if name == b"thumbnail.png":
            struct.pack_into("<L", data, place + 24, 100)
        place += 4
    file.write_bytes(data)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def changed(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 255
    file.write_bytes(data)


def other_weights(file: Path) -> None:
    files = contents(file)
    write(file, files | {"lite.safetensors": files["weights.safetensors"]})


def pickled(file: Path) -> None:
    files = contents(file)
    files["weights.pth"] = files.pop("weights.safetensors")
    spec = (
        files[SPEC].decode().replace('weights = "weights.safetensors"', 'weights = "weights.pth"')
    )
    write(file, files | {SPEC: spec.encode()})


def many(file: Path) -> None:
    write(file, contents(file) | {f"{n}.png": b"" for n in range(100)})


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            with_file("../../evil.png"),
            "contains a file that its style.toml does not list: ../../evil",
        ),
        (with_file("/evil.png"), "contains a file that its style.toml does not list: /evil.png"),
        (with_file("run.py"), "contains a file that its style.toml does not list: run.py"),
        (with_spec('"thumbnail.png"', '"../t.png"'), "has a wrong 'thumbnail' in its style.toml"),
        (pickled, "must name a separate file that ends in .safetensors"),
        (bomb, "contains a file that is too large: style.toml"),
        (lie, "is damaged"),
        (twice, "contains two files with the same name"),
        (link, "contains an entry that style files may not have: thumbnail.png"),
        (many, "contains too many files"),
        (cut, "is not a ZIP archive, or is truncated"),
        (changed, "is damaged"),
        (other_weights, "is not the file its style.toml describes"),
        (lambda file: write(file, {"a.png": b""}), "it has no style.toml"),
        (lambda file: write(file, {SPEC: b"= ="}), "has an invalid style.toml"),
        (lambda file: file.write_bytes(b""), "is not a ZIP archive"),
        (lambda file: file.write_text("<html>404</html>"), "is not a ZIP archive"),
        (lambda file: file.unlink(), "cannot be installed: No such file"),
    ],
)
def test_what_is_no_file_of_a_style_is_refused_in_one_sentence(catalog, file, damage, said):
    damage(file)
    with pytest.raises(StyleError) as caught:
        catalog.install(file)
    message = str(caught.value)
    assert message.startswith("'candy.styleforge'")
    assert said in message
    assert "\n" not in message
    assert left(catalog) == []
    with pytest.raises(StyleError):
        catalog.installable_title(file)


def test_nothing_is_unpacked_outside_of_its_folder(file, tmp_path):
    with_file("../outside.png")(file)
    with pytest.raises(StyleError), unpacked(file, tmp_path):
        raise AssertionError("it was unpacked")
    assert not (tmp_path / "outside.png").exists()
    assert not list(tmp_path.glob(".installing-*"))


def test_the_largest_weights_are_those_of_checkpoints():
    assert MAX_WEIGHTS == checkpoints.MAX_BYTES


def test_a_fault_that_names_its_file_in_another_language_names_it_once(
    catalog, tmp_path, monkeypatch
):
    (tmp_path / "udnie.styleforge").write_bytes(b"nothing")
    english = "'{file}' is not a style file: it is not a ZIP archive, or is truncated"
    german = {english: "Kein Stil ist „{file}“"}
    monkeypatch.setattr(texts, "_Chosen", type("Chosen", (), {"key": "de", "texts": german}))
    with pytest.raises(StyleError, match=r"^Kein Stil ist „udnie\.styleforge“$"):
        catalog.install(tmp_path / "udnie.styleforge")
