"""`styleforge vit-sheet`: one sheet with every photograph in every style."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from app.cli import main
from models.vit_checkpoints import save_vit
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer
from tests.conftest import picture
from tests.helpers.errors import mentions
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

NETWORK = VitConfig(32, 2, 48, 1, 1, 16, (8, 12, 16))


@pytest.fixture
def flags(tmp_path: Path, one_thread: None) -> list[str]:
    torch.manual_seed(0)
    save_vit(tmp_path / "w.safetensors", NETWORK, StyleForgeTransformer(NETWORK).state_dict())
    names = {"photos": [], "styles": []}
    for kind, listed in names.items():
        for n in range(2):
            path = tmp_path / f"{kind}{n}.png"
            write_pixels(path, picture(60, 44, n))
            listed.append(str(path))
    return [
        *("vit-sheet", str(tmp_path / "w.safetensors"), "--device", "cpu"),
        *("--photos", *names["photos"], "--styles", *names["styles"]),
        *("--size", "48", "--style-size", "32", "-o", str(tmp_path / "sheet.png")),
    ]


def test_the_sheet_has_a_cell_for_every_pair(flags, tmp_path):
    assert main(flags) == 0
    height, width = read_pixels(tmp_path / "sheet.png").shape[:2]
    assert width > 3 * 48  # the column of photographs and two styles
    assert height > 3 * 32  # the row of styles and two photographs


def test_the_given_pictures_can_be_left_out(flags, tmp_path):
    assert main(flags) == 0
    whole_height, whole_width = read_pixels(tmp_path / "sheet.png").shape[:2]
    assert main([*flags, "--painted-only"]) == 0
    height, width = read_pixels(tmp_path / "sheet.png").shape[:2]
    assert 2 * 32 < height < whole_height - 32
    assert 2 * 48 < width <= whole_width - 48


def test_flicker_is_printed_for_every_style(flags, capsys):
    assert main([*flags, "--flicker"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["styles0", "styles1", "mean"]
    assert all("still" in line and "panned" in line for line in lines)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--size", "8"], "a size must be at least 16 pixels"),
        (["--styles", "absent.jpg"], "absent.jpg"),
        (["-o", "sheet.txt"], "its name must end in"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(flags, capsys, more, says):
    assert main([*flags, *more]) == 1
    assert says in capsys.readouterr().err


def test_weights_of_another_network_are_refused(flags, tmp_path, capsys):
    (tmp_path / "w.safetensors").write_bytes(b"nothing")
    assert main(flags) == 1
    assert mentions(capsys.readouterr().err, "w.safetensors", "safetensors file")
