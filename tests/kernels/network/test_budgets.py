"""The figures in docs/explanation/kernels.md match the library; kernels stay within registers."""

from __future__ import annotations

import re
import subprocess

import pytest

from kernels.driver.compiling import sources_of
from kernels.jit import nvrtc
from kernels.jit.cuda_tools import nvcc
from kernels.jit.libraries import FOLDER, LIBRARIES
from tests.kernels.test_cuda_sources import EVERY_KERNEL
from tools.prebuild import cuda

NVCC = nvcc()
PAGE = FOLDER.parent / "docs" / "explanation" / "kernels.md"
ROW = r"^\| {} \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$"


@pytest.mark.parametrize("layer", ["down1", "down2", "same", "up1", "up2"])
def test_the_page_shows_threads_and_shared_memory_as_compiled(layer, described):
    found = re.search(ROW.format(layer), PAGE.read_text("utf-8"), re.MULTILINE)
    assert found is not None
    sm80, sm90 = (
        described.sm80.networks["full"].convs[layer],
        described.sm90.precisions["fp16"].convs[layer],
    )
    assert [int(figure.replace(",", "")) for figure in found.groups()] == [
        sm80.threads,
        sm80.shared_bytes,
        sm90.threads,
        sm90.shared_bytes,
    ]


def test_the_page_shows_the_joined_residual_layers(described):
    residual = described.sm90.precisions["fp16"].residual
    told = f"have {residual.threads} threads and {residual.shared_bytes:,} bytes."
    assert told in PAGE.read_text("utf-8")


LAYERS = pytest.mark.parametrize(
    "layer", ["first", "down1", "down2", "same", "same_wide", "up1", "up2", "last"]
)


@LAYERS
def test_the_page_shows_tiles_and_shared_memory_in_fp32(layer, described):
    cells = [layer]
    for told in (described.sm80_tf32, described.sm80_fp32):
        full = told.networks["full"]
        layers = {**full.convs, "first": full.first, "last": full.last}
        layers |= {"first_small": full.first_small, "last_small": full.last_small}
        traits, small = layers[layer], layers.get(f"{layer}_small", layers[layer])
        cells += [f"{traits.tile_h}x{traits.tile_w}", str(traits.threads)]
        cells += [f"{traits.shared_bytes:,}", f"{small.shared_bytes:,}"]
    assert f"| {' | '.join(cells)} |" in PAGE.read_text("utf-8").splitlines()


@pytest.mark.parametrize("layer", ["down2", "same", "same_wide", "up1", "up2"])
def test_the_page_shows_the_layers_of_integers(layer, described):
    traits = described.sm80_int8.convs[layer]
    row = (
        f"| int8 {layer} | {traits.tile_h}x{traits.tile_w} | {traits.threads} "
        f"| {traits.blocks} | {traits.shared_bytes:,} |"
    )
    assert row in PAGE.read_text("utf-8").splitlines()


@LAYERS
def test_the_page_shows_the_lite_networks_tiles_and_shared_memory(layer, described):
    lite = described.sm80.networks["lite"]
    traits = lite.convs.get(layer) or {"first": lite.first, "last": lite.last}[layer]
    row = (
        f"| lite {layer} | {traits.tile_h}x{traits.tile_w} | {traits.threads} "
        f"| {traits.shared_bytes:,} |"
    )
    assert row in PAGE.read_text("utf-8").splitlines()


@pytest.mark.parametrize("network", ["full", "lite"])
@pytest.mark.parametrize("layer", ["first", "down1", "down2", "same", "up1", "up2", "last"])
def test_the_page_shows_the_layers_for_sm_75(layer, network, described):
    told = described.sm75.networks[network]
    traits = told.convs.get(layer) or {"first": told.first, "last": told.last}[layer]
    row = (
        f"| {network} {layer} | {traits.tile_h}x{traits.tile_w} | {traits.threads} "
        f"| {traits.blocks} | {traits.shared_bytes:,} |"
    )
    assert row in PAGE.read_text("utf-8").splitlines()


@pytest.mark.slow
def test_no_product_on_hopper_waits_for_the_one_before(described, description):
    """The compiler of the images reports such waits: affected layers take twice their time."""
    release = next(iter(cuda.ARCHITECTURES))
    if not cuda.is_unpacked(release, cuda.TOOLS):
        pytest.skip(f"`make prebuild` has not unpacked CUDA {release}")
    toolkit = cuda.unpacked(release, cuda.TOOLS)
    (source,) = (
        each
        for each in sources_of(LIBRARIES["network"], description)
        if each.name == described.sm90.source
    )
    kernels = [name for name in source.kernels if "Fp16>" in name]
    assert any("residual_blocks_joined" in name for name in kernels)
    compiled = nvrtc.compile_source(toolkit, source.path, FOLDER, f"sm_{source.target}", kernels)
    assert "serialized" not in compiled.log


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(NVCC is None, reason="there is no nvcc here")
def test_no_kernel_for_sm_75_spills_registers(description, tmp_path):
    (source,) = (
        each
        for each in sources_of(LIBRARIES["network"], description)
        if each.name == "network_sm75.cu"
    )
    rows = "".join(f"    reinterpret_cast<const void*>(&{name}),\n" for name in source.kernels)
    every = tmp_path / source.name
    every.write_text(EVERY_KERNEL.format(source=source.path, rows=rows), "utf-8")
    target = ["-gencode=arch=compute_75,code=sm_75", "-Xptxas", "-v", "-std=c++17", f"-I{FOLDER}"]
    command = [str(NVCC), *target, "-cubin", "-o", str(tmp_path / "out.cubin"), str(every)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    spilled = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", ran.stderr)
    assert len(spilled) == len(source.kernels)
    assert set(spilled) == {("0", "0")}
