"""`styleforge bench --device webgpu` measures a GPU, stores each line and refuses in a sentence."""

from __future__ import annotations

import json

import pytest

from app.cli import main
from app.commands import bench_webgpu
from app.exit_status import DONE
from kernels.network.webgpu.library import WebGpuError
from models.webgpu_devices import key_of
from tests.helpers.software_gpu import software_gpu


@pytest.fixture
def flags():
    return ["bench", "--device", key_of(software_gpu()), "--sizes", "16x16", "--runs", "1"]


@pytest.mark.full
def test_a_gpu_is_measured_and_each_line_is_stored(flags, tmp_path, capsys):
    path = tmp_path / "report.json"
    assert main([*flags, "--precision", "fp32", "--json", str(path)]) == DONE
    report = json.loads(path.read_text())
    rows = report["webgpu"]
    assert [(row["network"], row["precision"], row["size"]) for row in rows] == [
        ("weights", "fp32", "16x16"), ("lite", "fp32", "16x16"),
    ]  # fmt: skip
    assert all(row["psnr"] > 80 for row in rows)
    assert all(row["wall"]["median"] > 0 for row in rows)
    assert [row["paintings"] for row in report["moves"]] == [1, 2]
    lines = capsys.readouterr().out
    assert lines.count("16x16") == len(rows)


@pytest.mark.full
def test_a_precision_that_shaders_lack_is_refused(flags, capsys):
    assert main([*flags, "--precision", "bf16"]) != DONE
    assert "WebGPU" in capsys.readouterr().err


def test_a_gpu_that_fails_is_named_as_the_reason(flags, capsys, monkeypatch):
    def fail(device):
        raise WebGpuError("lost")

    monkeypatch.setattr(bench_webgpu, "opened", fail)
    assert main(flags) != DONE
    assert "lost" in capsys.readouterr().err
