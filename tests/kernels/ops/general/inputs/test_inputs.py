"""Properties of embeddings, pictures and windows, tested against PyTorch's own."""

from __future__ import annotations

import math
import weakref
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import kernel_fusion as kf
from kernels.table.registry import OPS, prepare

ON = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
DTYPES = pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str
)
NAMES = (
    "embedding_position", "contract_reshape", "token_embedding", "image_to_tensor",
    "sliding_window",
)  # fmt: skip
IMAGES = torch.randint(256, (3, 37, 50, 3), generator=torch.Generator().manual_seed(0)).byte()
MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
ZERO, ONE = torch.zeros(3), torch.ones(3)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    for status in prepare(NAMES):
        if "no C++ compiler" in status.reason:
            pytest.skip(status.reason)
        assert status.ready or status.by_choice, status


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def bytes_of(x: Tensor) -> Tensor:
    return x.permute(0, 3, 1, 2).double() / 255


def assert_near(found: Tensor, exact: Tensor, scale: float = 1.0) -> None:
    unit = torch.finfo(found.dtype).eps
    torch.testing.assert_close(
        found.double().cpu(), exact.double().cpu(), atol=8 * scale * unit, rtol=4 * unit
    )


# Embeddings.


@ON
@DTYPES
def test_an_embedding_with_positions_is_pytorchs(dtype, device):
    weight = normal(0, 11, 24).to(device, dtype).requires_grad_()
    position = normal(1, 9, 24).to(device, dtype).requires_grad_()
    tokens = torch.randint(11, (3, 5), generator=torch.Generator().manual_seed(0)).to(device)
    y = kf.ops.embedding_position(tokens, weight, position, 2.0, 3)
    exact = F.embedding(tokens, weight.double()) * 2 + position[3:8].double()
    assert_near(y, exact)
    grad = normal(2, 3, 5, 24).to(device, dtype)
    ours = torch.autograd.grad(y, (weight, position), grad)
    theirs = torch.autograd.grad(exact, (weight, position), grad.double())
    for mine, right in zip(ours, theirs, strict=True):
        assert_near(mine, right, 4)


def test_a_gradient_of_positions_is_copied_where_others_have_it():
    first, second = (normal(seed, 3, 4).requires_grad_() for seed in range(2))
    given = torch.ones(1, 3, 4)
    y = kf.ops.embedding_position(TOKENS[:1], TABLE[:, :4], first)
    (y + kf.ops.embedding_position(TOKENS[:1], TABLE[:, :4], second)).backward(given)
    assert first.grad is not None
    assert second.grad is not None
    assert len({x.data_ptr() for x in (given, first.grad, second.grad)}) == 3


def test_a_gradient_of_positions_is_that_of_the_result_where_nothing_else_has_it():
    position, seen = normal(0, 3, 4).requires_grad_(), []
    y = kf.ops.embedding_position(TOKENS[:1], TABLE[:, :4], position)
    y.register_hook(lambda grad: seen.extend((grad.data_ptr(), weakref.ref(grad))))
    (y * 2).sum().backward()
    assert position.grad is not None
    assert position.grad.data_ptr() == seen[0]
    assert position.grad.eq(2).all()
    assert seen[1]() is None  # the gradient was freed


def test_a_gradient_of_positions_has_one_itself():
    position = normal(0, 3, 4).requires_grad_()
    y = kf.ops.embedding_position(TOKENS[:1], TABLE[:, :4], position)
    (first,) = torch.autograd.grad(y.pow(3).sum(), position, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), position)
    torch.testing.assert_close(second, 6 * y[0])


@ON
@DTYPES
@pytest.mark.parametrize("padding", [None, 4])
def test_sequences_are_cut_and_padded_as_by_hand(padding, dtype, device):
    weight = normal(0, 7, 8).to(device, dtype).requires_grad_()
    tokens = [torch.tensor(each, device=device) for each in ([1, 2, 4, 6, 1, 0], [3], [4, 4])]
    y, given = kf.ops.token_embedding(tokens, weight, 4, padding)
    cut = [each[:4] for each in tokens]
    by_hand = torch.nn.utils.rnn.pad_sequence(cut, True, -1 if padding is None else padding)
    assert given.tolist() == [[True] * 4, [True] + [False] * 3, [True] * 2 + [False] * 2]
    rows = F.embedding(by_hand.clamp(min=0), weight, padding)
    expected = rows if padding is not None else rows * given[..., None]
    assert torch.equal(y, expected)
    grad = normal(1, 3, 4, 8).to(device, dtype)
    (mine,) = torch.autograd.grad(y, weight, grad)
    (theirs,) = torch.autograd.grad(expected, weight, grad)
    assert_near(mine, theirs, 4)
    assert padding is None or not mine[padding].any()


@pytest.mark.parametrize("token", [-1, 7, 1 << 40])
def test_a_token_that_is_not_in_the_table_is_an_error(token):
    weight = normal(0, 7, 4)
    with pytest.raises(IndexError, match="a token is not in the table of embeddings"):
        kf.ops.embedding_position(torch.tensor([[0, token]]), weight, weight)
    with pytest.raises(IndexError, match="a token is not in the table of embeddings"):
        kf.ops.token_embedding([torch.tensor([token])], weight, 3)
    # truncated to one token
    found, _ = kf.ops.token_embedding([torch.tensor([0, token])], weight, 1)
    assert torch.equal(found[0, 0], weight[0])


# Pictures.


@ON
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("size", [[12, 17], [80, 61], [37, 50], [1, 1], [100, 9]])
def test_a_picture_is_resized_as_by_pytorch(size, antialias, device):
    images = IMAGES.to(device)
    found = kf.ops.image_to_tensor(
        images, ZERO.to(device), ONE.to(device), size, antialias=antialias
    )
    exact = F.interpolate(bytes_of(images), size, mode="bilinear", antialias=antialias)
    assert_near(found, exact)


@ON
@DTYPES
def test_each_picture_has_its_own_box_and_mirror(dtype, device):
    boxes = [0, 0, 37, 50, 5, 7, 20, 11, 36, 49, 1, 1]
    images, mean, std = IMAGES.to(device), MEAN.to(device, dtype), STD.to(device, dtype)
    found = kf.ops.image_to_tensor(images, mean, std, [14, 9], boxes, [False, True, True])
    assert found.dtype == dtype
    assert found.is_contiguous()
    for number, image in enumerate(bytes_of(images)):
        top, left, height, width = boxes[4 * number : 4 * number + 4]
        part = image[None, :, top : top + height, left : left + width]
        exact = F.interpolate(part, (14, 9), mode="bilinear", antialias=True)[0]
        exact = (exact - mean.double()[:, None, None]) / std.double()[:, None, None]
        # The reciprocal of std is rounded to FP32.
        assert_near(found[number], exact.flip(2) if number else exact, 4)


def test_pictures_without_a_box_keep_their_size_and_channels_may_be_last():
    found = kf.ops.image_to_tensor(IMAGES, MEAN, STD, channels_last=True)
    assert found.is_contiguous(memory_format=torch.channels_last)
    mean, std = MEAN.double()[:, None, None], STD.double()[:, None, None]
    assert_near(found, (bytes_of(IMAGES) - mean) / std, 4)
    box = kf.ops.image_to_tensor(IMAGES, MEAN, STD, boxes=[1, 2, 30, 40])
    assert torch.equal(box, found[:, :, 1:31, 2:42].contiguous())


def color(*factors: float) -> Tensor:
    return kf.ops.image_to_tensor(IMAGES, ZERO, ONE, color=list(factors))


def test_colors_change_as_they_are_named():
    plain = bytes_of(IMAGES)
    gray = (plain * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdim=True)
    assert_near(color(1, 1, 1, 0), plain)
    assert_near(color(1.5, 1, 1, 0), (plain * 1.5).clamp(0, 1))
    assert_near(color(1, 0.5, 1, 0), (plain - 0.5) * 0.5 + 0.5)
    assert_near(color(1, 1, 0, 0), gray.expand_as(plain), 2)
    assert_near(color(1, 1, 1.5, 0), (gray + (plain - gray) * 1.5).clamp(0, 1), 2)
    assert_near(color(1, 1, 1, 1), plain, 2)  # a whole turn
    assert_near(color(0.8, 0.9, 0.7, 0.5), color(0.8, 0.9, -0.7, 0), 2)
    luma = (color(1, 1, 0.2, 0.3) * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1)
    inside = (gray[:, 0] > 0.2) & (gray[:, 0] < 0.8)
    assert_near(luma[inside], gray[:, 0][inside], 4)


# Windows.

# Groups of 1 to 9 elements, contiguous and strided.
WINDOWS = [(1, 1), (4, 1), (3, 3), (5, 2), (3, 7), (40, 1)]
WINDOWS += [(6, 4), (16, 4), (8, 12), (16, 8), (9, 18)]


@ON
@DTYPES
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize(("size", "step"), WINDOWS)
def test_windows_and_gradients_are_pytorchs(size, step, reduce, dtype, device):
    x = normal(0, 3, 2, 40).to(device, dtype).requires_grad_()
    windows = x.double().unfold(-1, size, step)
    run = {"max": windows.amax, "min": windows.amin, "sum": windows.sum, "mean": windows.mean}
    exact = run[reduce](-1)
    y = kf.ops.sliding_window(x, size, step, reduce)
    assert_near(y, exact, 4)
    grad = normal(1, *y.shape).to(device, dtype)
    (mine,) = torch.autograd.grad(y, x, grad)
    (right,) = torch.autograd.grad(exact, x, grad.double())
    assert_near(mine, right, 4)


@ON
def test_equal_values_share_the_gradient_and_nan_stays(device):
    x = torch.zeros(1, 6, device=device, requires_grad=True)
    y = kf.ops.sliding_window(x, 3, 3, "max")
    (grad,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(grad, torch.full_like(x, 1 / 3))
    series = torch.tensor([[1.0, math.nan, 2.0, 3.0, 4.0]], device=device)
    for reduce in ("max", "min", "sum", "mean"):
        found = kf.ops.sliding_window(series, 2, 1, reduce)
        assert found.isnan().tolist() == [[True, True, False, False]]


@ON
@pytest.mark.parametrize("reduce", ["mean", "max"])
def test_second_derivatives_of_windows_are_right(reduce, device):
    x = normal(0, 2, 9).double().to(device).requires_grad_()

    def run(x: Tensor) -> Tensor:
        return kf.ops.sliding_window(x.exp(), 4, 2, reduce)

    assert torch.autograd.gradgradcheck(run, (x,), atol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_embeddings_that_go_past_the_caches_are_the_same(scale):
    tokens = torch.randint(50, (2, 1700), generator=torch.Generator().manual_seed(0))
    weight, position = normal(1, 50, 1024), normal(2, 1700, 1024)
    found = kf.ops.embedding_position(tokens, weight, position, scale)
    torch.testing.assert_close(found, weight[tokens] * scale + position, atol=1e-6, rtol=1e-6)
    alone = kf.ops.embedding_position(tokens[:, :3], weight, position, scale)
    assert torch.equal(found[:, :3], alone)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gradients_of_tables_that_go_past_the_caches_are_the_same(dtype):
    grad = normal(0, 5000, 1024).to(dtype)
    tokens = torch.randint(-1, 901, (5000,), generator=torch.Generator().manual_seed(0))
    found = torch.ops.styleforge.embedding_backward(tokens, grad, 900, 7)
    inside = (tokens >= 0) & (tokens < 900) & (tokens != 7)
    exact = torch.zeros(900, 1024, dtype=torch.float64)
    exact.index_add_(0, tokens[inside], grad[inside].double())
    torch.testing.assert_close(found, exact.to(dtype))
    assert not found[7].any()


def test_the_number_of_threads_changes_no_bit():
    x, weight = normal(0, 5, 3000), normal(1, 50, 24)
    tokens = torch.randint(50, (4, 20), generator=torch.Generator().manual_seed(0))
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            y = kf.ops.sliding_window(x, 7)
            back = OPS["sliding_window_backward"].operation(y, x, y, 7)
            embedded = kf.ops.embedding_position(tokens, weight, weight)
            of_table = torch.ops.styleforge.embedding_backward(tokens, embedded, 50)
            image = kf.ops.image_to_tensor(IMAGES, MEAN, STD, [20, 21])
            found.append((y, back, embedded, of_table, image))
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, found[0], found[1]))
    assert all(map(torch.equal, found[0], found[2]))


# Products.


@ON
def test_a_product_in_its_shape_is_pytorchs_with_its_gradients(device):
    x, y = normal(0, 2, 3).to(device).requires_grad_(), normal(1, 3, 4).to(device).requires_grad_()
    found = kf.ops.contract_reshape("ij,jk->ki", [x, y], [2, -1])
    expected = (x @ y).t().reshape(2, 4)
    torch.testing.assert_close(found, expected)
    ours = torch.autograd.grad(found.square().sum(), (x, y))
    theirs = torch.autograd.grad(expected.square().sum(), (x, y))
    for mine, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, right)


TOKENS, TABLE = torch.zeros(2, 3, dtype=torch.int64), torch.ones(4, 5)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("embedding_position", (TOKENS.int(), TABLE, TABLE), r"tokens is torch\.int32 \[2, 3\] on"),
        ("embedding_position", (TOKENS, TABLE[0], TABLE), r"weight is torch\.float32 \[5\]; expec"),
        ("embedding_position", (TOKENS, TABLE, TABLE.half()), r"position is torch\.float16 on cpu"),
        ("embedding_position", (TOKENS, TABLE, TABLE, 1.0, 2), r"position has the shape \[4, 5\];"),
        ("embedding_position", (TOKENS, TABLE, TABLE, 1.0, -1), "start is -1; expected at least 0"),
        ("token_embedding", ([TOKENS], TABLE, 3), r"tokens is torch\.int64 \[2, 3\] on cpu; expec"),
        ("token_embedding", ([TOKENS[0]], TABLE, 0), "length is 0; expected at least 1"),
        (
            "token_embedding",
            ([TOKENS[0]], TABLE, 3, 4),
            "padding is 4; expected a row of the table",
        ),
        ("image_to_tensor", (IMAGES[0], MEAN, STD), r"images is torch\.uint8 \[37, 50, 3\]; expec"),
        ("image_to_tensor", (IMAGES, MEAN, STD.half()), r"std is torch\.float16 \[3\]; expected f"),
        ("image_to_tensor", (IMAGES, MEAN, STD, [0, 4]), r"size is \[0, 4\]; expected a height an"),
        ("image_to_tensor", (IMAGES, MEAN, STD, None, [0, 1, 37, 50]), r"boxes has \[0, 1, 37, 5"),
        (
            "image_to_tensor",
            (IMAGES, MEAN, STD, None, [0] * 8),
            "boxes has 8 numbers; expected 4, ",
        ),
        ("image_to_tensor", (IMAGES, MEAN, STD, None, None, [True] * 2), "mirrored has 2 numbers"),
        ("image_to_tensor", (IMAGES, MEAN, STD, None, None, None, [1.0]), "color has 1 numbers; e"),
        ("sliding_window", (TOKENS, 2), r"x is torch\.int64 \[2, 3\]; expected floating"),
        ("sliding_window", (TABLE, 6), "size is 6; expected 1 to 5"),
        ("sliding_window", (TABLE, 2, 0), "step is 0; expected at least 1"),
        (
            "sliding_window",
            (TABLE, 2, 1, "median"),
            "reduce is 'median'; expected one of sum, mean",
        ),
        ("sliding_window_backward", (TABLE, TABLE, TABLE, 2), r"grad is torch\.float32 \[4, 5\];"),
        ("contract_reshape", ("ij,kl->ijk", [TABLE, TABLE], [3]), r"operands have the shapes \[4"),
    ],
)
def test_what_does_not_fit_is_named(name, given: tuple[Any, ...], said):
    with pytest.raises(ValueError, match=f"{name}: {said}"):
        OPS[name].operation(*given)


@pytest.mark.slow
def test_they_compile_into_one_graph():
    def run(x: Tensor, images: Tensor, tokens: Tensor, weight: Tensor) -> list[Tensor]:
        return [
            kf.ops.sliding_window(x, 3, 2, "max") * 2,
            kf.ops.image_to_tensor(images, MEAN, STD, [8, 9]) * 2,
            kf.ops.embedding_position(tokens, weight, weight) * 2,
            kf.ops.token_embedding([tokens[0], tokens[1]], weight, 2)[0] * 2,
        ]

    given = normal(0, 2, 9).requires_grad_(), IMAGES, TOKENS, TABLE
    torch._dynamo.reset()
    found = torch.compile(run, fullgraph=True, backend="aot_eager")(*given)
    for mine, expected in zip(found, run(*given), strict=True):
        assert torch.equal(mine, expected)


@pytest.mark.gpu
def test_a_cuda_graph_replays_windows_embeddings_and_pictures():
    x, tokens, weight = normal(0, 4, 50).cuda(), TOKENS.cuda(), TABLE.cuda()
    pictures, mean, std = IMAGES.cuda(), MEAN.cuda(), STD.cuda()
    boxes = [0, 0, 37, 50, 5, 7, 20, 11, 1, 2, 3, 4]

    def run() -> tuple[Tensor, ...]:
        table = weight.detach().requires_grad_()
        embedded = kf.ops.token_embedding([tokens[0], tokens[1, :2]], table, 3)[0]
        return (
            embedded,
            *torch.autograd.grad(embedded, table, embedded.detach() * 2),
            kf.ops.sliding_window(x, 4, 2),
            kf.ops.embedding_position(tokens, weight, weight),
            kf.ops.image_to_tensor(pictures, mean, std, [9, 8], boxes),
        )

    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = run()
    x.copy_(normal(1, 4, 50))
    tokens.fill_(2)
    pictures.add_(1)
    graph.replay()
    assert all(map(torch.equal, made, run()))
