"""Files of the any-style network survive a round trip, and other files are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch

from models.checkpoints import CheckpointError
from models.vit_checkpoints import FORMAT, dequantize, load_vit, quantize, save_vit
from models.vit_config import VitConfig
from models.vit_style_transfer import StyleForgeTransformer
from tests.helpers.any_style import save_tiny

ROOT = Path(__file__).resolve().parents[2]
TINY = VitConfig(32, 2, 48, 1, 1, 16, (8, 12, 16))


@pytest.fixture
def network() -> StyleForgeTransformer:
    torch.manual_seed(2)
    return StyleForgeTransformer(TINY).requires_grad_(False)


def test_16_bits_are_read_back_exactly(network, tmp_path):
    path = tmp_path / "w.safetensors"
    save_vit(path, TINY, network.state_dict(), {"steps": "5"})
    found = load_vit(path)
    assert found.config == TINY
    assert (found.metadata["steps"], found.metadata["variant"]) == ("5", "custom")
    for key, value in network.state_dict().items():
        assert torch.equal(found.state[key], value.half().float()), key
    assert not found.network().training


def test_8_bits_are_off_by_at_most_half_a_step(network, tmp_path):
    path = tmp_path / "w.safetensors"
    save_vit(path, TINY, network.state_dict(), storage="int8")
    found = load_vit(path)
    assert found.metadata["storage"] == "int8"
    for key, value in network.state_dict().items():
        difference = (found.state[key] - value).abs()
        if value.dim() > 1:
            steps = value.flatten(1).abs().amax(1) / 127
            assert bool((difference.flatten(1).amax(1) <= 0.5001 * steps).all()), key
        else:
            assert torch.equal(found.state[key], value.half().float()), key


def test_8_bits_paint_nearly_the_same_picture(network, tmp_path):
    path = tmp_path / "w.safetensors"
    save_vit(path, TINY, network.state_dict(), storage="int8")
    content, style = torch.rand(2, 1, 3, 40, 40) * 255
    exact, rounded = network(content, style), load_vit(path).network()(content, style)
    assert float((exact - rounded).square().mean().sqrt()) < 0.05 * float(exact.std())


def test_8_bits_take_a_quarter_of_32():
    weight = torch.randn(64, 100)
    values, scales = quantize(weight)
    assert (values.dtype, scales.shape) == (torch.int8, (64,))
    assert int(values.abs().max()) == 127
    assert values.nbytes * 4 == weight.nbytes


def test_a_channel_of_zeros_stays_zero():
    weight = torch.zeros(2, 3)
    weight[1] = torch.tensor([1.0, -2.0, 0.5])
    values, scales = quantize(weight)
    assert dequantize(values, scales)[0].tolist() == [0, 0, 0]


def test_weights_that_are_not_finite_are_not_written(network, tmp_path):
    state = network.state_dict()
    state["decoder.conv_out.conv2d.weight"][0, 0, 0, 0] = torch.nan
    for storage in ("float16", "int8"):
        with pytest.raises(CheckpointError, match=r"not finite: decoder\.conv_out"):
            save_vit(tmp_path / "w.safetensors", TINY, state, storage=storage)
    assert not (tmp_path / "w.safetensors").exists()


def test_an_unknown_storage_is_refused(network, tmp_path):
    with pytest.raises(ValueError, match="float16, int8, got 'int4'"):
        save_vit(tmp_path / "w.safetensors", TINY, network.state_dict(), storage="int4")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a safetensors file"),
        (b"<html>nothing here</html>", "is not a safetensors file"),
        (b"\xff" * 64, "is not a safetensors file"),
        ((20).to_bytes(8, "little") + b"{" + b" " * 30, "is a damaged safetensors file"),
        (safetensors.torch.save({"a": torch.ones(1)}), "is not an any-style network"),
        (
            safetensors.torch.save({"a": torch.ones(1)}, {"format": FORMAT}),
            "does not state the dimensions",
        ),
    ],
)
def test_wrong_files_are_refused_in_a_sentence(tmp_path, content, message):
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=f"^'w.safetensors' {message}") as caught:
        load_vit(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="does not exist"):
        load_vit(tmp_path / "w.safetensors")
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_vit(tmp_path)


def rewritten(path: Path, *, config: VitConfig | None = None, drop: str = "") -> None:
    """Rewrite the file with other dimensions in its header, or without one weight."""
    found = load_vit(path)
    state = safetensors.torch.load(path.read_bytes())
    metadata = dict(found.metadata)
    if config is not None:
        metadata["config"] = json.dumps(config.as_dict())
    state.pop(drop, None)
    path.write_bytes(safetensors.torch.save(state, metadata))


def test_a_file_that_does_not_fit_its_dimensions_is_refused(network, tmp_path):
    path = tmp_path / "w.safetensors"
    save_vit(path, TINY, network.state_dict())
    rewritten(path, drop="style.code.bias")
    with pytest.raises(CheckpointError, match=r"style\.code\.bias is missing"):
        load_vit(path)
    save_vit(path, TINY, network.state_dict())
    rewritten(path, config=VitConfig(32, 2, 64, 1, 1, 16, (8, 12, 16)))
    with pytest.raises(CheckpointError, match="unexpected"):
        load_vit(path)


def test_a_flipped_bit_is_noticed(network, tmp_path):
    path = tmp_path / "w.safetensors"
    save_vit(path, TINY, network.state_dict(), storage="int8")
    data = bytearray(path.read_bytes())
    data[-5] ^= 4
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="match its digest"):
        load_vit(path)


@pytest.mark.full
def test_reading_a_network_does_not_load_pytorchs_compiler(tmp_path):
    """Loading it takes more than a second, which a picture dropped on the window would wait for."""
    check = (
        "import sys; from pathlib import Path; "
        "from models.families.any_style import AnyStyleNetwork; "
        f"AnyStyleNetwork.load(Path({str(save_tiny(tmp_path / 'net.safetensors'))!r})).module(); "
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=False)
    assert done.returncode == 0
