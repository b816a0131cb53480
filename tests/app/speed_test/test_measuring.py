"""Every engine paints the same picture; its time is compared only with the same precision."""

from __future__ import annotations

import numpy as np
import pytest

from app.engine.config import EngineConfig
from app.speed_test.candidates import Candidate, candidates
from app.speed_test.measuring import LAYERS, LOOKING, Effort, Progress, Task, measure
from app.speed_test.result import COMPILED, OURS
from app.styles.catalog import Catalog
from models.families.table import FAMILIES
from models.precision import Precision
from models.runtimes.table import RUNTIMES
from tests.helpers.errors import mentions
from tests.helpers.tiny_style import write_tiny_weights
from utils.stop_flag import StopFlag, Stopped

BRIEF = Effort(warm_s=0.0, warm=1, timed_s=0.0, least=3, most=3)
PLAIN_CPU = Candidate("Plain PyTorch, CPU", "baseline")
OURS_CPU = Candidate("StyleForge, CPU", "fused")


@pytest.fixture
def catalog(tmp_path) -> Catalog:
    pack = tmp_path / "builtin" / "tiny"
    write_tiny_weights(pack / "weights.safetensors")
    (pack / "style.toml").write_text('title = "Tiny"\nweights = "weights.safetensors"\n')
    return Catalog(tmp_path / "builtin", tmp_path / "user")


def task(precision: Precision = Precision.fp32) -> Task:
    pixels = np.random.default_rng(0).integers(0, 256, (32, 48, 3), np.uint8)
    return Task(EngineConfig(style="tiny"), False, pixels, precision)


def measured(catalog, *found: Candidate, precision=Precision.fp32, told=lambda _: None):
    stop = StopFlag()
    return measure(catalog, task(precision), stop, told, BRIEF, lambda _: found)


@pytest.mark.parametrize(
    ("gpu", "beside"), [("Card", "Plain PyTorch, CUDA, Card"), ("Chip", "Plain PyTorch, CPU")]
)
def test_an_engine_is_compared_with_plain_pytorch_on_its_own_gpu(catalog, gpu, beside):
    plain = Candidate("Plain PyTorch, CUDA, Card", "baseline", gpu="Card")
    ours = Candidate(f"StyleForge, WebGPU, {gpu}", "fused", gpu=gpu)
    rows = measured(catalog, plain, PLAIN_CPU, ours).rows
    assert next(row for row in rows if row.title == ours.title).beside == beside


def test_each_engine_has_a_time_and_a_ratio_to_plain_pytorch_on_its_device(catalog):
    result = measured(catalog, OURS_CPU, PLAIN_CPU)
    ours, plain = result.rows
    assert ours.latency is not None
    assert plain.latency is not None
    assert ours.ratio == plain.latency.median / ours.latency.median
    assert (ours.beside, plain.ratio, plain.beside) == (plain.title, None, "")
    assert (result.size, result.style, result.lite) == ((48, 32), "Tiny", False)
    assert (ours.ours, plain.ours) == (True, False)


@pytest.mark.parametrize("key", ["onnxruntime", "openvino"])
def test_another_runtime_paints_the_same_picture(catalog, key):
    other = Candidate(RUNTIMES[key].title, key)
    row = measured(catalog, other, PLAIN_CPU).rows[0]
    assert row.latency is not None, row.detail
    assert row.ratio is not None
    assert not row.differs


@pytest.mark.full
@pytest.mark.slow
def test_torch_compile_paints_the_same_picture(catalog):
    row = measured(catalog, Candidate("torch.compile, CPU", COMPILED), PLAIN_CPU).rows[0]
    assert row.latency is not None, row.detail
    assert not row.differs


def test_an_engine_without_the_precision_has_the_reason_in_place_of_a_time(catalog):
    other = Candidate(RUNTIMES["onnxruntime"].title, "onnxruntime")
    result = measured(catalog, OURS_CPU, PLAIN_CPU, other, precision=Precision.tf32)
    assert [row.latency for row in result.rows] == [None] * 3
    assert all(mentions(row.reason, "TF32") for row in result.rows)
    assert result.measured == ()


@pytest.mark.parametrize("precision", [Precision.fp16, Precision.bf16, Precision.amp])
def test_a_precision_that_is_slow_on_a_cpu_is_measured(catalog, precision):
    result = measured(catalog, OURS_CPU, PLAIN_CPU, precision=precision)
    assert [row.reason for row in result.rows] == ["", ""]
    assert all(row.latency is not None for row in result.rows)


def test_an_engine_that_is_not_there_keeps_its_reason(catalog):
    absent = Candidate("Elsewhere", "fused", reason="not installed", detail="pip install it")
    row = measured(catalog, absent, PLAIN_CPU).rows[0]
    assert (row.latency, row.reason, row.detail) == (None, absent.reason, absent.detail)


def test_a_picture_that_differs_has_no_ratio(catalog, monkeypatch):
    monkeypatch.setattr(Precision, "agree", lambda *_: (False, ""))
    row = measured(catalog, OURS_CPU, PLAIN_CPU).rows[0]
    assert row.latency is not None
    assert (row.ratio, row.differs) == (None, True)


def test_an_engine_that_fails_leaves_the_others(catalog, monkeypatch):
    def fails(*_args: object) -> None:
        raise RuntimeError("no memory\nat all")

    monkeypatch.setattr("app.speed_test.measuring.CompiledNetwork", fails)
    broken = Candidate("torch.compile, CPU", COMPILED)
    failed, plain = measured(catalog, broken, PLAIN_CPU).rows
    assert (failed.latency, failed.detail) == (None, "no memory")
    assert failed.reason
    assert plain.latency is not None


def test_progress_names_the_row_under_way_and_plain_pytorch_comes_first(catalog):
    seen: list[Progress] = []
    measured(catalog, OURS_CPU, PLAIN_CPU, told=seen.append)
    assert [each.number for each in seen] == [LOOKING, 1, 0, LAYERS]
    shares = [each.share for each in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[1]) == (0.0, 0.0)
    assert 0.9 < shares[-1] < 1.0
    assert seen[-1].rows[1].latency is not None


def test_a_stopped_measurement_ends_before_the_next_picture(catalog):
    stop = StopFlag()

    def told(progress: Progress) -> None:
        if progress.number != LOOKING:
            stop.set()

    with pytest.raises(Stopped):
        measure(catalog, task(), stop, told, BRIEF, lambda _: (PLAIN_CPU, OURS_CPU))


def test_a_package_that_is_missing_has_one_row_with_its_remedy(monkeypatch):
    for key in ("openvino", "openvino-gpu", "openvino-npu"):
        monkeypatch.setattr(RUNTIMES[key], "packages", ("no_such_package",))
    rows = [each for each in candidates(FAMILIES["feed-forward"]) if "OpenVINO" in each.title]
    assert [row.title for row in rows] == ["OpenVINO"]
    assert rows[0].reason
    assert mentions(rows[0].detail, "styleforge[openvino]")


def test_the_engines_of_a_machine_have_titles_of_their_own():
    found = candidates(FAMILIES["feed-forward"])
    titles = [each.title for each in found]
    assert len(titles) == len(set(titles))
    assert {f"{OURS}, CPU", "Plain PyTorch, CPU", "torch.compile, CPU"} <= set(titles)
    assert [each.kernels for each in found].count("baseline") >= 1


def test_the_layers_of_both_networks_are_timed_in_the_same_rows(catalog, monkeypatch):
    monkeypatch.setattr("app.speed_test.layers.FITS", 1e9)  # a tiny picture on a busy machine
    seen: list[Progress] = []
    result = measured(catalog, OURS_CPU, PLAIN_CPU, told=seen.append)
    (table,) = result.layers
    names = [row.name for row in table.rows]
    assert table.device == "CPU"
    assert "encoder/conv1" in names
    assert "residual blocks/res1" in names
    assert not any("." in name for name in names)
    assert all(row.plain_ms > 0 and row.ours_ms > 0 for row in table.rows)
    assert seen[-1].number == LAYERS


def test_layers_whose_sum_is_far_from_the_time_of_the_network_are_not_shown(catalog, monkeypatch):
    monkeypatch.setattr("app.speed_test.layers.FITS", 1e-9)
    (table,) = measured(catalog, OURS_CPU, PLAIN_CPU).layers
    assert table.rows == ()
    assert mentions(table.reason, PLAIN_CPU.title)


def test_an_engine_without_plain_pytorch_has_no_layers_to_compare(catalog):
    assert measured(catalog, OURS_CPU).layers == ()
