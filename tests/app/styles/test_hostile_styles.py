"""An invalid or oversized pack or checkpoint costs one sentence and nothing else."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from app.styles.catalog import BUILTIN, Catalog
from app.styles.pack import StyleError, check_weights, load_pack
from models.checkpoints import CheckpointError, load_checkpoint
from models.transformer_net import TransformerNetBaseline
from tests.helpers.errors import mentions
from tests.helpers.limited import limited
from utils.files import toml

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pipes, devices, limits of Linux")

PIPE, DEVICE = "it is a pipe, not a file", "it is a device, not a file"
MAKE: tuple[tuple[Callable[[Path], object], str], ...] = (
    (os.mkfifo, PIPE),
    (lambda path: path.symlink_to("/dev/zero"), DEVICE),
    (Path.mkdir, "it is a folder, not a file"),
)
LONG = "a" * 300


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "pack"
    shutil.copytree(BUILTIN / "candy", folder)
    return folder


def test_a_spec_that_is_a_pipe_is_not_waited_for(pack: Path) -> None:
    (pack / "style.toml").unlink()
    os.mkfifo(pack / "style.toml")
    with pytest.raises(StyleError) as caught:
        load_pack(pack)
    assert str(caught.value) == f"'pack/style.toml' cannot be read: {PIPE}"


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "imports", "code", "said"),
    [
        pytest.param(
            "style.toml",
            "from app.styles.pack import load_pack",
            "load_pack({pack})",
            f"StyleError: 'pack/style.toml' cannot be read: {DEVICE}",
            id="spec",
            marks=pytest.mark.full,
        ),
        pytest.param(
            "weights.safetensors",
            "from app.styles.catalog import Catalog",
            "Catalog({pack}, {pack} / 'user').install({pack})",
            f"StyleError: 'pack' names weights that cannot be read: weights.safetensors: {DEVICE}",
            id="pack",
            marks=pytest.mark.full,
        ),
        pytest.param(
            "weights.safetensors",
            "from models.checkpoints import load_checkpoint",
            "load_checkpoint({pack} / 'weights.safetensors')",
            f"CheckpointError: 'weights.safetensors' cannot be read: {DEVICE}",
            id="checkpoint",
        ),
        pytest.param(
            "weights.safetensors",
            "from app.styles.pack import Style, check_weights",
            "check_weights(Style('odd', 'Odd', {pack} / 'weights.safetensors', sha256='0'))",
            f"OSError: [Errno {errno.EINVAL}] {DEVICE}",
            id="checked weights",
            marks=pytest.mark.full,
        ),
    ],
)
def test_a_device_without_end_is_not_read(pack: Path, name, imports, code, said) -> None:
    (pack / name).unlink()
    (pack / name).symlink_to("/dev/zero")
    answer, megabytes = limited(
        f"import models.checkpoints\nfrom pathlib import Path\n{imports}",
        code.format(pack="Path(sys.argv[1])"),
        str(pack),
    )
    assert answer == said
    assert megabytes < 200


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f'title = "{"x" * 5_000_000}"', "cannot be read: it is larger than 1 MB"),
        (".".join("a" * 100_000) + " = 1", "is not valid: a line has more than 200 dots"),
        ("x = " + "[" * 50_000, "is not valid: it is nested too deeply"),
        ("title = " + "[1]" + "\n" + "weights = 'w'", "is not valid: 'title' should be text"),
        ("title = [" + "1," * 50_000 + "]\nweights = 'w'", "'title' should be text, not [1, 1"),
    ],
    ids=["long", "deep key", "deep value", "list", "long list"],
)
def test_a_spec_that_is_too_much_is_one_short_sentence(pack: Path, text: str, fault: str) -> None:
    (pack / "style.toml").write_text(text)
    with pytest.raises(StyleError) as caught:
        load_pack(pack)
    assert fault in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("field", ["weights", "lite_weights", "thumbnail"])
@pytest.mark.parametrize(("make", "fault"), MAKE, ids=["pipe", "device", "folder"])
def test_a_pack_holds_regular_files_only(catalog, pack: Path, field: str, make, fault) -> None:
    lines = {"title": "Odd", "weights": "weights.safetensors", field: "odd"}
    (pack / "style.toml").write_text(toml.dumps(lines))
    make(pack / "odd")
    with pytest.raises(StyleError, match=f"'pack' .*odd: {fault}"):
        catalog.install(pack)


@pytest.mark.parametrize("field", ["weights", "lite_weights", "thumbnail"])
def test_a_name_too_long_for_a_file_is_one_sentence(pack: Path, field: str) -> None:
    lines = {"title": "Odd", "weights": "weights.safetensors", field: LONG}
    (pack / "style.toml").write_text(toml.dumps(lines))
    with pytest.raises(StyleError) as caught:
        load_pack(pack)
    assert str(caught.value).startswith("'pack' names ")
    assert str(caught.value).endswith(os.strerror(errno.ENAMETOOLONG))
    assert len(str(caught.value)) < 200


def test_names_and_titles_of_a_pack_cannot_write_over_the_terminal(pack: Path) -> None:
    odd = pack.with_name("od\x1b[31md")
    pack.rename(odd)
    spec = {"title": "Odd", "weights": "w\u202e\x07.pth"}
    (odd / "style.toml").write_text(toml.dumps(spec))
    with pytest.raises(StyleError) as caught:
        load_pack(odd)
    assert mentions(str(caught.value), r"'od\x1b[31md'", r"w\u202e\x07.pth")


def test_one_hostile_pack_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "styles" / "odd").mkdir(parents=True)
    os.mkfifo(tmp_path / "styles" / "odd" / "style.toml")
    catalog = Catalog(BUILTIN, tmp_path / "styles")
    assert catalog.broken == (f"'odd/style.toml' cannot be read: {PIPE}",)
    assert catalog.get("candy")


def test_weights_that_became_a_pipe_are_not_waited_for(pack: Path) -> None:
    style = load_pack(pack)
    style.weights.unlink()
    os.mkfifo(style.weights)
    with pytest.raises(OSError, match=PIPE):
        check_weights(style)
    with pytest.raises(CheckpointError, match=rf"'weights\.safetensors' cannot be read: {PIPE}"):
        load_checkpoint(style.weights)


def test_a_checkpoint_that_is_a_pipe_is_not_waited_for(catalog, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "odd.pth")
    with pytest.raises(StyleError) as caught:
        catalog.install(tmp_path / "odd.pth")
    assert str(caught.value) == f"'odd.pth' cannot be read: {PIPE}"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (LONG, "'aaa.*\\.\\.\\.' cannot be read: File name too long"),
        ("gone\x1b.pth", r"'gone\\x1b\.pth' does not exist"),
        ("null\0.pth", r"'null\\x00\.pth' does not exist"),
    ],
    ids=["long", "escape", "null"],
)
def test_a_checkpoint_of_an_odd_name_is_one_sentence(catalog, tmp_path, name, fault) -> None:
    with pytest.raises(StyleError, match=f"^{fault}$"):
        catalog.install(tmp_path / name)


def sparse(path: Path) -> None:
    """Write 200 MB that start like a safetensors file."""
    with path.open("wb") as file:
        file.write((64).to_bytes(8, "little") + b"{")
        file.truncate(200 << 20)


def packed(path: Path) -> None:
    """Write a PyTorch file whose list of names is 200 MB, compressed to 200 KB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/data.pkl", b"\x80\x02" + b"]" * (200 << 20))


def repeated(path: Path) -> None:
    """Write a network of 4000 channels that all share one number, in a few KB."""
    wide = dict(TransformerNetBaseline(1).state_dict())
    with torch.device("meta"):
        shapes = {key: list(value.shape) for key, value in wide.items()}
    for key, shape in shapes.items():
        stretched = [4_000 if side == 128 else side for side in shape]
        wide[key] = torch.ones(1).expand(stretched)
    torch.save(wide, path)


@pytest.mark.full
@pytest.mark.parametrize(
    ("make", "fault"),
    [
        pytest.param(
            sparse,
            "'big.pth' cannot be read: it is larger than 100 MB",
            marks=pytest.mark.full,
        ),
        pytest.param(
            packed,
            "'big.pth' is too large for weights: more than 100 MB",
            marks=pytest.mark.full,
        ),
        (repeated, "'big.pth' is too large for weights: more than 100 MB"),
    ],
)
def test_a_checkpoint_too_large_for_weights_takes_no_memory(tmp_path: Path, make, fault) -> None:
    make(tmp_path / "big.pth")
    said, megabytes = limited(
        "from models.checkpoints import load_checkpoint",
        "load_checkpoint(sys.argv[1])",
        str(tmp_path / "big.pth"),
    )
    assert said == f"CheckpointError: {fault}"
    assert megabytes < 200
