"""The loss network: as published, with either input convention, and never from a wrong file."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from models.training.download.whole_file import fetch
from models.training.errors import TrainingError
from models.training.features import Vgg19Features, load_vgg
from models.training.vgg_layers import LAYERS
from tests.helpers.errors import mentions


def test_one_network_in_either_input_convention_sees_the_same(vgg_state: dict[str, Tensor]) -> None:
    caffe = Vgg19Features(vgg_state, "caffe")
    images = torch.rand(1, 3, 32, 32) * 255
    first = torch.nn.functional.conv2d(
        images[:, [2, 1, 0]] - torch.tensor([103.939, 116.779, 123.68])[None, :, None, None],
        vgg_state["features.0.weight"],
        vgg_state["features.0.bias"],
        padding=1,
    ).relu()
    torch.testing.assert_close(caffe(images)["relu1_1"], first, rtol=1e-4, atol=1e-3)

    normalized = Vgg19Features(vgg_state, "torchvision")
    mean, deviation = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
    second = torch.nn.functional.conv2d(
        (images / 255 - mean[:, None, None]) / deviation[:, None, None],
        vgg_state["features.0.weight"],
        vgg_state["features.0.bias"],
        padding=1,
    ).relu()
    torch.testing.assert_close(normalized(images)["relu1_1"], second, rtol=1e-4, atol=1e-4)


def test_features_have_the_published_shapes_and_no_gradients(features: Vgg19Features) -> None:
    seen = features(torch.rand(2, 3, 32, 48))
    assert list(seen) == list(LAYERS.values())
    assert seen["relu1_2"].shape == (2, 64, 32, 48)
    assert seen["relu2_1"].shape == (2, 128, 16, 24)
    assert seen["relu3_4"].shape == (2, 256, 8, 12)
    assert list(features(torch.rand(1, 3, 32, 32), "relu2_1"))[-1] == "relu2_1"
    assert not any(p.requires_grad for p in features.parameters())


@pytest.mark.parametrize("said", ["BGR, 0-255", "RGB / 255, normalized"])
def test_a_safetensors_file_says_which_input_it_wants(
    tmp_path: Path, vgg_state: dict[str, Tensor], said: str
) -> None:
    save_file(vgg_state, tmp_path / "v.safetensors", {"input": said})
    expected = Vgg19Features(vgg_state, "caffe" if said.startswith("BGR") else "torchvision")
    assert torch.equal(load_vgg(tmp_path / "v.safetensors").mean, expected.mean)


def test_a_torch_file_is_read_once_its_input_is_told(
    tmp_path: Path, vgg_state: dict[str, Tensor]
) -> None:
    path = tmp_path / "vgg.pth"
    torch.save(vgg_state, path)
    with pytest.raises(TrainingError, match="--vgg-input caffe or torchvision"):
        load_vgg(path)
    assert load_vgg(path, "torchvision")(torch.rand(1, 3, 32, 32))["relu3_4"].isfinite().all()


def test_what_is_not_vgg_is_told_in_a_sentence(
    tmp_path: Path, vgg_state: dict[str, Tensor], vgg_file: Path
) -> None:
    def told(path: Path) -> str:
        with pytest.raises(TrainingError) as caught:
            load_vgg(path, "caffe")
        return str(caught.value)

    assert "does not exist" in told(tmp_path / "absent.pth")
    page = tmp_path / "page.pth"
    page.write_text("<!doctype html><html>404</html>")
    assert mentions(told(page), "page.pth", "weights")
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(vgg_file.read_bytes()[:5000])
    assert mentions(told(cut), "cut.safetensors", "safetensors file")
    listed = tmp_path / "list.pth"
    torch.save([1, 2], listed)
    assert "no table of weights" in told(listed)
    partial_state = {k: v for k, v in vgg_state.items() if k != "features.16.bias"}
    save_file(partial_state, tmp_path / "partial.safetensors")
    assert told(tmp_path / "partial.safetensors").endswith("type or shape: features.16.bias")
    save_file(vgg_state | {"features.0.bias": torch.full((64,), torch.nan)}, tmp_path / "nan.st")
    assert "not finite" in told(tmp_path / "nan.st")
    for n, odd in enumerate(
        (
            torch.zeros(64, dtype=torch.complex64),
            torch.zeros(64).to_sparse(),
            torch.empty(64, device="meta"),
            torch.zeros(64, dtype=torch.int32),
        )
    ):
        torch.save(vgg_state | {"features.0.bias": odd}, tmp_path / f"odd{n}.pth")
        assert told(tmp_path / f"odd{n}.pth").endswith("type or shape: features.0.bias")


def test_what_a_file_of_vgg_and_its_name_hold_is_shown_as_one_line(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "\n\x1b[2J" * 1000, "shape": [], "data_offsets": [0, 0]}})
    path = tmp_path / "two\nlines.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode())
    with pytest.raises(TrainingError, match="damaged safetensors") as caught:
        load_vgg(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_what_killed_downloads_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "vgg.pth").write_bytes(b"weights")
    cache = tmp_path / "cache"
    cache.mkdir()
    for process in (11, 12):
        (cache / f".vgg.pth.{process}.tmp").write_bytes(b"wei")
    with serving(tmp_path / "served") as server:
        fetch(f"{server}/vgg.pth", cache, sha256(b"weights").hexdigest()[:8])
    assert [path.name for path in cache.iterdir()] == ["vgg.pth"]


def test_a_download_is_checked_and_kept(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    data = bytes(range(256)) * 9000
    (tmp_path / "served" / "vgg.pth").write_bytes(data)
    cache = tmp_path / "cache"
    seen: list[tuple[int, int]] = []
    with serving(tmp_path / "served") as server:
        address = f"{server}/vgg.pth"
        with pytest.raises(TrainingError, match="checksum is wrong"):
            fetch(address, cache, "00000000")
        assert list(cache.iterdir()) == []
        path = fetch(address, cache, sha256(data).hexdigest()[:8], lambda *at: seen.append(at))
        with pytest.raises(TrainingError, match=r"vgg2\.pth .* with --vgg") as refused:
            fetch(f"{server}/vgg2.pth", cache, "")
        answer: Any = refused.value.__cause__
        assert answer.closed
    assert path.read_bytes() == data
    assert seen[-1] == (len(data), len(data))
    # the server is gone: the file comes from the cache
    assert fetch(address, cache, "unasked") == path
    with pytest.raises(TrainingError, match=r"downloaded .* with --vgg"):
        fetch(f"{server}/other.pth", cache, "")
