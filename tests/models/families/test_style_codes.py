"""Files of style codes survive a round trip, and other files are refused."""

from __future__ import annotations

import pytest
import safetensors.torch
import torch

from models.checkpoints import CheckpointError
from models.families.style_codes import FORMAT, StyleCode, header_texts, load_code, save_code
from tests.helpers.errors import refused

DIGEST = "ab" * 32


@pytest.fixture
def path(tmp_path):
    return tmp_path / "code.safetensors"


def test_a_code_is_read_back_with_the_network_it_belongs_to(path):
    values = torch.randn(1, 16)
    save_code(path, StyleCode(values, DIGEST), {"title": "Wash"})
    found = load_code(path)
    assert torch.equal(found.values, values)
    assert found.network == DIGEST
    assert header_texts(path)["title"] == "Wash"


def test_a_code_that_is_not_finite_is_not_written(path):
    with pytest.raises(CheckpointError, match="not finite"):
        save_code(path, StyleCode(torch.tensor([[1.0, float("nan")]]), DIGEST))
    assert not path.exists()


@pytest.mark.parametrize(
    ("tensors", "network"),
    [
        ({"code": torch.zeros(2, 16)}, DIGEST),
        ({"code": torch.zeros(16)}, DIGEST),
        ({"code": torch.zeros(1, 16).half()}, DIGEST),
        ({"code": torch.zeros(1, 0)}, DIGEST),
        ({"code": torch.full((1, 16), float("inf"))}, DIGEST),
        ({"code": torch.zeros(1, 16), "more": torch.zeros(1)}, DIGEST),
        ({"codes": torch.zeros(1, 16)}, DIGEST),
        ({"code": torch.zeros(1, 16)}, "../../secret"),
        ({"code": torch.zeros(1, 16)}, ""),
    ],
)
def test_a_file_that_holds_anything_else_is_refused(path, tensors, network):
    path.write_bytes(safetensors.torch.save(tensors, {"format": FORMAT, "network": network}))
    with refused(CheckpointError, "damaged", file="code.safetensors"):
        load_code(path)


def test_a_truncated_file_is_refused(path):
    save_code(path, StyleCode(torch.zeros(1, 16), DIGEST))
    whole = path.read_bytes()
    for length in (0, 4, 9, 40, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="style code"):
            load_code(path)


def test_what_is_missing_or_a_folder_is_one_sentence(path):
    with pytest.raises(CheckpointError, match="does not exist"):
        load_code(path)
    path.mkdir()
    with pytest.raises(CheckpointError, match=r"'code\.safetensors' cannot be read: "):
        load_code(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x05\0\0\0\0\0\0\0{",
        b"\x02\0\0\0\0\0\0\0{}",
        b"\xff\xff\xff\xff\xff\xff\xff\xff{}",
        b'\x15\0\0\0\0\0\0\0{"__metadata__": [1]} ',
        b"\x89PNG picture",
    ],
)
def test_a_file_without_texts_has_none(path, data):
    path.write_bytes(data)
    assert header_texts(path) == {}
