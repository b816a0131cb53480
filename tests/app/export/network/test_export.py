"""An exported file paints in its own runtime what StyleForge paints; a bad one is not written."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from app.cli import main
from app.export.network import (
    FORMATS,
    Exported,
    ExportError,
    Wanted,
    export_network,
    exporter,
)
from app.export.network.formats import OnnxFile, Pt2File
from app.styles.catalog import BUILTIN, Catalog
from app.styles.pack import Style
from models.network_config import NetworkConfig
from models.precision import Precision
from models.runtimes import runtime as runtimes
from models.runtimes.program import Pictures
from models.transformer_net import TransformerNetBaseline
from tests.conftest import add_style, picture

SMALL, LITE = NetworkConfig(1, (8, 8, 8), 5), NetworkConfig(1, (4, 4, 4), 3)
ROOT = Path(__file__).resolve().parents[4]
each_format = pytest.mark.parametrize("ending", FORMATS)


def formats(*daily: str) -> pytest.MarkDecorator:
    """Return a parameter for all formats; only `make test-full` tries those that are not daily."""
    return pytest.mark.parametrize(
        "ending",
        [pytest.param(e, marks=[] if e in daily else pytest.mark.full) for e in FORMATS],
    )


def two_styles(folder: Path) -> Catalog:
    add_style(folder, "sketch", 1, SMALL, lite=LITE)
    add_style(folder, "plain", 2, SMALL)
    (folder / "none").mkdir()
    return Catalog(folder / "none", folder / "styles")


@pytest.fixture
def styles(tmp_path) -> Catalog:
    return two_styles(tmp_path)


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Exported]:
    """Return a function that exports the lite network, once per format, each to its own folder."""
    catalog = two_styles(tmp_path_factory.mktemp("shared"))

    @cache
    def exported(ending: str) -> Exported:
        path = tmp_path_factory.mktemp("out") / f"sketch{ending}"
        return export_network(catalog, "sketch", path, Wanted(lite=True))

    return exported


@pytest.fixture
def out(tmp_path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def painted_here(style: Style, pixels: np.ndarray, *, lite: bool = False) -> np.ndarray:
    """Return the network's result in PyTorch, [H, W, 3], 0-255, not rounded."""
    weights = style.lite if lite and style.lite else style.weights
    shape = LITE if lite else SMALL
    network = TransformerNetBaseline(shape.num_residual_blocks, shape.widths, shape.end_kernel)
    network.load_checkpoint(weights)
    with torch.inference_mode():
        x = torch.from_numpy(pixels).permute(2, 0, 1)[None].float()
        return network(x).clamp(0, 255)[0].permute(1, 2, 0).numpy()


def run_script(script: Path, pixels: np.ndarray) -> np.ndarray:
    """Return a script's result for a picture, from a process without our packages."""
    source, target = script.with_name("photo.png"), script.with_name("styled.png")
    Image.fromarray(pixels).save(source)
    environment = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT") if key in os.environ}
    command = [sys.executable, str(script), str(source), str(target)]
    done = subprocess.run(
        command, cwd=script.parent, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return np.asarray(Image.open(target)).astype(np.float32)


@formats()
def test_the_script_paints_with_the_file_what_the_network_paints(styles, exports, ending):
    exported = exports(ending)
    path = exported.files[0]
    assert path.name == f"sketch{ending}"
    assert all(file.is_file() for file in exported.files)
    assert {*path.parent.glob("sketch*")} == {*exported.files}
    assert not [*path.parent.glob(".*")]
    assert exported.verified.difference < 0.01
    pixels = picture(53, 38)  # odd sizes, which nothing divides
    styled = run_script(exported.script, pixels)
    expected = painted_here(styles.get("sketch"), pixels, lite=True)
    assert styled.shape == expected.shape
    assert np.abs(styled - expected).max() <= 0.51  # rounding


@pytest.mark.full
@each_format
@pytest.mark.parametrize("pictures", [Pictures.float, Pictures.uint8], ids=lambda p: p.value)
def test_half_the_bytes_paint_nearly_the_same(styles, out, ending, pictures):
    how = {"pictures": pictures, "lite": True}
    whole = export_network(styles, "sketch", out / f"a{ending}", Wanted(**how))
    half = export_network(
        styles, "sketch", out / f"b{ending}", Wanted(**how, precision=Precision.fp16)
    )
    assert half.verified.psnr > 45
    pixels = picture(64, 48)
    expected = painted_here(styles.get("sketch"), pixels, lite=True)
    assert np.abs(run_script(whole.script, pixels) - expected).max() <= 0.51
    assert np.abs(run_script(half.script, pixels) - expected).max() <= 2


@pytest.mark.full
@formats(".xml")
def test_a_file_of_one_size_takes_every_picture_in_that_size(styles, out, ending):
    wanted = Wanted(size=(50, 38), pictures=Pictures.uint8)
    exported = export_network(styles, "plain", out / f"plain{ending}", wanted)
    assert exported.verified.sizes == ((50, 38), (50, 38))
    pixels = picture(50, 38)
    expected = painted_here(styles.get("plain"), pixels)
    assert np.abs(run_script(exported.script, pixels) - expected).max() <= 0.51
    assert run_script(exported.script, picture(70, 52)).shape == (52, 70, 3)


@pytest.mark.full
def test_what_paints_something_else_is_not_kept(styles, out, monkeypatch):
    write = Pt2File.write

    def wrong(self, source, path):
        with torch.no_grad():
            list(source.network.parameters())[-1].add_(20.0)
        write(self, source, path)

    monkeypatch.setattr(Pt2File, "write", wrong)
    with pytest.raises(ExportError, match=r"not kept: .*PyTorch .*limit"):
        export_network(styles, "sketch", out / "sketch.pt2", Wanted())
    assert list(out.iterdir()) == []


@pytest.mark.full
def test_what_paints_no_numbers_is_not_kept(styles, out, monkeypatch):
    def no_numbers(self, source, path):
        class Nothing(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = nn.Parameter(torch.tensor(float("nan")), requires_grad=False)

            def forward(self, x):
                return x * self.weight

        write(self, type(source)(Nothing(), source.pictures, True, 4, None, source.texts), path)

    write = OnnxFile.write
    monkeypatch.setattr(OnnxFile, "write", no_numbers)
    with pytest.raises(ExportError, match="not kept"):
        export_network(styles, "sketch", out / "sketch.onnx", Wanted(precision=Precision.fp16))
    assert list(out.iterdir()) == []


@pytest.mark.full
def test_the_file_says_whose_style_it_is_and_what_it_takes(styles, exports):
    style = styles.get("sketch")
    import onnxruntime

    file = exports(".onnx").files[0]
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    texts = session.get_modelmeta().custom_metadata_map
    assert (texts["style"], texts["title"]) == ("sketch", "Sketch")
    assert texts["weights_sha256"] == style.lite_sha256
    assert (texts["network"], texts["precision"], texts["size"]) == ("lite", "FP32", "any")
    assert "RGB" in texts["format_of_pictures"]
    assert {"artist", "licence", "made_by"} <= set(texts)
    taken, given = session.get_inputs()[0], session.get_outputs()[0]
    assert (taken.name, taken.shape) == ("picture", [1, 3, "height", "width"])
    assert (given.name, given.shape) == ("styled", [1, 3, "height", "width"])


@pytest.mark.full
@formats(".pt2")
def test_the_files_say_nothing_of_this_machine(exports, ending):
    for file in exports(ending).files:
        assert str(ROOT).encode() not in file.read_bytes()
        assert b"site-packages" not in file.read_bytes()


@pytest.mark.full
def test_a_program_says_whose_style_it_is_and_holds_no_example(styles, out):
    path = out / "sketch.pt2"
    export_network(styles, "sketch", path, Wanted(lite=True, size=(640, 480)))
    extra = {"styleforge.json": ""}
    torch.export.load(path, extra_files=extra)
    assert json.loads(extra["styleforge.json"])["title"] == "Sketch"
    assert path.stat().st_size < 500_000, "a picture of that size alone has 3.7 MB"


@pytest.mark.full
def test_what_is_there_is_replaced_only_if_that_is_asked_for(styles, out):
    (out / "sketch.py").write_text("mine", "utf-8")
    with pytest.raises(ExportError, match=r"sketch\.py' exists .*--overwrite"):
        export_network(styles, "sketch", out / "sketch.pt2", Wanted(lite=True))
    assert [file.name for file in out.iterdir()] == ["sketch.py"]
    export_network(styles, "sketch", out / "sketch.pt2", Wanted(lite=True, overwrite=True))
    assert (out / "sketch.py").read_text("utf-8") != "mine"


@each_format
def test_a_package_that_is_missing_is_named_with_what_installs_it(styles, out, monkeypatch, ending):
    monkeypatch.setattr(runtimes, "find_spec", lambda name: None)
    kind = FORMATS[ending]
    if not kind.packages:
        assert kind.missing == ""  # PyTorch is installed
        return
    with pytest.raises(ExportError, match=rf"pip install 'styleforge\[{kind.extra}\]'"):
        export_network(styles, "sketch", out / f"sketch{ending}", Wanted())
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "name", "wanted", "sentence"),
    [
        ("sketch", "a.tflite", Wanted(), r"an unknown ending; choose one of \.onnx, \.pt2"),
        ("plain", "a.pt2", Wanted(lite=True), "Plain has no lite network"),
        ("nobody", "a.pt2", Wanted(), "nobody"),
        ("sketch", "a.pt2", Wanted(size=(64, 8)), "at least 16x16"),
    ],
)
def test_what_cannot_be_exported_is_said_in_a_sentence(styles, out, key, name, wanted, sentence):
    with pytest.raises(exporter.StyleForgeError, match=sentence):
        export_network(styles, key, out / name, wanted)
    assert list(out.iterdir()) == []


@pytest.mark.full
def test_a_style_of_a_picture_is_exported_in_one_size(tmp_path, out):
    catalog = Catalog(BUILTIN, tmp_path / "styles")
    if catalog.networks.default() is None:
        pytest.skip("the any-style weights are not here")
    source = tmp_path / "painting.png"
    Image.fromarray(picture(96, 72, seed=5)).save(source)
    style = catalog.install_picture(source)
    with pytest.raises(ExportError, match="--size 1280x720"):
        export_network(catalog, style.key, out / "painting.onnx", Wanted())
    wanted = Wanted(lite=True, size=(72, 56))
    exported = export_network(catalog, style.key, out / "painting.onnx", wanted)
    assert exported.verified.difference < 0.1
    assert run_script(exported.script, picture(72, 56)).std() > 1


@pytest.mark.full
def test_the_command_says_what_it_wrote_and_how_it_was_checked(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    add_style(tmp_path / "data" / "styleforge", "sketch", 1, SMALL)
    path = tmp_path / "new" / "sketch.pt2"
    assert main(["export", "sketch", str(path), "--pictures", "uint8", "--precision", "fp16"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Wrote {path} (")
    assert "160x112 and 88x136" in out
    assert f"python {path.with_suffix('.py')} photo.jpg styled.png" in out
    assert main(["export", "sketch", str(path)]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert main(["export", "sketch", str(path), "--overwrite", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def has_six_kinds_of_operators_and_a_clamp(file: Path) -> bool:
    import onnx

    model = onnx.load(io.BytesIO(file.read_bytes()))
    kinds = {node.op_type for node in model.graph.node}
    return kinds == {"Add", "Clip", "Conv", "InstanceNormalization", "Pad", "Relu", "Resize"}


@pytest.mark.full
def test_a_lite_network_becomes_six_kinds_of_operators_and_a_clamp(exports):
    assert has_six_kinds_of_operators_and_a_clamp(exports(".onnx").files[0])


@pytest.mark.full
def test_a_style_that_ships_becomes_six_kinds_of_operators_and_a_clamp(out):
    export_network(Catalog.default(), "mosaic", out / "mosaic.onnx", Wanted())
    assert has_six_kinds_of_operators_and_a_clamp(out / "mosaic.onnx")
