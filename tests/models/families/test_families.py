"""The table of families describes its networks correctly."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
import torch
from PIL import Image

from app.parameters import PARAMETERS
from kernels.table.registry import OPS, STYLE
from models.checkpoints import CheckpointError, save_checkpoint
from models.evaluation.image_metrics import to_tensor
from models.families import any_style
from models.families.any_style import AnyStyleNetwork
from models.families.family import StyleFiles
from models.families.keys import ANY_STYLE, FAMILY_KEYS, FEED_FORWARD
from models.families.style_codes import StyleCode, load_code, save_code, second_path
from models.families.table import FAMILIES, family_of
from models.inference.style_state import interpolate
from models.inference.vit import parts
from models.network_config import NetworkConfig
from models.precision import Precision
from models.transformer_net import ALL_VARIANTS, VARIANTS, TransformerNetBaseline
from tests.conftest import picture
from tests.helpers.any_style import save_tiny
from tests.helpers.errors import mentions, refused
from utils.images.writing import write_pixels

SMALL = NetworkConfig(1, (8, 8, 8), 5)
CPU = torch.device("cpu")


class Networks:
    """Some networks, of which the first paints styles that the others cannot."""

    def __init__(self, *there: AnyStyleNetwork) -> None:
        self._there = there
        self.read = self.lite_read = 0

    def default(self) -> AnyStyleNetwork | None:
        self.read += 1
        if not self._there:
            raise CheckpointError("'small.safetensors' is damaged")
        return self._there[0]

    def has_lite(self, digest: str) -> bool:
        return len(self._there) > 1 and self.is_there(digest)

    def is_there(self, digest: str) -> bool:
        return any(one.digest == digest for one in self._there)

    def for_code(self, digest: str, *, lite: bool) -> AnyStyleNetwork | None:
        if lite:
            self.lite_read += 1
            return self._there[1]
        default = self._there[0] if self._there else None
        return next((one for one in self._there if one.digest == digest), default)


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> AnyStyleNetwork:
    return AnyStyleNetwork.load(save_tiny(tmp_path_factory.mktemp("a") / "a.safetensors"))


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> AnyStyleNetwork:
    return AnyStyleNetwork.load(save_tiny(tmp_path_factory.mktemp("b") / "b.safetensors", 2))


@pytest.fixture
def weights(tmp_path):
    checkpoint = tmp_path / "weights.safetensors"
    save_checkpoint(checkpoint, TransformerNetBaseline(**asdict(SMALL)).state_dict())
    return {FEED_FORWARD: StyleFiles(checkpoint), ANY_STYLE: StyleFiles(tmp_path / "code.st")}


def test_the_table_has_every_key():
    assert tuple(FAMILIES) == FAMILY_KEYS


def test_every_family_has_a_baseline_and_controls_that_exist():
    for family in FAMILIES.values():
        assert {"baseline", "fused"} <= set(family.variants) <= set(ALL_VARIANTS)
        assert set(family.unavailable) <= set(PARAMETERS)


@pytest.mark.parametrize("kernels", VARIANTS)
@pytest.mark.parametrize("key", FAMILY_KEYS)
def test_a_style_is_read_built_and_painted_with_every_kernel(weights, network, key, kernels):
    family, files = FAMILIES[key], weights[key]
    if key == ANY_STYLE:
        save_code(files.weights, network.encode(picture()))
    found = family.load(files, Networks(network))
    module = family.build(found.network, kernels)
    family.load_into(module, found.state)
    x = torch.rand(1, 3, 24, 33) * 255
    with torch.inference_mode():
        painted = module(x, lambda _: None)
    assert painted.shape == x.shape
    assert bool(painted.isfinite().all())
    assert float(painted.std()) > 0
    assert family.variant(kernels).title


def test_a_family_names_the_operations_that_its_networks_are_made_of():
    used = {name for name in vars(parts) if name.startswith("fused_")}
    families = {OPS[name].family for name in used}
    assert families == set(FAMILIES[ANY_STYLE].operations)
    assert FAMILIES[FEED_FORWARD].operations == (STYLE,)


def test_a_file_is_recognized_by_its_format(weights, network, tmp_path):
    code = tmp_path / "code.safetensors"
    save_code(code, StyleCode(torch.zeros(1, 16), network.digest))
    assert family_of(code).key == ANY_STYLE
    assert family_of(save_tiny(tmp_path / "net.safetensors")).key == ANY_STYLE
    assert family_of(weights[FEED_FORWARD].weights).key == FEED_FORWARD
    (tmp_path / "page.html").write_text("<html>")
    assert family_of(tmp_path / "page.html").key == FEED_FORWARD


def test_a_network_is_no_style(tmp_path):
    path = save_tiny(tmp_path / "net.safetensors")
    with refused(CheckpointError, "any-style network", file="net.safetensors"):
        family_of(path).read(path)


def test_mixing_interpolates_every_tensor():
    first, second = {"code": torch.zeros(1, 4)}, {"code": torch.ones(1, 4)}
    out = {"code": torch.empty(1, 4)}
    interpolate((first, second), (0.75, 0.25), out)
    assert torch.equal(out["code"], torch.full((1, 4), 0.25))


@pytest.mark.parametrize(
    "shares", [(0.5, 0.3, 0.2), (0.0, 0.0, 1.0), (0.0, 0.4, 0.6), (0.1, 0.2, 0.3, 0.4)]
)
def test_up_to_four_codes_are_mixed_by_their_shares(shares):
    states = [{"code": torch.randn(1, 8)} for _ in shares]
    out = {"code": torch.empty(1, 8)}
    interpolate(states, shares, out)
    expected = sum(share * each["code"] for share, each in zip(shares, states, strict=True))
    torch.testing.assert_close(out["code"], expected, atol=1e-6, rtol=0)


def test_networks_that_differ_have_nothing_in_between(network, other):
    said = FAMILIES[ANY_STYLE].difference(network, other)
    assert network.digest[:12] in said
    assert other.digest[:12] in said
    assert FAMILIES[ANY_STYLE].difference(network, network) == ""
    johnson = FAMILIES[FEED_FORWARD]
    assert "8-8-8 channels" in johnson.difference(SMALL, NetworkConfig())
    assert johnson.difference(SMALL, SMALL) == ""


def test_a_code_is_the_encoders_of_the_picture_at_its_size(network):
    pixels = picture(320, 240)
    code = network.encode(pixels)
    assert code.network == network.digest
    with torch.inference_mode():
        expected = network.module().encode_style(to_tensor(pixels, CPU))
    assert torch.equal(code.values, expected)
    larger = np.asarray(Image.fromarray(pixels).resize((960, 720), Image.Resampling.LANCZOS))
    torch.testing.assert_close(network.encode(larger).values, expected, atol=0.05, rtol=0)
    assert network.encode(picture(8, 8)).values.isfinite().all()


def test_a_picture_that_is_too_narrow_is_refused(network):
    assert network.encode(picture(320, 16)).values.isfinite().all()
    with pytest.raises(ValueError, match="350x16 pixels"):
        network.encode(picture(350, 16))


def test_a_code_of_another_network_is_made_again_from_the_kept_picture(network, other, tmp_path):
    pixels = picture(90, 70)
    kept = tmp_path / "picture.png"
    write_pixels(kept, pixels)
    files = StyleFiles(tmp_path / "code.safetensors", picture=kept)
    save_code(files.weights, other.encode(pixels))
    family = FAMILIES[ANY_STYLE]
    assert family.load(files, Networks(network, other)).network == other
    assert family.load(files, Networks(network, other)).remark == ""
    again = family.load(files, Networks(network))
    assert again.network == network
    assert torch.equal(again.state["code"], network.encode(pixels).values)
    assert str(network.digest[:12]) in again.remark


def test_a_second_code_is_kept_beside_the_first_and_read_again(network, other, tmp_path):
    pixels = picture(90, 70)
    files = StyleFiles(tmp_path / "weights.safetensors", picture=tmp_path / "picture.png")
    assert files.picture is not None
    write_pixels(files.picture, pixels)
    save_code(files.weights, other.encode(pixels))
    family, there = FAMILIES[ANY_STYLE], Networks(network)
    said: list[str] = []
    first = family.load(files, there, progress=said.append)
    assert said == ["Reading the network", "Reading the picture", "Finding its style"]
    assert load_code(files.weights).network == other.digest
    kept = second_path(files.weights, network.digest)
    assert load_code(kept).network == network.digest
    files.picture.unlink()
    again = family.load(StyleFiles(files.weights), there)
    assert torch.equal(again.state["code"], first.state["code"])
    assert again.remark == first.remark != ""


def test_a_style_has_a_lite_network_where_there_is_one_and_its_picture(network, other, tmp_path):
    family, there = FAMILIES[ANY_STYLE], Networks(network, other)
    files = StyleFiles(tmp_path / "weights.safetensors", picture=tmp_path / "picture.png")
    assert files.picture is not None
    write_pixels(files.picture, picture(90, 70))
    save_code(files.weights, network.encode(picture(90, 70)))
    assert family.has_lite(files, there)
    assert family.load(files, there, lite=True).network == other
    assert not family.has_lite(files, Networks(network))
    assert not family.has_lite(StyleFiles(files.weights), there)
    feed_forward = FAMILIES[FEED_FORWARD]
    assert not feed_forward.has_lite(files, there)
    assert feed_forward.has_lite(StyleFiles(files.weights, lite=files.weights), there)


def test_a_damaged_second_code_is_made_again(network, other, tmp_path, caplog):
    pixels = picture(90, 70)
    files = StyleFiles(tmp_path / "weights.safetensors", picture=tmp_path / "picture.png")
    assert files.picture is not None
    write_pixels(files.picture, pixels)
    save_code(files.weights, other.encode(pixels))
    kept = second_path(files.weights, network.digest)
    kept.write_bytes(b"nothing")
    found = FAMILIES[ANY_STYLE].load(files, Networks(network))
    assert torch.equal(found.state["code"], network.encode(pixels).values)
    assert "is made again" in caplog.text
    caplog.clear()
    assert torch.equal(load_code(kept).values, found.state["code"])


def test_a_code_without_its_network_says_what_is_missing(network, other, tmp_path):
    files = StyleFiles(tmp_path / "code.safetensors")
    save_code(files.weights, StyleCode(torch.zeros(1, 16), other.digest))
    family = FAMILIES[ANY_STYLE]
    with pytest.raises(CheckpointError, match=f"{other.digest[:12]}, .*no any-style network"):
        family.load(files, Networks())
    with pytest.raises(CheckpointError, match="picture was not kept"):
        family.load(files, Networks(network))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    damaged = StyleFiles(files.weights, picture=tmp_path / "picture.png")
    with pytest.raises(CheckpointError, match=r"'picture\.png'"):
        family.load(damaged, Networks(network))


def test_a_code_of_another_length_is_refused(network, tmp_path):
    files = StyleFiles(tmp_path / "code.safetensors")
    save_code(files.weights, StyleCode(torch.zeros(1, 15), network.digest))
    with pytest.raises(CheckpointError, match=r"15 numbers.*16"):
        FAMILIES[ANY_STYLE].load(files, Networks(network))


def test_the_any_style_network_says_what_it_lacks(network):
    family = FAMILIES[ANY_STYLE]
    assert family.limitations("baseline", CPU, Precision.fp32, network) == ()
    assert family.limitations("fused", CPU, Precision.fp32, network) == (family.kernels_remark,)
    on_a_gpu = family.limitations("fused", torch.device("cuda"), Precision.tf32, network)
    graph, kernels = on_a_gpu
    assert mentions(graph, "CUDA graph", "TF32")
    assert kernels == family.kernels_remark
    assert "Fused norm" in family.limitations("norm", CPU, Precision.fp32, network)[0]
    on_a_gpu = family.limitations("baseline", torch.device("cuda"), Precision.int8, network)
    (precision,) = on_a_gpu
    assert mentions(precision, "FP16", "INT8")
    assert family.describe(network) == f"Any style (custom, {network.digest[:12]})"


def test_half_precision_on_a_cpu_takes_more_memory():
    for family in FAMILIES.values():
        usual = family.memory_per_pixel(CPU, Precision.fp32)
        assert family.memory_per_pixel(CPU, Precision.fp16) > usual
        assert family.memory_per_pixel(torch.device("cuda"), Precision.fp16) == usual


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_only_on_a_gpu_are_the_networks_for_new_styles_read_ahead(
    device, network, other, monkeypatch
):
    painted = []
    monkeypatch.setattr(any_style, "warm_up", lambda config, *_: painted.append(config))
    family, read = FAMILIES[ANY_STYLE], int(device == "cuda")
    for networks in (Networks(network, other), Networks()):  # the second has a damaged file
        family.warm_up(torch.device(device), networks)
        assert networks.read == read
        assert networks.lite_read == read * (networks.has_lite(network.digest))
    assert painted == [network.config] * read


@pytest.mark.parametrize("precision", [Precision.fp32, Precision.bf16, Precision.fp16])
def test_a_network_is_built_in_its_precision(precision):
    network = FAMILIES[FEED_FORWARD].build_on(SMALL, "fused", CPU, precision)
    assert {each.dtype for each in network.parameters()} == {precision.value.dtype}
