"""The examples and the notebook run unchanged, each in its own folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from app.styles.catalog import BUILTIN
from models.checkpoints import load_checkpoint
from tests.conftest import picture
from utils.image_utils import load_image
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "__init__")
NOTEBOOK = ROOT / "notebooks" / "demo.ipynb"

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("native_kernels")]


def run(place: Path, *arguments: str) -> str:
    """Run Python with these arguments, with warnings as errors, and return its output."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def place(tmp_path: Path) -> Path:
    torch.save(load_checkpoint(BUILTIN / "candy" / "weights.safetensors"), tmp_path / "candy.pth")
    (tmp_path / "photos").mkdir()
    write_pixels(tmp_path / "photos" / "a.png", picture(60, 44))
    write_pixels(tmp_path / "photos" / "b.webp", picture(44, 60, seed=1))
    (tmp_path / "photos" / "notes.txt").write_text("no picture")
    return tmp_path


def test_there_are_eight_short_examples() -> None:
    lines = {path.stem: len(path.read_text("utf-8").splitlines()) for path in EXAMPLES}
    assert len(lines) == 8
    assert all(10 <= count <= 40 for count in lines.values()), lines


@pytest.mark.full
def test_a_picture_is_styled(place: Path) -> None:
    run(place, "-m", "examples.style_picture", "candy.pth", "photos/a.png", "out.png")
    styled, source = load_image(place / "out.png"), load_image(place / "photos" / "a.png")
    assert styled.shape == source.shape
    assert float((styled - source).abs().mean()) > 20


@pytest.mark.full
def test_a_folder_is_styled_but_for_what_is_no_picture(place: Path) -> None:
    told = run(place, "-m", "examples.style_folder", "candy.pth", "photos", "styled")
    assert told.split() == ["a.png", "b.webp"]
    assert sorted(path.name for path in (place / "styled").iterdir()) == ["a.jpg", "b.jpg"]
    assert load_image(place / "styled" / "b.jpg").shape == (1, 3, 60, 44)


@pytest.mark.full
def test_the_fused_operations_agree_with_pytorch(place: Path) -> None:
    told = run(place, "-m", "examples.fused_operations")
    assert "fused_instance_norm runs on the native kernel" in told
    forward, backward = (float(n) for n in re.findall(r"(?:difference|gradients): (\S+)", told))
    assert 0 < forward < 1e-4
    assert 0 < backward < 1e-6


@pytest.mark.full
def test_the_variants_are_timed(place: Path) -> None:
    told = run(place, "-m", "examples.compare_variants", "64")
    rows = re.findall(r"^(.{12}) +([\d.]+) ms +([\d.]+)x$", told, re.MULTILINE)
    assert [title.strip() for title, _, _ in rows] == ["Baseline", "Fused norm", "Fused"]
    assert all(float(ms) > 0 for _, ms, _ in rows)


@pytest.mark.full
def test_the_network_is_profiled(place: Path) -> None:
    told = run(place, "-m", "examples.profile_network", "--size", "64", "--trace", "trace.json")
    assert "styleforge::res1.conv1" in told, "a layer of the native network"
    events = json.loads((place / "trace.json").read_text("utf-8"))["traceEvents"]
    assert any("styleforge::deconv3" in event.get("name", "") for event in events)


@pytest.mark.full
def test_the_library_is_tried_in_a_minute(place: Path) -> None:
    told = run(place, "-m", "examples.quick_test")
    apart = [float(found) for found in re.findall(r"differs by (\S+?)[;\n]", told)]
    assert len(apart) == 3
    assert max(apart) < 1e-5
    assert "1 conv_bn_relu" in told


@pytest.mark.full
def test_models_are_converted_in_three_ways(place: Path) -> None:
    told = run(place, "-m", "examples.automatic_conversion_examples")
    assert "replaced: 1 linear_relu" in told
    first, last = map(float, re.findall(r"a loss of (\S+) to (\S+)", told)[0])
    assert last < first
    assert float(re.findall(r"original by (\S+)", told)[0]) < 1e-5


@pytest.mark.full
def test_models_are_converted_by_name(place: Path) -> None:
    told = run(place, "-m", "examples.convert_pretrained_models", "--list-models")
    assert {"resnet50 (torchvision)", "bert-base-uncased (transformers)"} <= set(told.splitlines())


@pytest.mark.full
def test_the_notebook_runs_from_the_first_cell_to_the_last(place: Path) -> None:
    """The cells' sources run in order, in one process, without Jupyter."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    source = "\n".join("".join(cell["source"]) for cell in code)
    told = run(place, "-c", source)
    differences = [float(found) for found in re.findall(r"differs by (\S+) of 255", told)]
    assert len(differences) == 3
    assert max(differences) < 0.05
    styled = load_image(place / "output.png").numpy()
    assert styled.shape == (1, 3, 192, 256)
    assert np.abs(styled - load_image(place / "input.png").numpy()).mean() > 20


def test_the_page_on_profiling_names_what_there_is() -> None:
    page = (ROOT / "docs" / "how-to" / "profiling.md").read_text("utf-8")
    sources = [path for path in (ROOT / "kernels").rglob("*.cu*") if path.suffix in (".cu", ".cuh")]
    text = {path.name: path.read_text("utf-8") for path in sources}
    named = set(re.findall(r"\w+\.cu\b", page))
    assert named
    assert named <= text.keys()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for kernel in (name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])):
        launched = rf"__global__ void [^;{{]*\b{kernel}\("
        assert any(re.search(launched, code) for code in text.values()), kernel
    for flag in re.findall(r"examples\.profile_network ([^\n]*)", page):
        for option in re.findall(r"--\w+", flag):
            assert option in (ROOT / "examples" / "profile_network.py").read_text("utf-8")
