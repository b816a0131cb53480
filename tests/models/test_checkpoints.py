from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path

import pytest
import safetensors.torch
import torch
from PIL import Image
from torch import Tensor

from models.checkpoints import CheckpointError, load_checkpoint, save_checkpoint
from models.network_config import LITE, NetworkConfig, network_config, num_residual_blocks
from models.transformer_net import TransformerNetBaseline, TransformerNetFused
from tests.helpers.errors import mentions, refused


@pytest.fixture(scope="module")
def weights() -> dict[str, Tensor]:
    torch.manual_seed(0)
    return TransformerNetBaseline(2).state_dict()


def in_the_other_layout(weights: dict[str, Tensor], *, greek: bool = False) -> dict[str, Tensor]:
    """Return the second published layout, written out by hand instead of using our table."""
    norms = {"in1": "conv1", "in2": "conv2", "in3": "conv3", "in4": "deconv1", "in5": "deconv2"}
    words = {"weight": "gamma", "bias": "beta"} if greek else {"weight": "weight", "bias": "bias"}
    renamed = {}
    for key, value in weights.items():
        parts = key.split(".")
        place = ""
        if parts[0].startswith("res"):
            place = f"residual_blocks.{int(parts[0][3:]) - 1}."
            parts = parts[1:]
        if parts[0] == "deconv3":
            name = f"deconv3.1.{parts[-1]}"
        elif parts[0].startswith("in"):
            unit = f"conv{parts[0][2:]}" if place else norms[parts[0]]
            name = f"{place}{unit}.norm.{words[parts[-1]]}"
        else:
            name = f"{place}{parts[0]}.conv.{parts[-1]}"
        renamed[name] = value
    return renamed


def with_running_statistics(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    extra = {
        f"{key.removesuffix('.weight')}.{name}": torch.zeros(len(value))
        for key, value in weights.items()
        if key.rpartition(".")[0].rpartition(".")[2].startswith("in") and key.endswith(".weight")
        for name in ("running_mean", "running_var")
    }
    assert extra
    return {**weights, **extra, "in1.num_batches_tracked": torch.tensor(3)}


LAYOUTS = {
    "as published": lambda w: w,
    "the other layout": in_the_other_layout,
    "the other layout, gamma and beta": lambda w: in_the_other_layout(w, greek=True),
    "from DataParallel": lambda w: {f"module.{k}": v for k, v in w.items()},
    "compiled, then DataParallel": lambda w: {f"module._orig_mod.{k}": v for k, v in w.items()},
    "under state_dict": lambda w: {"epoch": 3, "state_dict": w},
    "under model": lambda w: {"model": w, "optimizer": {"lr": 1e-3}},
    "under model under state_dict": lambda w: {
        "state_dict": {"model": {f"module.{k}": v for k, v in in_the_other_layout(w).items()}}
    },
    "ordered": lambda w: OrderedDict(w),
    "with running statistics": with_running_statistics,
    "as parameters in double": lambda w: {k: torch.nn.Parameter(v.double()) for k, v in w.items()},
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
@pytest.mark.parametrize("new", [True, False], ids=["zip", "old format"])
def test_every_published_layout_is_read(layout, new, weights, tmp_path):
    path = tmp_path / "style.pth"
    torch.save(layout(weights), path, _use_new_zipfile_serialization=new)
    state = load_checkpoint(path)
    assert list(state) == list(weights)
    for key, value in state.items():
        assert value.dtype == torch.float32
        assert value.device.type == "cpu"
        assert torch.equal(value, weights[key])
    TransformerNetFused(num_residual_blocks(state)).load_state_dict(state)


@pytest.mark.parametrize("blocks", [1, 5, 10])
def test_the_number_of_residual_blocks_follows_from_the_keys(blocks, tmp_path):
    weights = TransformerNetBaseline(blocks).state_dict()
    save_checkpoint(tmp_path / "style.safetensors", weights)
    assert num_residual_blocks(load_checkpoint(tmp_path / "style.safetensors")) == blocks


@pytest.mark.parametrize("shape", [LITE, NetworkConfig(2, (8, 24, 40), 3)], ids=["lite", "odd"])
def test_the_widths_follow_from_the_weights(shape, tmp_path):
    weights = TransformerNetBaseline(**asdict(shape)).state_dict()
    save_checkpoint(tmp_path / "style.safetensors", weights)
    assert network_config(load_checkpoint(tmp_path / "style.safetensors")) == shape


def test_safetensors_in_half_precision_come_back_rounded_and_with_metadata(weights, tmp_path):
    path = tmp_path / "style.safetensors"
    save_checkpoint(path, weights, {"title": "Candy"})
    state = load_checkpoint(path)
    assert all(torch.equal(state[key], weights[key].half().float()) for key in weights)
    with safetensors.safe_open(path, "pt") as file:
        assert file.metadata() == {"title": "Candy"}
    assert [p.name for p in tmp_path.iterdir()] == ["style.safetensors"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_other_precisions_can_be_written(dtype, weights, tmp_path):
    save_checkpoint(tmp_path / "style", weights, dtype=dtype)
    state = load_checkpoint(tmp_path / "style")
    assert all(torch.equal(state[key], weights[key].to(dtype).float()) for key in weights)


def test_the_first_bytes_decide_not_the_name(weights, tmp_path):
    save_checkpoint(tmp_path / "style.pth", weights)
    torch.save(weights, tmp_path / "style.safetensors")
    assert load_checkpoint(tmp_path / "style.pth").keys() == weights.keys()
    assert load_checkpoint(tmp_path / "style.safetensors").keys() == weights.keys()


def test_weights_saved_on_a_gpu_are_read_without_one(weights, tmp_path):
    path = tmp_path / "style.pth"
    torch.save(weights, path)
    # The device is the one string "cpu" in the pickle; the archive is rewritten around it.
    moved = tmp_path / "gpu.pth"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(moved, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("data.pkl"):
                assert b"X\x03\x00\x00\x00cpu" in data
                data = data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            new.writestr(name, data)
    state = load_checkpoint(moved)
    assert all(torch.equal(state[key], weights[key]) for key in weights)


def test_every_key_that_does_not_fit_is_named(weights, tmp_path):
    broken = dict(weights)
    del broken["in1.weight"], broken["res2.conv1.conv2d.weight"]
    broken["conv9.conv2d.weight"] = torch.zeros(1)
    broken["deconv3.conv2d.bias"] = torch.zeros(4)
    broken["in2.bias"] = torch.zeros(64, dtype=torch.int32)
    path = tmp_path / "style.pth"
    torch.save(broken, path)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    assert mentions(
        str(caught.value),
        "style.pth",
        "missing: in1.weight, res2.conv1.conv2d.weight;",
        "unexpected: conv9.conv2d.weight;",
        "not floating-point tensors: in2.bias;",
        "deconv3.conv2d.bias (4 instead",
    )


def test_of_many_keys_that_do_not_fit_the_first_are_named(weights, tmp_path):
    path = tmp_path / "style.pth"
    torch.save({f"{'x' * 5000}\n{n}": torch.zeros(1) for n in range(100)}, path)
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    sentence = str(caught.value)
    assert len(sentence) < 500
    assert sentence.isprintable()
    assert mentions(sentence, "conv1.conv2d.weight, conv1.conv2d.bias, in1.weight", "27 more")


def test_a_table_that_holds_itself_is_refused(tmp_path):
    path = tmp_path / "style.pth"
    endless: dict[str, object] = {"epoch": 3}
    endless["model"] = endless
    torch.save(endless, path)
    with pytest.raises(CheckpointError, match="does not fit"):
        load_checkpoint(path)


def test_widths_that_no_memory_holds_are_refused(tmp_path):
    path = tmp_path / "style.pth"
    wide = torch.zeros(()).expand(1 << 40, 3, 3, 3)  # stores one number
    torch.save({f"conv{n}.conv2d.weight": wide for n in (1, 2, 3)} | {"res1.a": wide}, path)
    with pytest.raises(CheckpointError, match="does not fit"):
        load_checkpoint(path)


def test_a_residual_block_of_no_possible_number_is_refused(weights, tmp_path):
    path = tmp_path / "style.pth"
    torch.save({**weights, f"res{'9' * 5000}.in1.weight": torch.zeros(128)}, path)
    with pytest.raises(CheckpointError, match=r"unexpected: res9+\.\.\."):
        load_checkpoint(path)


def test_a_key_given_in_both_layouts_is_refused(weights, tmp_path):
    torch.save({**weights, "conv1.conv.weight": weights["conv1.conv2d.weight"]}, tmp_path / "a")
    with pytest.raises(CheckpointError, match=r"given twice: conv1\.conv2d\.weight"):
        load_checkpoint(tmp_path / "a")


def test_too_many_residual_blocks_are_refused(weights, tmp_path):
    torch.save({**weights, "res11.in1.weight": torch.zeros(128)}, tmp_path / "a")
    with pytest.raises(CheckpointError, match=r"11 residual blocks.*10"):
        load_checkpoint(tmp_path / "a")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(value, weights, tmp_path):
    torch.save({**weights, "in1.bias": torch.full((32,), value)}, tmp_path / "a.pth")
    with refused(CheckpointError, "NaN", file="a.pth", keys="in1.bias"):
        load_checkpoint(tmp_path / "a.pth")


def test_weights_too_large_for_half_precision_are_not_written(weights, tmp_path):
    too_large = {**weights, "in1.bias": torch.full((32,), 1e6)}
    with pytest.raises(CheckpointError, match=r"not finite: in1\.bias"):
        save_checkpoint(tmp_path / "a.safetensors", too_large)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_nothing_else(weights, tmp_path, monkeypatch):
    path = tmp_path / "style.safetensors"
    path.write_bytes(b"old")

    def full_disk(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, weights)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["style.safetensors"]


class Evil:
    """An object that creates the file it names when an ordinary reader unpickles it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (io.open, (str(self.path), "w"))


@pytest.mark.parametrize("new", [True, False], ids=["zip", "old format"])
def test_code_in_a_checkpoint_is_never_run(new, weights, tmp_path):
    trace, path = tmp_path / "executed", tmp_path / "evil.pth"
    torch.save({**weights, "more": Evil(trace)}, path, _use_new_zipfile_serialization=new)
    with pytest.raises(CheckpointError, match=r"evil\.pth.*\(_?io\.open\)"):
        load_checkpoint(path)
    assert not trace.exists()


def test_code_in_a_bare_pickle_is_never_run(tmp_path):
    trace, path = tmp_path / "executed", tmp_path / "evil.pth"
    path.write_bytes(pickle.dumps(Evil(trace)))
    with refused(CheckpointError, "a Python pickle"):
        load_checkpoint(path)
    assert not trace.exists()


def test_the_evil_pickle_would_have_run(tmp_path):
    trace = tmp_path / "executed"
    pickle.loads(pickle.dumps(Evil(trace))).close()
    assert trace.exists()


def picture(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, kind)
    return buffer.getvalue()


def torchscript() -> bytes:
    # The file names of torch.jit.save: the reader must not get further than these.
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("net/data.pkl", "net/code/__torch__/net.py", "net/constants.pkl"):
            archive.writestr(name, b"")
    return buffer.getvalue()


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readme.txt", "hello")
    return buffer.getvalue()


def saved(content: object, *, new: bool = True) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, _use_new_zipfile_serialization=new)
    return buffer.getvalue()


def header(text: str) -> bytes:
    return len(text).to_bytes(8, "little") + text.encode()


TENSOR = {"conv1.conv2d.weight": torch.zeros(64)}
NOT_CHECKPOINTS = {
    "is empty": b"",
    "it is a web page": b"\n<!DOCTYPE html><html><body>404 Not Found</body></html>",
    "it is a JPEG picture": picture("JPEG"),
    "it is a PNG picture": picture("PNG"),
    "it is a WebP picture": picture("WEBP"),
    "it is a text file": "learning rate = 0.001\nÉpoque".encode(),
    "it is a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "it is a ZIP archive": zipped(),
    "is a TorchScript program": torchscript(),
    "its format is unknown": bytes(range(200, 256)) * 4,
    "is damaged or truncated, in a new file": saved(TENSOR)[:400],
    "is damaged or truncated, in an old file": saved(TENSOR, new=False)[:-40],
    "is damaged or truncated, at the start": saved(TENSOR, new=False)[:40],
    "is a damaged safetensors file, in its header": header('{"a": nonsense}'),
    "is a damaged safetensors file, in its header's length": header("{}")[:9],
    "is a damaged safetensors file, cut short": safetensors.torch.save(TENSOR)[:-20],
    "holds a list, not named weights": saved([torch.zeros(2)]),
    "holds a Tensor, not named weights": saved(torch.zeros(2)),
    "does not fit the network: missing": saved({"fc.weight": torch.zeros(2)}),
    "does not fit the network: missing, for nothing at all": saved({}),
}


@pytest.mark.parametrize("what", NOT_CHECKPOINTS)
def test_a_file_that_is_no_checkpoint_gets_one_sentence(what, tmp_path):
    path = tmp_path / "style.pth"
    path.write_bytes(NOT_CHECKPOINTS[what])
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path)
    assert str(caught.value).startswith("'style.pth' ")
    assert what.partition(",")[0] in str(caught.value)
    assert "\n" not in str(caught.value)


# PyTorch warns, from C++, when one of the damaged pickles redefines a tensor's class.
@pytest.mark.filterwarnings("ignore:Defining your `__torch_function__` as a plain method")
def test_no_damage_to_a_checkpoint_gets_through_as_another_error(weights, tmp_path):
    path = tmp_path / "style.pth"
    generator = torch.Generator().manual_seed(0)
    small = {key: value.reshape(-1)[:1].clone() for key, value in weights.items()}
    for data in (saved(small), saved(small, new=False), safetensors.torch.save(small)):
        for _ in range(40):
            at = int(torch.randint(len(data), (1,), generator=generator))
            damaged = bytearray(data)
            damaged[at] ^= 0xFF
            for content in (bytes(damaged), data[:at]):
                path.write_bytes(content)
                with pytest.raises(CheckpointError):
                    load_checkpoint(path)


def test_a_file_that_is_missing_or_a_folder_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=re.escape("'gone.pth' does not exist")):
        load_checkpoint(tmp_path / "gone.pth")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CheckpointError, match="'folder' cannot be read"):
        load_checkpoint(tmp_path / "folder")


def test_a_safetensors_header_that_lies_about_sizes_is_refused(tmp_path):
    lie = json.dumps({"a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}})
    (tmp_path / "a").write_bytes(header(lie))
    with pytest.raises(CheckpointError, match="damaged safetensors file"):
        load_checkpoint(tmp_path / "a")
