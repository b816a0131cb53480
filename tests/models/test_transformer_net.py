from __future__ import annotations

import copy
import threading
from dataclasses import asdict

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from models.checkpoints import CheckpointError
from models.inference.buffers import PreparedWeights, Workspace
from models.network_config import FULL, LITE, NetworkConfig
from models.transformer_net import (
    VARIANTS,
    TransformerNet,
    TransformerNetBaseline,
    TransformerNetFused,
)
from tests.helpers.daily import matrix, some_daily

pytestmark = pytest.mark.usefixtures("native_kernels")


def trained(blocks: int = 2, seed: int = 0) -> dict[str, Tensor]:
    """Return weights of a trained size: pictures have a mean near 120 and a deviation of 50."""
    torch.manual_seed(seed)
    state = TransformerNetBaseline(blocks).state_dict()
    for key, value in state.items():
        norm = key.split(".")[-2].startswith("in")
        if norm and key.endswith("weight"):
            value.uniform_(0.5, 1.5)
        elif norm:
            value.normal_(0, 0.3)
    state["deconv3.conv2d.weight"].mul_(130)
    state["deconv3.conv2d.bias"].fill_(120)
    return state


def nets(blocks: int = 2) -> dict[str, TransformerNetBaseline]:
    made = {key: variant(blocks) for key, variant in VARIANTS.items()}
    for net in made.values():
        net.load_state_dict(trained(blocks))
    return made


def pictures(height: int, width: int, n: int = 1, seed: int = 0) -> Tensor:
    """Return pictures as the engine passes them: channels last, 0-255, with structure and noise."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(n, 3, 5, 5, generator=generator)
    smooth = F.interpolate(coarse, (height, width), mode="bilinear")
    noise = torch.rand(n, 3, height, width, generator=generator)
    return ((smooth * 0.8 + noise * 0.2) * 255).contiguous(memory_format=torch.channels_last)


def published(state: dict[str, Tensor], x: Tensor, blocks: int) -> Tensor:
    """Compute the network of the paper as a list of operations, in FP64."""
    state = {key: value.double() for key, value in state.items()}

    def conv(x: Tensor, name: str, stride: int = 1, enlarge: int = 1) -> Tensor:
        weight = state[f"{name}.conv2d.weight"]
        x = x.repeat_interleave(enlarge, 2).repeat_interleave(enlarge, 3)
        x = F.pad(x, (weight.shape[-1] // 2,) * 4, mode="reflect")
        return F.conv2d(x, weight, state[f"{name}.conv2d.bias"], stride)

    def norm(x: Tensor, name: str) -> Tensor:
        mean, variance = x.mean((2, 3), True), x.var((2, 3), correction=0, keepdim=True)
        scale, bias = (state[f"{name}.{part}"].view(1, -1, 1, 1) for part in ("weight", "bias"))
        return (x - mean) / (variance + 1e-5).sqrt() * scale + bias

    x = norm(conv(x.double(), "conv1"), "in1").relu()
    x = norm(conv(x, "conv2", 2), "in2").relu()
    x = norm(conv(x, "conv3", 2), "in3").relu()
    for block in (f"res{number}" for number in range(1, blocks + 1)):
        y = norm(conv(x, f"{block}.conv1"), f"{block}.in1").relu()
        x = norm(conv(y, f"{block}.conv2"), f"{block}.in2") + x
    x = norm(conv(x, "deconv1", 1, 2), "in4").relu()
    x = norm(conv(x, "deconv2", 1, 2), "in5").relu()
    return conv(x, "deconv3")


@matrix({"key": VARIANTS, "blocks": [1, 2, 5]}, meeting=1)
def test_every_variant_is_the_published_network(key, blocks):
    net, x = nets(blocks)[key], pictures(44, 64)
    expected = published(trained(blocks), x, blocks)
    for inference in (False, True):
        with torch.inference_mode(inference):
            got = net(x)
        assert float(((got - expected).abs().max() / expected.abs().max()).detach()) < 1e-4


@pytest.mark.parametrize("size", [(16, 16), (17, 50), (33, 18), (96, 128)])
@torch.inference_mode()
def test_variants_agree_at_any_size_to_a_twentieth_of_a_grey_level(size):
    x = pictures(*size)
    results = {key: net(x) for key, net in nets(5).items()}
    for result in results.values():
        assert result.shape == (1, 3, *size)
        assert float((result - results["baseline"]).abs().max()) < 0.05
    assert float(results["baseline"].std()) > 20


@torch.inference_mode()
@pytest.mark.parametrize("shape", [LITE, NetworkConfig(2, (8, 20, 24), 3)], ids=["lite", "odd"])
def test_variants_agree_at_any_width(shape):
    torch.manual_seed(0)
    networks = [variant(**asdict(shape)) for variant in VARIANTS.values()]
    state = networks[0].state_dict()
    state["deconv3.conv2d.weight"].mul_(130)
    x = pictures(37, 60)
    with torch.inference_mode():
        for network in networks:
            network.load_state_dict(state)
        wanted, *others = (network(x) for network in networks)
    for other in others:
        assert (other - wanted).abs().max() < 0.05


def test_lite_costs_at_most_a_sixth():
    assert LITE.multiply_adds(640, 480) * 6 <= FULL.multiply_adds(640, 480)


@pytest.mark.parametrize("shape", [FULL, LITE, NetworkConfig(2, (8, 24, 40), 3)])
def test_multiply_adds_are_those_of_the_convolutions(shape):
    network = TransformerNetBaseline(**asdict(shape))
    counted = 0

    def count(layer, inputs, output):
        nonlocal counted
        counted += output.numel() * layer.weight[0].numel()

    for layer in network.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_forward_hook(count)
    with torch.inference_mode():
        network(pictures(32, 64))
    assert counted == shape.multiply_adds(64, 32)


def test_odd_sides_are_reflected_and_cropped():
    net, x = nets()["baseline"], pictures(34, 61)
    whole = net(F.pad(x, (0, 3, 0, 2), mode="reflect"))
    assert torch.equal(net(x), whole[..., :34, :61])


@pytest.mark.parametrize("key", VARIANTS)
@torch.inference_mode()
def test_pictures_of_a_batch_do_not_see_each_other(key):
    net, x = nets()[key], pictures(32, 40, n=3)
    together = net(x)
    for one, styled in zip(x, together, strict=True):
        torch.testing.assert_close(net(one[None])[0], styled, atol=5e-3, rtol=1e-4)


@torch.inference_mode()
def test_the_layout_of_the_input_does_not_matter():
    net, x = nets()["fused"], pictures(32, 40)
    expected = net(x)
    assert torch.equal(net(x.contiguous()), expected)
    wide = pictures(32, 80)
    wide[..., ::2] = x
    assert torch.equal(net(wide[..., ::2]), expected)


@torch.inference_mode()
def test_two_frames_are_bit_equal_and_the_first_is_not_overwritten():
    net = nets()["fused"]
    first = net(pictures(32, 40))
    kept = first.clone()
    net(pictures(48, 64, seed=1))
    assert torch.equal(first, kept)
    assert torch.equal(net(pictures(32, 40)), first)


@torch.inference_mode()
def test_a_frame_of_nans_does_not_spoil_the_next():
    net, x = nets()["fused"], pictures(32, 40)
    expected = net(x)
    assert bool(net(torch.full_like(x, float("nan"))).isnan().all())
    assert torch.equal(net(x), expected)


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad], ids=lambda m: m.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_buffers_are_kept_from_frame_to_frame(mode, dtype):
    with mode():
        buffers_are_kept(TransformerNetFused(3).to(dtype), dtype)


def buffers_are_kept(net: TransformerNetFused, dtype: torch.dtype) -> None:
    net(pictures(64, 64).to(dtype))

    def addresses() -> list[int]:
        if dtype is torch.float32:
            assert net._winograd._plan is not None
            return [net._winograd._plan._buffers.data_ptr()]
        return [flat.data_ptr() for flat in net._cpu.workspace._flat.values()]

    before = addresses()
    assert before
    net(pictures(64, 64, seed=1).to(dtype))
    net(pictures(48, 40, seed=1).to(dtype))
    assert addresses() == before


@pytest.mark.parametrize("key", VARIANTS)
def test_each_group_is_marked_when_it_has_been_submitted(key):
    marks: list[str] = []
    VARIANTS[key](1)(pictures(16, 16), marks.append)
    assert marks == ["encoder", "residual blocks", "decoder"]


@pytest.mark.parametrize("key", VARIANTS)
@torch.inference_mode()
def test_each_layer_is_marked_where_that_is_asked_for(key):
    net, x, marks = VARIANTS[key](2).eval(), pictures(16, 16), []
    expected = net(x)
    net.by_layer = True
    assert torch.equal(net(x, marks.append), expected)
    blocks = (
        [f"res{block}.conv{number}" for block in (1, 2) for number in (1, 2)]
        if key == "fused"
        else ["res1", "res2"]
    )
    assert marks == [
        *(f"encoder/conv{number}" for number in (1, 2, 3)),
        *(f"residual blocks/{name}" for name in blocks),
        *(f"decoder/deconv{number}" for number in (1, 2, 3)),
    ]


def test_one_state_dict_serves_all_and_has_the_published_names():
    keys = {key: list(net.state_dict()) for key, net in nets(5).items()}
    assert keys["norm"] == keys["fused"] == keys["baseline"]
    assert keys["baseline"][:4] == [
        "conv1.conv2d.weight",
        "conv1.conv2d.bias",
        "in1.weight",
        "in1.bias",
    ]
    for key in (
        "res1.conv1.conv2d.weight",
        "res5.in2.bias",
        "deconv2.conv2d.weight",
        "in5.weight",
        "deconv3.conv2d.bias",
    ):
        assert key in keys["fused"]
    assert len(keys["fused"]) == 62


def test_variants_have_titles_and_differ_by_class_alone():
    assert [variant.title for variant in VARIANTS.values()] == ["Baseline", "Fused norm", "Fused"]
    assert list(VARIANTS.values()) == [TransformerNetBaseline, TransformerNet, TransformerNetFused]


@pytest.mark.parametrize("blocks", [0, 11, -1])
def test_the_number_of_residual_blocks_has_bounds(blocks):
    with pytest.raises(ValueError, match=f"1 to 10 .*got {blocks}"):
        TransformerNetFused(blocks)


@pytest.mark.parametrize("key", VARIANTS)
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(1, 4, 32, 32), r"expected pictures \[N, 3, H, W\], got \[1, 4, 32, 32\]"),
        (torch.zeros(3, 32, 32), r"expected pictures \[N, 3, H, W\], got \[3, 32, 32\]"),
        (torch.zeros(1, 3, 15, 32), "at least 16x16 pixels, got 32x15"),
        (torch.zeros(1, 3, 32, 32, dtype=torch.uint8), "floating-point pictures 0-255, got"),
    ],
    ids=["channels", "dimensions", "size", "dtype"],
)
def test_what_is_no_picture_is_refused_in_one_sentence(key, x, message):
    with pytest.raises(ValueError, match=message):
        VARIANTS[key](1)(x)


def test_gradients_of_the_variants_agree():
    x, target = pictures(20, 24).requires_grad_(), pictures(20, 24, seed=1)
    gradients = {}
    for key, net in nets(1).items():
        ((net(x) - target) / 255).square().mean().backward()
        assert x.grad is not None
        gradients[key] = {name: p.grad for name, p in net.named_parameters()} | {"input": x.grad}
        x.grad = None
    largest = max(float(g.abs().max()) for g in gradients["baseline"].values())
    for key in ("norm", "fused"):
        for name, expected in gradients["baseline"].items():
            got = gradients[key][name]
            assert got is not None, name
            # Biases that the norm removes have a gradient of zero up to rounding.
            torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-5 * largest)


def changed(net: TransformerNetFused, how: str) -> None:
    if how == "load_state_dict":
        net.load_state_dict(trained(1, seed=7))
    elif how == "assigned":
        net.load_state_dict(trained(1, seed=7), assign=True)
    elif how == "optimizer":
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        net(pictures(16, 16)).mean().backward()
        optimizer.step()
    elif how == "there and back":
        net.to(torch.float64).to(torch.float32)
    elif how == "under inference mode":
        with torch.inference_mode():
            net.load_state_dict(trained(1, seed=7), assign=True)
            net(pictures(16, 16))
            for parameter in net.parameters():
                parameter.mul_(1.01)


@pytest.mark.parametrize(
    "how", ["load_state_dict", "assigned", "optimizer", "there and back", "under inference mode"]
)
def test_prepared_weights_follow_the_parameters(how):
    net, x = TransformerNetFused(1), pictures(24, 24)
    net.load_state_dict(trained(1))
    with torch.inference_mode():
        net(x)
    changed(net, how)
    plain = TransformerNetBaseline(1)
    plain.load_state_dict(net.state_dict())
    with torch.inference_mode():
        torch.testing.assert_close(net(x), plain(x), atol=5e-3, rtol=1e-4)


def test_a_norms_own_eps_counts():
    made, x = nets(1), pictures(24, 24)
    for net in made.values():
        net.in4.eps = 0.5
    with torch.inference_mode():
        torch.testing.assert_close(made["fused"](x), made["baseline"](x), atol=5e-3, rtol=1e-4)


def test_a_copy_is_independent():
    net, x = nets(1)["fused"], pictures(24, 24)
    assert isinstance(net, TransformerNetFused)
    with torch.inference_mode():
        expected = net(x)
    twin = copy.deepcopy(net)
    changed(net, "load_state_dict")
    with torch.inference_mode():
        assert torch.equal(twin(x), expected)
        assert not torch.equal(net(x), expected)


def psnr(a: Tensor, b: Tensor) -> float:
    error = (a.float().clamp(0, 255) - b.float().clamp(0, 255)).square().mean()
    return float(10 * torch.log10(255**2 / error))


@pytest.mark.parametrize("key", VARIANTS)
@pytest.mark.parametrize("dtype", some_daily([torch.float16, torch.bfloat16], 1), ids=str)
@torch.inference_mode()
def test_half_precision_gives_the_same_picture(dtype, key):
    x = pictures(64, 80)
    expected = nets()["baseline"](x)
    got = nets()[key].to(dtype)(x.to(dtype))
    assert got.dtype == dtype
    assert psnr(got, expected) > 33


@pytest.mark.parametrize("key", VARIANTS)
@pytest.mark.parametrize("inference", some_daily([False, True], 1))
def test_autocast_gives_the_same_picture(inference, key):
    x, net = pictures(64, 80), nets()[key]
    with torch.inference_mode(inference), torch.autocast("cpu", torch.bfloat16):
        got = net(x)
    with torch.inference_mode():
        assert got.dtype == torch.bfloat16
        assert psnr(got, nets()["baseline"](x)) > 33


def test_fused_trains_under_autocast():
    net = TransformerNetFused(1)
    with torch.autocast("cpu", torch.bfloat16):
        loss = net(pictures(16, 16)).float().square().mean()
    loss.backward()
    assert all(p.grad is not None and p.grad.dtype == p.dtype for p in net.parameters())


def test_networks_on_two_threads_do_not_disturb_each_other():
    inputs = [pictures(32, 48, seed=seed) for seed in (0, 1)]
    with torch.inference_mode():
        expected = [nets()["fused"](x) for x in inputs]
    wrong: list[int] = []

    def run(index: int) -> None:
        net = own[index]
        with torch.inference_mode():
            for _ in range(5):
                if not torch.equal(net(inputs[index]), expected[index]):
                    wrong.append(index)

    own = [nets()["fused"], nets()["fused"]]
    threads = [threading.Thread(target=run, args=(index,)) for index in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@torch.inference_mode()
def test_a_workspace_grows_and_gives_back():
    space, like = Workspace(), torch.zeros(1)
    small = space.take("a", (1, 4, 2, 3), like)
    assert small.shape == (1, 4, 2, 3)
    assert small.is_contiguous(memory_format=torch.channels_last)
    assert space.take("a", (1, 2, 2, 3), like).data_ptr() == small.data_ptr()
    assert space.take("b", (1, 4, 2, 3), like).data_ptr() != small.data_ptr()
    assert space.take("a", (1, 4, 2, 3), like.double()).dtype == torch.float64
    assert set(space._flat) == {"a"}  # the other precision was evicted
    space.clear()
    assert not space._flat


def test_weights_are_prepared_once():
    made: list[int] = []

    def make(weight: Tensor) -> tuple[Tensor, ...]:
        made.append(1)
        return (weight * 2,)

    prepared, source = PreparedWeights(), torch.ones(2, 3, 1, 1)
    for dtype, count in ((torch.float32, 1), (torch.float32, 1), (torch.bfloat16, 2)):
        (weight,) = prepared.get("a", source, dtype, make)
        assert (weight.dtype, len(made)) == (dtype, count)
    source.add_(1)
    (weight,) = prepared.get("a", source, torch.float32, make)
    assert torch.equal(weight, source * 2)


@pytest.mark.gpu
@pytest.mark.parametrize("key", VARIANTS)
@torch.inference_mode()
def test_on_a_gpu_the_picture_is_the_same(key):
    x = pictures(64, 81)
    expected = nets(5)["baseline"](x)
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        got = nets(5)[key].cuda()(x.cuda()).cpu()
    assert float((got - expected).abs().max()) < 0.05
    half = nets(5)[key].cuda().half()(x.cuda().half()).cpu()
    assert psnr(half, expected) > 33


@pytest.mark.parametrize("shape", [FULL, LITE, NetworkConfig(3, (8, 12, 20), 5)], ids=str)
def test_the_shapes_of_the_state_dict_are_known_without_a_network(shape):
    state = TransformerNetBaseline(**asdict(shape)).state_dict()
    assert shape.state_shapes() == {key: tuple(value.shape) for key, value in state.items()}
    assert list(shape.state_shapes()) == list(state)


@pytest.mark.parametrize("key", VARIANTS)
def test_a_checkpoint_is_taken_on_whole(key, tmp_path):
    torch.save(trained(2), tmp_path / "weights.pth")
    net = VARIANTS[key](2)
    assert net.load_checkpoint(str(tmp_path / "weights.pth")) is net
    for name, weight in trained(2).items():
        assert torch.equal(net.state_dict()[name], weight)


def test_a_checkpoint_that_does_not_fit_changes_nothing(tmp_path):
    net = TransformerNet(2)
    before = {name: weight.clone() for name, weight in net.state_dict().items()}
    torch.save(trained(3), tmp_path / "other.pth")
    torch.save(dict(list(trained(2).items())[:-1]), tmp_path / "cut.pth")
    for name, message in (
        ("other.pth", "'other.pth' has 3 residual blocks, .*; this network has 2 residual blocks"),
        ("cut.pth", "missing: deconv3.conv2d.bias"),
        ("none.pth", "'none.pth' does not exist"),
    ):
        with pytest.raises(CheckpointError, match=message):
            net.load_checkpoint(tmp_path / name)
    assert all(torch.equal(weight, before[name]) for name, weight in net.state_dict().items())


def test_one_network_serves_training_and_both_ways_without_gradients_in_any_order():
    net, plain, x = nets()["fused"], nets()["baseline"], pictures(32, 40)
    with torch.inference_mode():
        expected = net(x)
    with torch.no_grad():
        without = net(x)
    assert torch.equal(without, expected)
    assert not without.is_inference()
    with_gradient = net(x)
    with torch.no_grad():
        net(pictures(32, 40, seed=1))  # writes into every buffer
    with torch.inference_mode():
        net(pictures(32, 40, seed=2))
    with_gradient.square().mean().backward()
    plain(x).square().mean().backward()
    for got, wanted in ((net.conv1, plain.conv1), (net.deconv3, plain.deconv3)):
        gradient = wanted.conv2d.weight.grad
        assert gradient is not None
        torch.testing.assert_close(got.conv2d.weight.grad, gradient, rtol=1e-2, atol=1e-2)
    without.requires_grad_().sum().backward()  # an ordinary tensor for later code


@pytest.mark.gpu
def test_on_a_gpu_no_grad_is_enough_for_the_native_network():
    net, x = nets(5)["fused"].cuda(), pictures(64, 80).cuda()
    assert isinstance(net, TransformerNetFused)
    size = (1, 64, 80)
    assert net.plan(size, x.device) is None
    with torch.inference_mode():
        expected = net(x)
    with torch.no_grad():
        assert net.plan(size, x.device) is not None
        got = net(x)
        assert torch.equal(got, expected)
        net.load_state_dict(trained(5, seed=3))
        assert not torch.equal(net(x), expected)
    assert not got.is_inference()
