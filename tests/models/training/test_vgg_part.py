"""VGG-19's layers are downloaded without the rest of the file, and never from a wrong one."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from models.training.download import cached_vgg, present_vgg, vgg
from models.training.download.errors import LayoutError, WholeFileNeededError
from models.training.download.pickled import described
from models.training.download.saved_tensors import open_saved
from models.training.download.vgg_part import PART_BYTES, check_part, fetch_part, layer_bytes
from models.training.errors import TrainingError
from models.training.features import Vgg19Features, load_vgg
from models.training.vgg_layers import layer_shapes
from tests.helpers.errors import mentions
from tests.models.training.conftest import small_files
from tests.models.training.range_server import Served, serving
from tools import vgg_hashes

HEADS = 100_000  # bytes besides the layers: the head, the directory of a ZIP, its members' headers


class _Parameter2017:
    """A parameter pickled as in PyTorch 0.1: the class, its data, and a state."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __reduce__(self) -> Any:
        return torch.nn.Parameter, (self._tensor,), (True, False, OrderedDict())


class _Pairs:
    """An ordered dict pickled as in Python 2, with its items as an argument."""

    def __init__(self, items: dict[str, Any]) -> None:
        self._items = items

    def __reduce__(self) -> Any:
        return OrderedDict, ([[name, value] for name, value in self._items.items()],)


def saved(state: Any, *, zipped: bool) -> bytes:
    file = io.BytesIO()
    torch.save(state, file, _use_new_zipfile_serialization=zipped)
    return file.getvalue()


@pytest.fixture(scope="module")
def whole(vgg_state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the used layers, deeper ones and a classifier, in an order other than the file's."""
    generator = torch.Generator().manual_seed(3)
    more = {
        "classifier.0.weight": torch.randn(1024, 1024, generator=generator),
        "features.19.weight": torch.randn(512, 256, 3, 3, generator=generator),
        "features.19.bias": torch.randn(512, generator=generator),
    }
    return {**more, **{key: vgg_state[key].float() for key in layer_shapes()}}


@pytest.fixture(scope="module")
def legacy(whole: dict[str, Tensor]) -> bytes:
    return saved(OrderedDict(whole), zipped=False)


def part(folder: Path) -> Path:
    return folder / "cache" / "part.safetensors"


def told(served: Served, folder: Path, hashes: dict[str, str] | None = None) -> str:
    """Return the error of a failing download and check that it leaves no files."""
    with serving(served), pytest.raises(TrainingError) as caught:
        fetch_part(served.address, part(folder), hashes or {})
    assert list(part(folder).parent.iterdir()) == []
    return str(caught.value)


@pytest.mark.parametrize("layout", ["legacy", "zip", "2017", "python 2", "parameters"])
def test_no_more_than_the_head_and_the_layers_is_transferred(
    whole: dict[str, Tensor], tmp_path: Path, layout: str
) -> None:
    made = {
        "legacy": OrderedDict(whole),
        "zip": OrderedDict(whole),
        "2017": OrderedDict((name, _Parameter2017(tensor)) for name, tensor in whole.items()),
        "python 2": _Pairs(whole),
        "parameters": {name: torch.nn.Parameter(tensor) for name, tensor in whole.items()},
    }
    data = saved(made[layout], zipped=layout == "zip")
    seen: list[tuple[int, int]] = []
    with serving(Served(data)) as served:
        proven = fetch_part(served.address, part(tmp_path), {}, lambda *counts: seen.append(counts))
    assert not proven
    assert PART_BYTES <= served.sent < PART_BYTES + HEADS < len(data)
    assert seen[-1] == (PART_BYTES, PART_BYTES)
    layers = load_file(part(tmp_path))
    assert set(layers) == set(layer_shapes())
    assert all(torch.equal(layers[key], whole[key]) for key in layers)


def test_the_part_is_read_as_the_whole_file_is(
    whole: dict[str, Tensor], legacy: bytes, tmp_path: Path
) -> None:
    with serving(Served(legacy)) as served:
        fetch_part(served.address, part(tmp_path), {})
    image = torch.rand(1, 3, 32, 32) * 255
    expected = Vgg19Features(whole, "torchvision")(image)["relu3_4"]
    assert torch.equal(load_vgg(part(tmp_path))(image)["relu3_4"], expected)
    with safe_open(part(tmp_path), "pt") as file:
        assert file.metadata()["source"] == served.address


@pytest.mark.parametrize("missing", ["ranges", "version", "size"])
def test_a_server_without_ranges_leads_to_the_whole_file_which_is_asked_for(
    legacy: bytes, tmp_path: Path, missing: str
) -> None:
    huge = "1" + "0" * 30 if missing == "size" else ""
    served = Served(legacy, ranges=missing != "ranges", total=huge)
    if missing == "version":
        served.headers = {}
    with serving(served), pytest.raises(WholeFileNeededError) as caught:
        fetch_part(served.address, part(tmp_path), {})
    assert mentions(str(caught.value), "575 MB", "--vgg-download whole")
    assert len(served.requests) == 1
    assert list(part(tmp_path).parent.iterdir()) == []


@pytest.mark.parametrize("at", [2, 9])
@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("ETag", '"first"', '"second"'),
        ("ETag", 'W/"first"', 'W/"second"'),
        ("Last-Modified", "Tue, 01 Feb 2022 10:00:00 GMT", "Tue, 01 Feb 2022 10:00:01 GMT"),
    ],
)
def test_a_file_that_changes_in_between_is_refused(
    legacy: bytes, tmp_path: Path, at: int, name: str, first: str, second: str
) -> None:
    served = Served(legacy, headers={name: first})

    def change(number: int) -> None:
        if number == at:
            served.headers = {name: second}

    served.before = change
    assert "changed on the server" in told(served, tmp_path)


def test_a_file_of_another_length_in_between_is_refused(legacy: bytes, tmp_path: Path) -> None:
    served = Served(legacy)

    def grow(number: int) -> None:
        served.data = legacy + bytes(number - 1)

    served.before = grow
    assert "changed on the server" in told(served, tmp_path)


def test_a_connection_that_breaks_off_leaves_nothing(legacy: bytes, tmp_path: Path) -> None:
    assert "was lost" in told(Served(legacy, cut=1), tmp_path)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_truncated_file_is_refused(
    whole: dict[str, Tensor], tmp_path: Path, zipped: bool
) -> None:
    data = saved(whole, zipped=zipped)
    assert mentions(told(Served(data[:-4]), tmp_path), "cannot be downloaded alone", "the file on")


@pytest.mark.parametrize("wrong", ["shape", "type", "missing", "not finite"])
def test_a_file_of_other_tensors_is_refused(
    whole: dict[str, Tensor], tmp_path: Path, wrong: str
) -> None:
    key = "features.7.weight"
    state = dict(whole)
    if wrong == "shape":
        state[key] = whole[key][:, :64].contiguous()
    elif wrong == "type":
        state[key] = whole[key].half()
    elif wrong == "missing":
        del state[key]
    else:
        state[key] = whole[key].clone()
        state[key][5, 5] = torch.nan
    assert key in told(Served(saved(state, zipped=False)), tmp_path)


def test_a_storage_elsewhere_than_expected_is_refused(legacy: bytes, tmp_path: Path) -> None:
    count = (64).to_bytes(8, "little")  # the size of features.0.bias and features.2.bias
    broken = legacy.replace(count, (65).to_bytes(8, "little"))
    assert broken != legacy
    assert "wrong size" in told(Served(broken), tmp_path)


def test_a_cancelled_download_leaves_nothing(legacy: bytes, tmp_path: Path) -> None:
    def cancel(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with serving(Served(legacy)) as served, pytest.raises(KeyboardInterrupt):
        fetch_part(served.address, part(tmp_path), {}, cancel)
    assert list(part(tmp_path).parent.iterdir()) == []


def test_a_full_disk_is_told_and_leaves_no_part(legacy: bytes, tmp_path: Path) -> None:
    full = pytest.raises(TrainingError, match="could not be downloaded")
    with serving(Served(legacy)) as served, small_files(PART_BYTES // 2), full:
        fetch_part(served.address, part(tmp_path), {})
    assert not part(tmp_path).exists()


def test_known_checksums_prove_the_part_and_refuse_another(
    whole: dict[str, Tensor], legacy: bytes, tmp_path: Path
) -> None:
    hashes = {key: hashlib.sha256(layer_bytes(whole[key])).hexdigest() for key in layer_shapes()}
    with serving(Served(legacy)) as served:
        assert fetch_part(served.address, part(tmp_path), hashes)
        some = dict(list(hashes.items())[:-1])
        assert not fetch_part(served.address, tmp_path / "some" / "part.safetensors", some)
    other = hashes | {"features.5.bias": "0" * 64}
    assert "checksum of features.5.bias" in told(Served(legacy), tmp_path / "other", other)


def test_a_part_that_was_damaged_later_is_deleted_with_a_sentence(
    legacy: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STYLEFORGE_CACHE", str(tmp_path / "cache"))
    notes: list[str] = []
    with serving(Served(legacy)) as served:
        monkeypatch.setattr(vgg, "ADDRESS", served.address)
        assert present_vgg() is None
        path = cached_vgg(note=notes.append)
        assert present_vgg() == path
        assert cached_vgg(note=notes.append) == path
        asked = len(served.requests)
        damaged = bytearray(path.read_bytes())
        damaged[-5] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(TrainingError, match=r"damaged .*deleted"):
            cached_vgg()
        assert len(served.requests) == asked
        assert cached_vgg(note=notes.append) == path
    assert len(notes) == 2
    assert "No checksum" in notes[0]
    path.with_name(f"{path.name}.sha256").unlink()
    with pytest.raises(TrainingError, match="has been deleted"):
        check_part(path)


def test_the_whole_file_is_downloaded_where_that_is_asked_for(
    legacy: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STYLEFORGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(vgg, "TORCHVISION_PREFIX", hashlib.sha256(legacy).hexdigest()[:8])
    with serving(Served(legacy, ranges=False)) as served:
        monkeypatch.setattr(vgg, "ADDRESS", served.address)
        path = cached_vgg("whole")
        assert cached_vgg("layers") == path  # the whole file is accepted too
    assert path.read_bytes() == legacy
    assert served.requests == [""]


def test_the_table_of_checksums_is_filled_from_a_whole_file_alone(
    whole: dict[str, Tensor],
    legacy: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, table = tmp_path / "vgg.pth", tmp_path / "table.json"
    file.write_bytes(legacy)
    assert vgg_hashes.main([str(file), "--table", str(table)]) == 1
    assert "begin with dcbb9e9d" in capsys.readouterr().err
    assert not table.exists()
    prefix = hashlib.sha256(legacy).hexdigest()[:8]
    monkeypatch.setattr(vgg_hashes, "TORCHVISION_PREFIX", prefix)
    assert vgg_hashes.main([str(file), "--table", str(table)]) == 0
    hashes = json.loads(table.read_text())
    with serving(Served(legacy)) as served:
        assert fetch_part(served.address, part(tmp_path), hashes)


class _InMemory(io.RawIOBase):
    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(buffer)


class _Harmful:
    def __reduce__(self) -> Any:
        return os.mkdir, ("executed",)


def test_nothing_in_the_file_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = saved({"features.0.weight": _Harmful()}, zipped=False)
    with pytest.raises(LayoutError, match="more than plain weights"):
        open_saved(_InMemory(data))
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<!doctype html><html>404</html>",
        b"PK\x03\x04" + bytes(100),
        pickle.dumps([1, 2], 2),
        pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + b"\x80\x02",
        b"\x80\x02\x86.",  # a pair from an empty stack
        b"\x80\x02b.",
        b"\x80\x02h\x05.",
    ],
)
def test_what_is_no_file_of_weights_is_told_as_that(data: bytes) -> None:
    with pytest.raises(LayoutError):
        open_saved(_InMemory(data))


def test_a_pickle_is_described_as_it_is_read() -> None:
    value = {"a": [1, -2, 1 << 70], "b": ((1.5,), (True, False, None)), "c": []}
    for protocol in (1, 2, 3):
        assert described(io.BytesIO(pickle.dumps(value, protocol))) == value
