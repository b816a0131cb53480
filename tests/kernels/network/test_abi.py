"""The library describes itself, and Python refuses one that differs from its mirror."""

from __future__ import annotations

import ctypes
import re

import pytest

from kernels.jit.errors import BuildError
from kernels.jit.libraries import FOLDER
from kernels.network import abi
from kernels.network.shapes import WITH_KERNELS
from models.network_config import CONFIGS

PARAMS = [
    "include/common/welford.cuh",
    "network/cuda/sm80/params.cuh",
    "network/cuda/sm90/params.cuh",
]


def test_the_library_and_its_mirror_agree(description):
    told = abi.parse(description)
    assert told.sm80.precisions == {"fp16": 0, "bf16": 1}
    assert (told.sm80_tf32.precisions, told.sm80_fp32.precisions) == ({"tf32": 2}, {"fp32": 3})
    assert told.sm80_int8.precisions == {"int8": 4}
    assert told.sm75.precisions == {"fp16": 5}
    assert [row.number for row in told.sm90.precisions.values()] == [0, 1, 2, 3]


def test_every_struct_of_the_launchers_is_described():
    structs = {
        name
        for path in PARAMS
        for name in re.findall(r"^struct (\w+) ", (FOLDER / path).read_text("utf-8"), re.M)
        if not name.startswith("Welford")
    }
    assert structs == {name.partition(".")[2] for name in abi.STRUCTURES}


@pytest.mark.parametrize("name", abi.STRUCTURES)
def test_a_struct_whose_fields_are_swapped_is_refused(name, description, monkeypatch):
    fields = list(abi.STRUCTURES[name]._fields_)
    first, second = fields[:2]
    fields[:2] = [(second[0], first[1]), (first[0], second[1])]
    swapped = type("Swapped", (ctypes.Structure,), {"_fields_": fields})
    monkeypatch.setitem(abi.STRUCTURES, name, swapped)
    with pytest.raises(
        BuildError, match=rf"struct {name} has .*{sorted((first[0], second[0]))[0]}"
    ):
        abi.parse(description)


def test_a_struct_of_another_size_is_refused(description, monkeypatch):
    fields = [*abi.Tiling._fields_, ("more", ctypes.c_int)]
    longer = type("Longer", (ctypes.Structure,), {"_fields_": fields})
    monkeypatch.setitem(abi.STRUCTURES, "sm80.Tiling", longer)
    with pytest.raises(BuildError, match=r"sm80.Tiling has 16 bytes.* has 20; .*: more"):
        abi.parse(description)


def test_a_struct_without_a_mirror_is_refused(description, monkeypatch):
    monkeypatch.delitem(abi.STRUCTURES, "sm90.EdgeConvParams")
    with pytest.raises(BuildError, match=r"differ in structs: sm90\.EdgeConvParams"):
        abi.parse(description)


def test_layers_have_numbers_of_their_own(described):
    for sm80 in (*described.of_mma_sync, described.sm75):
        networks = sm80.networks.values()
        assert sorted(network.number for network in networks) == list(range(len(networks)))
        kinds = [conv.kind for network in networks for conv in network.convs.values()]
        assert len(set(kinds)) == len(kinds)
    int8 = described.sm80_int8.convs
    assert len({conv.kind for conv in int8.values()}) == len(int8)
    for precision in described.sm90.precisions.values():
        kinds = [conv.kind for conv in precision.convs.values()]
        assert sorted(kinds) == list(range(len(kinds)))


@pytest.mark.parametrize("part", ["sm75", "sm80", "sm80_tf32", "sm80_fp32"])
@pytest.mark.parametrize("name", CONFIGS)
def test_the_library_has_the_networks_that_users_choose(name, part, described):
    config, shape = CONFIGS[name], WITH_KERNELS[name]
    layers = getattr(described, part).networks[name]
    assert layers.widths == config.widths == shape.widths
    assert layers.end_kernel == config.end_kernel == shape.end_kernel


def test_a_precision_that_no_source_has_is_refused(described):
    with pytest.raises(KeyError, match="fp64"):
        described.sm80_in("fp64")


def test_the_layers_fit_into_the_shared_memory_that_is_required(described):
    parts = *described.of_mma_sync, described.sm75
    for network in (each for part in parts for each in part.networks.values()):
        convs = network.convs
        small = [convs.get(f"{role}_small", conv) for role, conv in convs.items()]
        for layers, required in (
            ([network.first, network.last, *convs.values()], network.required_shared_bytes),
            (
                [network.first_small, network.last_small, *small],
                network.required_shared_bytes_small,
            ),
        ):
            assert max(layer.occupied_bytes for layer in layers) <= required
            assert all(layer.shared_bytes < layer.occupied_bytes for layer in layers)


def test_the_layers_of_integers_are_the_3x3_ones_but_for_the_first_and_fit_every_gpu(described):
    told = described.sm80_int8
    assert set(told.convs) == {"down2", "same", "same_wide", "up1", "up2"}
    assert told.required_shared_bytes <= 99 * 1024
    for conv in told.convs.values():
        assert conv.shared_bytes < conv.occupied_bytes <= told.required_shared_bytes


def test_the_blocks_of_sm75_share_the_memory_and_threads_of_a_multiprocessor(described):
    for network in described.sm75.networks.values():
        for layer in (network.first, network.last, *network.convs.values()):
            assert layer.blocks * layer.occupied_bytes <= network.required_shared_bytes == 65_536
            assert layer.blocks * layer.threads <= 1024
