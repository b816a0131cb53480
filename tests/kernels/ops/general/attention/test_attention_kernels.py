"""The CUDA kernels around attention's products, run on the CPU thread by thread."""

from __future__ import annotations

import ctypes
import re
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.jit.cuda_tools import nvcc
from kernels.jit.libraries import FOLDER
from kernels.ops.general.attention import blocks, gathered, product, rope, scores, sparse
from tests.helpers import native
from tests.kernels.ops.binding import bound
from tests.kernels.ops.emulated import Launcher, built_or_skipped
from utils.tf32 import tf32_allowed

softmax = bound("attention_score", scores.launch_cuda)
NVCC = nvcc()
UNIT = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return built_or_skipped(tmp_path_factory.mktemp("attention_parts"), "attention_parts.cu")


@pytest.fixture
def launch(library: ctypes.CDLL) -> Any:
    return Launcher(library)


def assert_close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, atol=UNIT[found.dtype], rtol=4 * UNIT[found.dtype])


def test_the_softmax_and_its_gradient_are_those_of_the_reference(launch):
    for sample in scores.samples():
        weights = scores.launch_cuda(launch, *sample)
        assert_close(weights, scores.reference(*sample))
    for grad, weights in scores.samples_of_backward():
        found = scores.backward_on_cuda(launch, grad, weights)
        assert_close(found, scores.backward_reference(grad, weights))
    vectors = {arguments[-1] for _, arguments in launch.launched}
    assert vectors == {True, False}


def test_a_row_is_held_by_as_many_threads_as_it_needs(launch):
    found: list[tuple[int, int]] = []

    def record(_kernel: str, rows: int, threads: int, *arguments: Any) -> None:
        found.append((rows, threads))
        launch(_kernel, rows, threads, *arguments)

    for keys in (3, 300, 1030, scores.MOST_KEYS):
        q, k = torch.ones(1, 2, 4), torch.linspace(-1, 1, 4 * keys).view(1, keys, 4)
        assert_close(softmax(record, q, k), scores.reference(q, k, None, None))
    assert found == [(2, 32), (2, 32), (2, 256), (2, 512)]
    longer = torch.ones(1, scores.MOST_KEYS + 1, 4)
    softmax(record, torch.ones(1, 2, 4), longer)
    assert len(found) == 4
    refused = scores.refuses(
        q=SimpleNamespace(dtype=torch.float32, device=torch.device("cuda")), k=longer
    )
    assert refused == "the native CUDA kernel takes at most 8192 keys, got 8193"


def test_pairs_are_turned_as_the_reference_turns_them(launch):
    for sample in rope.samples():
        assert_close(rope.launch_cuda(launch, *sample), rope.reference(*sample))
    assert {arguments[-1] for _, arguments in launch.launched} == {True, False}


def test_tables_in_16_bits_are_read_as_they_are(launch):
    x = torch.randn(2, 3, 5, 16, generator=torch.Generator().manual_seed(0)).half()
    angles = torch.linspace(0, 3, 40).view(5, 8)
    narrow, wide = [
        [f(angles).to(t) for f in (torch.cos, torch.sin)] for t in (x.dtype, torch.float32)
    ]
    for cos, sin in (narrow, (narrow[0], wide[1])):
        assert_close(rope.launch_cuda(launch, x, cos, sin), rope.reference(x, cos, sin))
    (_, own), (_, mixed) = launch.launched
    assert [each.data_ptr() for each in own[1:3]] == [each.data_ptr() for each in narrow]
    assert mixed[1].dtype == mixed[2].dtype == torch.float32


def test_blocks_that_are_seen_are_attended_to_by_one_kernel(launch):
    for q, k, v, mask, scale in sparse.samples():
        if q.dtype not in sparse.DTYPES:
            continue
        # Heads are adjacent, as in a model.
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
        found = sparse.launch(launch, q, k, v, mask, scale)
        exact = sparse.with_whole_mask(q.double(), k.double(), v.double(), mask, scale)
        assert bool(((found - exact).abs() <= 2 * torch.finfo(q.dtype).eps).all())
        assert not found[..., 16:32, :].any()
        assert torch.equal(found, sparse.launch(launch, q, k, v, mask, scale))
    assert {name for name, _ in launch.launched} == {
        f"styleforge_block_sparse_{depth}" for depth in sparse.DEPTHS
    }


def test_blocks_of_other_sizes_are_attended_to_by_pytorch(launch):
    q, k, v = (torch.randn(1, 2, 48, 64).half() for _ in range(3))
    mask = torch.eye(2, dtype=torch.bool)
    found = sparse.launch(launch, q, k, v, mask)  # 24 queries
    assert torch.equal(found, sparse.with_whole_mask(q, k, v, mask))
    assert not launch.launched
    with pytest.raises(ValueError, match=r"block_sparse_forward: q, k, v and block_mask are \["):
        sparse.launch(launch, q, k, v[:, :1], mask)


@pytest.mark.parametrize("of_mask", [(), (1, 3), (2, 3)], ids=str)
def test_blocks_of_whole_tiles_are_attended_to_in_fp32_with_a_row_of_a_mask_each(
    launch, monkeypatch, of_mask
):
    q = torch.randn(2, 3, 256, 16)
    k, v = torch.randn(2, 3, 40, 16), torch.randn(2, 3, 40, 24)
    q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    mask = torch.rand(*of_mask, 4, 5) > 0.4
    mask[..., 1, :] = False
    for scale in (None, -0.3):
        expected = sparse.with_whole_mask(q.double(), k.double(), v.double(), mask, scale)
        masks: list[Tensor] = []
        attend = F.scaled_dot_product_attention

        def record(*args: Any, attend: Any = attend, masks: Any = masks, **kwargs: Any) -> Tensor:
            masks.append(args[3])
            return attend(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(F, "scaled_dot_product_attention", record)
            found = sparse.launch(launch, q, k, v, mask, scale)
        assert found.is_contiguous()
        assert_close(found, expected.float())
        assert not found[..., 64:128, :].any()
        ((_, rows, queries, keys),) = (x.shape for x in masks)
        assert (rows, queries, keys) == (4, 1, 40)


@pytest.mark.parametrize(
    ("queries", "size", "enabled"), [(32, 16, True), (64, 12, True), (64, 16, False)]
)
def test_other_blocks_in_fp32_are_attended_to_with_a_whole_mask(
    launch, monkeypatch, queries, size, enabled
):
    monkeypatch.setattr(torch.backends.cuda, "mem_efficient_sdp_enabled", lambda: enabled)
    monkeypatch.setattr(sparse, "by_blocks", None)
    q, k, v = (torch.randn(1, 2, length, size) for length in (2 * queries, 40, 40))
    mask = torch.eye(2, dtype=torch.bool)
    found = sparse.launch(launch, q, k, v, mask)
    assert torch.equal(found, sparse.with_whole_mask(q, k, v, mask))


def test_the_kernel_for_blocks_runs_without_gradients_alone(monkeypatch):
    monkeypatch.setattr(sparse, "capability", lambda _device: (8, 0))
    cuda = torch.device("cuda")

    def reason(dtype: torch.dtype = torch.float16, wanted: bool = False, depth: int = 64) -> str:
        x: Any = SimpleNamespace(
            dtype=dtype,
            device=cuda,
            requires_grad=wanted,
            shape=torch.Size((1, 2, 64, depth)),
            numel=lambda: 8192,
        )
        return sparse.slower_reason(x, x, x, torch.eye(2, dtype=torch.bool))

    assert reason() == reason(torch.bfloat16, depth=128) == ""
    assert "no gradient" in reason(wanted=True)
    with torch.no_grad():
        assert reason(wanted=True) == ""
    assert "torch.float32" in reason(torch.float32)
    assert "heads of 32" in reason(depth=32)
    monkeypatch.setattr(sparse, "capability", lambda _device: (7, 5))
    assert "of this GPU" in reason()


def test_sums_over_places_are_those_of_float64_rounded_once(launch):
    for x, places, *inverse in gathered.samples_of_sum():
        found = gathered.launch_sum(launch, x, places, *inverse)
        exact = gathered.sum_reference(x.double(), places, *inverse)
        unit = torch.finfo(found.dtype).eps
        assert bool(((found - exact).abs() <= unit * exact.abs() + 40 * 2**-23).all())
        assert not found[[1, 3]].any()
        assert torch.equal(found, gathered.launch_sum(launch, x, places, *inverse))
    assert {arguments[-1] for _, arguments in launch.launched} == {True, False}


def test_blocks_are_copied_to_their_places_whole(launch):
    generator = torch.Generator().manual_seed(0)
    places = torch.randint(9, (23,), generator=generator)
    places[places == 4] = 5  # block 4 has no place
    inverse = gathered.inverse_of(places, 9)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for width in (1, 6, 40, 300, 1032):
            x = torch.randn(9, width, generator=generator).to(dtype)
            found = gathered.launch_gather(launch, x, places, *inverse)
            assert torch.equal(found, x[places])
    assert {arguments[-1] for _, arguments in launch.launched} == {16, 4, 2}
    for x, *rest in gathered.samples():
        assert torch.equal(gathered.launch_gather(launch, x, *rest), x[rest[0]])


@pytest.mark.parametrize("outside", [-1, 5, 1 << 40])
def test_a_place_of_a_block_that_there_is_not_ends_the_kernel(launch, outside):
    places = torch.tensor([0, 1, outside, 3])
    inverse = torch.arange(4), torch.tensor([0, 1, 2, 2, 3, 4])
    with pytest.raises(AssertionError, match="a trap"):
        gathered.launch_gather(launch, torch.ones(5, 8), places, *inverse)
    places[2], inverse[0][2] = 2, outside
    with pytest.raises(AssertionError, match="a trap"):
        gathered.launch_gather(launch, torch.ones(5, 8), places, *inverse)


def test_more_places_than_a_block_of_threads_has_under_way_are_all_summed(launch):
    places = torch.zeros(200, dtype=torch.int64)
    x = torch.full((200, 2, 300), 0.5)
    found = gathered.launch_sum(launch, x, places, *gathered.inverse_of(places, 1))
    assert torch.equal(found, torch.full((1, 2, 300), 100.0))


def test_blocks_of_many_places_lie_among_blocks_of_few(launch):
    generator = torch.Generator().manual_seed(0)
    counts = [1, 17, 0, 16, 40, 3, 1, 5, 33, 2, 0]  # places per block, in more than one group
    places = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    places = places[torch.randperm(len(places), generator=generator)]
    for dtype in (torch.float32, torch.float16):
        x = torch.randint(-8, 9, (len(places), 3, 100), generator=generator).to(dtype)
        inverse = gathered.inverse_of(places, len(counts))
        found = gathered.launch_sum(launch, x, places, *inverse)
        assert torch.equal(found, gathered.sum_reference(x, places, *inverse))


def test_blocks_are_gathered_where_a_row_sees_one_of_ten():
    q: Any = SimpleNamespace(is_cuda=True, dtype=torch.float16)

    def reason(most: int, columns: int) -> str:
        return blocks.slower_reason(q, torch.zeros(columns, columns, dtype=torch.bool), most)

    assert reason(3, 32) == reason(3, 256) == ""
    assert "with 4 of 32 blocks" in reason(4, 32)
    assert "some queries see all blocks of keys" in reason(2, 2)


@pytest.mark.parametrize(
    ("leading", "queries", "keys", "depth"),
    [((), 128, 64, 64), ((3,), 130, 67, 20), ((2, 3), 33, 90, 132)],
)
def test_products_have_the_precision_of_fp32(launch, leading, queries, keys, depth):
    generator = torch.Generator().manual_seed(depth)
    # Heads are adjacent, as in a model.
    q = torch.randn(*leading, queries, 2, depth, generator=generator)[..., 1, :]
    k = torch.randn(*leading, keys, depth, generator=generator)
    scores_of = q.new_full((*leading, queries, keys), torch.nan)
    product.launch(launch, q, k, scores_of)
    exact = q.double() @ k.double().mT
    error = (scores_of - exact).abs().max()
    assert error <= 1.5 * (q @ k.mT - exact).abs().max()


def test_the_product_of_ours_runs_where_it_is_faster(monkeypatch):
    def reason(capability: tuple[int, int] = (9, 0), **of: Any) -> str:
        monkeypatch.setattr(product, "_capability", lambda _device: capability)
        traits = {"dtype": torch.float32, "device": torch.device("cuda"), **of}
        q = torch.empty(traits.get("shape", (2, 128, 64)), device="meta", dtype=traits["dtype"])
        like = SimpleNamespace(
            dtype=q.dtype, device=traits["device"], shape=q.shape, dim=q.dim, stride=stride_of(q)
        )
        like.data_ptr = lambda: traits.get("address", 0)
        return product.slower_reason(like, like)  # type: ignore[arg-type]

    def stride_of(x: Tensor):
        return lambda dim=None: x.stride() if dim is None else x.stride(dim)

    with tf32_allowed(False):
        assert reason() == reason((8, 0)) == ""
        assert "on this GPU" in reason((8, 6))
        assert "torch.float16" in reason(dtype=torch.float16)
        assert "on cpu" in reason(device=torch.device("cpu"))
        assert "strides" in reason(shape=(2, 128, 66))
        assert "strides" in reason(address=8)
        assert "1 queries" in reason(shape=(2, 1, 64))
        assert "a depth of 512" in reason(shape=(2, 128, 512))
    with tf32_allowed(True):
        assert "may use TF32" in reason()


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="there is no nvcc here")
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
def test_no_kernel_spills_registers(target, tmp_path):
    options = ["-arch", target, "-Xptxas", "-v", "-std=c++17", "-cubin", f"-I{FOLDER}"]
    source = native.source("attention_parts.cu")
    command = [str(NVCC), *options, "-o", str(tmp_path / "out.cubin"), str(source)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    spilled = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", ran.stderr)
    assert len(spilled) == 14
    assert set(spilled) == {("0", "0")}
