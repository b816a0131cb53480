"""The transformer kernels' launchers launch exactly what transformer_launches.txt contains.

They run without a GPU, with a CUDA driver that only records launches.
"""

from __future__ import annotations

import pytest
import torch

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList
from kernels.driver.tensor_map import encode
from kernels.jit.errors import BuildError
from kernels.ops.transformer import launchers as transformer
from kernels.ops.transformer.attention import choice as attention_choice
from kernels.ops.transformer.attention import ladder_on_cuda as ladder
from kernels.ops.transformer.attention import on_cuda as attention
from kernels.ops.transformer.attention.on_cuda import readable, readable_mask, unavailable_reason
from kernels.ops.transformer.launchers import Transformer
from kernels.table.registry import OPS
from tests.kernels.driver import launches, stubs
from tests.kernels.driver.standins import names_of, write_images
from tests.kernels.ops.cuda import recorded_transformer as recorded


@pytest.fixture(scope="module")
def description(tmp_path_factory):
    return stubs.description_once("transformer", tmp_path_factory.mktemp("abi"))


@pytest.fixture(scope="module")
def folder(description, tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    write_images("transformer", description, folder)
    return folder


@pytest.fixture(scope="module")
def driver_stub(tmp_path_factory):
    return stubs.driver_stub(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def library(folder, driver_stub):
    images = ImageList.read(folder, "transformer")
    return Transformer(images, folder, (9, 0), 0, Driver(str(driver_stub)))


def test_every_launch_is_the_stored_one(library, description, driver_stub):
    stub, names = stubs.loaded(driver_stub), names_of("transformer", description)
    recorded.expect(stub, names)
    stored = launches.read(recorded.FILE)
    seen = set()
    for call, ours, theirs in zip(
        recorded.calls(), recorded.record(library, stub), stored, strict=True
    ):
        assert ours == theirs, call
        seen |= {launch.kernel.split(" ")[-1] for launch in ours.launches}
    described = {name for of_source in names.values() for name in of_source.values()}
    assert seen == described, "every kernel that is described is launched"


def test_a_rung_without_an_image_for_the_gpu_says_so(library):
    q = torch.zeros(1, 2, 5, 64, dtype=torch.float16)
    assert library.has("v3_sm90")
    del library._library._images["attention_v3_sm90.cu"]
    assert not library.has("v3_sm90")
    assert "for this GPU" in unavailable_reason(library, "v3_sm90", q, q)


def test_what_no_kernel_is_for_says_so(library):
    q = torch.zeros(1, 2, 5, 64)
    assert not unavailable_reason(library, "v3_fp32", q, q)
    assert "torch.float64" in unavailable_reason(library, "v3", q.double(), q.double())
    odd = torch.zeros(1, 2, 5, 48)
    assert "heads of 48" in unavailable_reason(library, "v3_fp32", odd, odd)
    assert not unavailable_reason(library, "v1", odd, odd)
    large = torch.zeros(1, 1, 2, 256)
    assert "heads of 256" in unavailable_reason(library, "v1", large, large)
    assert "nothing" in unavailable_reason(library, "v3_fp32", q, q[:, :, :0])
    many = torch.zeros(1, 1, 1, 64).expand(70000, 1, 1, 64)
    assert "65535" in unavailable_reason(library, "v3_fp32", many, many)


def test_what_is_refused_by_name_is_what_the_library_has_no_kernel_for(library):
    assert library.most_columns() == ladder.MOST_COLUMNS
    for dtype, parts in (("float32", ("v2", "v3_fp32")), ("float16", ("v2", "v3", "v3_backward"))):
        for part in parts:
            assert library.head_sizes(part, dtype) == set(attention.HEAD_SIZES)
    assert set(attention_choice.HEAD_SIZES) == set(attention.HEAD_SIZES)
    half = torch.zeros(1, 2, 5, 64, dtype=torch.float16)
    odd = torch.zeros(1, 2, 5, 48, dtype=torch.float16)
    x = torch.zeros(1, 5, 96)
    row = OPS["fused_attention"].refuses
    backward = OPS["fused_attention_backward"].refuses
    first, second = (
        OPS[name].refuses for name in ("fused_attention_v1", "fused_attention_v2_forward")
    )
    assert row is not None
    assert backward is not None
    assert first is not None
    assert second is not None
    assert not row(q=half, k=half, v=half)
    assert "heads of 48" in row(q=odd, k=odd, v=odd)
    assert "nothing" in row(q=half, k=half[:, :, :0], v=half)
    assert not backward(grad=half, q=half, k=half)
    assert "gradients of attention in torch.float32" in backward(q=half.float(), k=half.float())
    assert not first(x=x, num_heads=2)
    assert "heads of 48" in second(x=x, num_heads=2)
    assert not second(x=x, num_heads=3)


def test_maps_are_remembered_and_forgotten(library, monkeypatch):
    monkeypatch.setattr(transformer, "MOST_MAPS", 3)
    for length in range(1, 10):
        first = library._map("float16", recorded.rows(length, 64), 128)
        assert library._map("float16", recorded.rows(length, 64), 128) is first
        assert len(library._maps) <= 3


def test_a_tensor_that_cannot_be_mapped_is_an_error(driver_stub):
    driver = Driver(str(driver_stub))
    with pytest.raises(BuildError, match="cannot encode a tensor map"):
        encode(driver, "float16", 8, (64, 5, 1, 1), (128, 16, 16), (64, 5, 1, 1))
    with pytest.raises(BuildError, match="has no cuNothing"):
        driver.function("cuNothing")


def test_rows_are_copied_only_where_kernels_cannot_read_them():
    packed = torch.zeros(2, 9, 3, 4, 64, dtype=torch.float16)
    q = packed.permute(2, 0, 3, 1, 4)[0]
    assert readable(q) is q
    for unreadable in (
        torch.zeros(2, 4, 9, 128, dtype=torch.float16)[..., ::2],  # elements are not adjacent
        torch.zeros(2, 4, 9, 68, dtype=torch.float16)[..., :64],  # rows of 136 bytes
        # starts at byte 2
        torch.zeros(2 * 4 * 9 * 64 + 1, dtype=torch.float16)[1:].view(2, 4, 9, 64),
    ):
        copied = readable(unreadable)
        assert copied.data_ptr() % 16 == 0
        assert copied.is_contiguous()
        assert torch.equal(copied, unreadable)


def test_a_mask_is_read_where_it_lies_but_for_its_rows():
    q = torch.zeros(2, 4, 5, 64)
    k = torch.zeros(2, 4, 7, 64)
    padding = torch.zeros(2, 1, 1, 7)
    found = readable_mask(padding, q, k)
    assert found is not None
    assert found.shape == (2, 4, 5, 7)
    assert found.data_ptr() == padding.data_ptr()
    by_query = readable_mask(torch.arange(5.0).view(1, 1, 5, 1), q, k)
    assert by_query is not None
    assert by_query.stride(3) == 1
    assert torch.equal(by_query[1, 2, :, 3], torch.arange(5.0))
    assert readable_mask(None, q, k) is None
