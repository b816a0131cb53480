"""A Stylist accepts any arrangement of pictures from a loader, in any thread or process."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from app.cli import main
from app.errors import StyleForgeError
from app.stylist import Stylist, StylistError
from tests.conftest import picture
from tests.helpers.any_style import save_tiny
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

ROOT = Path(__file__).resolve().parents[2]
LOOK: dict[str, Any] = {"device": "cpu", "kernels": "baseline", "network": "lite"}


@pytest.fixture(scope="module")
def stylist() -> Stylist:
    return Stylist("candy", **LOOK)


@pytest.fixture(scope="module")
def batch() -> np.ndarray:
    """Return three pictures, [3, 32, 40, 3]."""
    return np.stack([picture(40, 32, seed=seed) for seed in range(3)])


def close(one: np.ndarray, other: np.ndarray) -> bool:
    return np.abs(one.astype(int) - other).max() <= 2


def test_a_batch_becomes_a_batch_of_the_same_shape_and_stays_as_it_was(stylist, batch):
    before = batch.copy()
    styled = stylist(batch)
    assert (styled.shape, styled.dtype) == (batch.shape, np.uint8)
    assert not close(styled, batch)
    assert np.array_equal(batch, before)
    assert batch.flags.writeable
    assert styled.flags.writeable
    assert stylist(batch[:0]).shape == (0, 32, 40, 3)


def test_a_picture_does_not_depend_on_its_batch(stylist, batch):
    alone = [stylist(each) for each in batch]
    assert all(map(close, stylist(batch), alone))
    together = Stylist("candy", **LOOK, batch=3)
    assert all(map(close, together(batch), alone))


def test_pictures_of_several_sizes_keep_their_order(stylist, batch):
    others = [batch[0], picture(20, 24), batch[1], batch[2]]
    together = Stylist("candy", **LOOK, batch=4)
    styled = together(others)
    assert [each.shape for each in styled] == [each.shape for each in others]
    assert all(close(one, stylist(each)) for one, each in zip(styled, others, strict=True))
    objects = np.empty(4, object)
    objects[:] = others
    made = together(objects)
    assert made.dtype == object
    assert all(np.array_equal(one, other) for one, other in zip(made, styled, strict=True))


def test_a_mapping_keeps_what_else_it_holds(stylist, batch):
    row = {"path": np.array(["a", "b", "c"]), "image": batch}
    styled = stylist(row)
    assert list(styled) == ["path", "image"]
    assert styled["path"] is row["path"]
    assert row["image"] is batch
    assert np.array_equal(styled["image"], stylist(batch))
    other = Stylist("candy", **LOOK, column="pixels")
    with pytest.raises(ValueError, match="'pixels', only path, image"):
        other(row)


def test_a_subclass_may_let_one_call_wait_for_the_one_before(batch):
    class OneAtATime(Stylist):
        """Like Ray Data's wrapper: a call within a call would wait forever."""

        calls = 0

        def __call__(self, batch):
            self.calls += 1
            return super().__call__(batch)

    one = OneAtATime("candy", **LOOK)
    one({"image": batch})
    one(batch)
    assert one.calls == 2


def test_batches_of_a_data_loader_are_styled(stylist, batch):
    loader = DataLoader(TensorDataset(torch.from_numpy(batch)), batch_size=2)
    styled = np.concatenate([stylist(tensors) for (tensors,) in loader])
    assert all(map(close, styled, stylist(batch)))


def test_threads_take_turns(stylist, batch):
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(stylist, [batch, batch[:2], batch[1:], batch[0]]))
    assert close(made[0], stylist(batch))
    assert close(made[3], made[0][0])
    assert close(made[2], made[0][1:])


@pytest.mark.full
def test_another_process_loads_the_network_by_itself_without_qt_and_ray(stylist, batch, tmp_path):
    packed = pickle.dumps(stylist)
    assert len(packed) < 10_000  # contains no weights
    (tmp_path / "stylist").write_bytes(packed)
    np.save(tmp_path / "batch.npy", batch)
    code = (
        "import pickle, sys, numpy as np; from pathlib import Path; place = Path(sys.argv[1]);"
        "stylist = pickle.loads((place / 'stylist').read_bytes());"
        "np.save(place / 'styled.npy', stylist(np.load(place / 'batch.npy')));"
        "sys.exit(bool({'PySide6', 'ray', 'dask'} & {*sys.modules}))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True)
    assert close(np.load(tmp_path / "styled.npy"), stylist(batch))


def test_mixes_and_parameters_change_the_picture(stylist, batch):
    plain = stylist(batch[0])
    mixed = Stylist({"candy": 3, "starry_night": 1}, **LOOK)(batch[0])
    assert not close(mixed, plain)
    assert np.array_equal(Stylist("candy", **LOOK, strength=0)(batch[0]), batch[0])
    assert not close(Stylist("candy", **LOOK, size=16)(batch[0]), plain)


@pytest.mark.full
def test_a_picture_may_be_the_style_in_every_process(batch, tmp_path):
    painting, network = tmp_path / "red.png", save_tiny(tmp_path / "net.safetensors")
    pixels = picture(96, 72)
    pixels[..., 0] = 250
    write_pixels(painting, pixels)
    painter = Stylist(painting, style_network=network, device="cpu", kernels="baseline")
    styled = painter(batch[0])
    out = tmp_path / "out.png"
    write_pixels(tmp_path / "photo.png", batch[0])
    flags = ["--style-image", painting, "--style-network", network, "--kernels", "baseline"]
    given = ["stylize", tmp_path / "photo.png", "-o", out, "--device", "cpu", *flags]
    assert main([str(each) for each in given]) == 0
    assert close(styled, read_pixels(out))
    assert close(pickle.loads(pickle.dumps(painter))(batch[0]), styled)
    with pytest.raises(StylistError, match="picture, which is missing"):
        Stylist("candy", style_network=network, device="cpu")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"style": "cundy"}, "did you mean candy"),
        ({"style": Path("gone.png")}, "gone.png"),
        ({"style": {}}, "the shares of styles are positive"),
        ({"style": {"candy": -1, "udnie": 2}}, "the shares of styles are positive"),
        ({"device": "cuda:99"}, "there is no device 'cuda:99'"),
        ({"precision": "fp7"}, "there is no precision 'fp7', only fp32"),
        ({"precision": "fp16"}, "FP16 is slower"),
        ({"precision": "bf16"}, "BF16"),
        ({"kernels": "fastest"}, "'fastest' is not a value of kernels"),
        ({"size": 4}, "the size is 16 or more, not 4"),
        ({"batch": 0}, "a batch has 1 picture or more, not 0"),
        ({"strenght": 1}, "there is no parameter 'strenght', only strength"),
        ({"smoothing": 0.5}, "there is no parameter 'smoothing'"),
        ({"fluid": False}, "there is no parameter 'fluid'"),
        ({"strength": 2}, "strength cannot be 2.0"),
        ({"strokes": "thick"}, "strokes cannot be 'thick'"),
    ],
)
def test_what_is_not_possible_is_told_by_the_constructor(arguments, says):
    with pytest.raises(StyleForgeError) as caught:
        Stylist(**{"style": "candy", "device": "cpu"} | arguments)
    assert says in str(caught.value)
    assert "strength" not in arguments or isinstance(caught.value, StylistError)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 3, 32, 40), np.uint8),
        np.zeros((2, 32, 40, 3), np.float32),
        np.zeros((32, 40), np.uint8),
        np.zeros((0, 40, 3), np.uint8),
        [np.zeros((32, 40, 4), np.uint8)],
    ],
    ids=["channels first", "floats", "gray", "empty", "four channels"],
)
def test_what_is_no_batch_is_refused_with_its_shape(stylist, wrong):
    with pytest.raises(ValueError, match=r"\[H, W, 3\] uint8 RGB, .* \d+x"):
        stylist(wrong)
