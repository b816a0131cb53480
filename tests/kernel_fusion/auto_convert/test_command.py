"""The command that converts models by name, and models of other libraries if they are installed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import pytest
import torch

from benchmarks.tables.library import conversion_table
from benchmarks.tables.pages import refreshed
from kernel_fusion.__main__ import main
from kernel_fusion.auto_convert import auto_convert_model, hub
from kernel_fusion.auto_convert.comparison import difference
from kernel_fusion.auto_convert.inputs import inputs_of
from tests.kernel_fusion.auto_convert.families import IMAGE, T5, ResNet

PAGE = Path(__file__).resolve().parents[3] / "docs/reference/kernel_fusion/conversion.md"


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Install a stand-in for torchvision with one small model."""
    found = SimpleNamespace(get_model=lambda name, weights: ResNet())
    monkeypatch.setattr(hub, "_library", lambda name: found)
    monkeypatch.setattr(hub, "MODELS", {"small": hub.Entry("torchvision", IMAGE)})
    return found


def test_a_model_is_converted_and_saved_with_its_figures(library, tmp_path, capsys):
    arguments = ["convert", "--models", "small", "--random-weights", "--save-path", str(tmp_path)]
    assert main(arguments) == 0
    assert "largest difference" in capsys.readouterr().out
    weights = torch.load(tmp_path / "small.pt", weights_only=True)
    ResNet().load_state_dict(weights, strict=True)
    figures = json.loads((tmp_path / "small.json").read_text("utf-8"))
    assert {"total_replaced", "speedup_achieved", "max_difference", "skipped"} <= set(figures)


def test_what_cannot_be_had_is_said(library, capsys):
    def unreachable(name: str, weights: str | None) -> Any:
        raise URLError("no route to host")

    library.get_model = unreachable
    assert main(["convert", "--models", "small", "unknown"]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("cannot fetch the weights of small: <urlopen error no route to")
    assert second == "there is no model 'unknown'; there are small"


def test_a_library_that_is_not_installed_is_named(monkeypatch, capsys):
    monkeypatch.setattr(hub, "MODELS", {"other": hub.Entry("no_such_library", IMAGE)})
    assert main(["convert", "--models", "other"]) == 1
    assert "no_such_library, which is not installed" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", hub.MODELS)
def test_a_published_model_is_converted(name):
    pytest.importorskip(hub.MODELS[name].library)
    model, given = hub.load(name, random_weights=True)
    converted = auto_convert_model(model, given, keep_slower=True, timed_runs=1)
    stats = converted.__dict__["conversion_stats"]
    assert stats.found_by == "torch.export"
    assert stats.total_replaced or name == "swin_t"
    assert list(converted.state_dict()) == list(model.state_dict())
    inputs = inputs_of(model, given, torch.device("cpu"))
    with torch.no_grad():
        expected = model(*inputs.args, **inputs.kwargs)
        assert difference(converted(*inputs.args, **inputs.kwargs), expected) <= 1e-5


def test_a_model_with_a_decoder_is_converted_for_tokens_of_both(monkeypatch, capsys):
    model: Any = T5()
    model.config = SimpleNamespace(use_cache=True, vocab_size=16)
    found = SimpleNamespace(
        AutoConfig=SimpleNamespace(for_model=lambda kind: kind),
        AutoModel=SimpleNamespace(from_config=lambda config: model),
    )
    monkeypatch.setattr(hub, "_library", lambda name: found)
    _, given = hub.load("t5-small", random_weights=True)
    assert not model.config.use_cache
    shapes = {name: tuple(tokens.shape) for name, tokens in given.items()}
    assert shapes == {"input_ids": (1, 128), "decoder_input_ids": (1, 32)}
    small = hub.Entry("transformers", (1, 9), "t5", of_decoder=(1, 5))
    monkeypatch.setitem(hub.MODELS, "t5-small", small)
    assert main(["convert", "--models", "t5-small", "--random-weights"]) == 0
    assert "largest difference" in capsys.readouterr().out


def test_the_page_shows_the_times_of_every_way_and_where_the_compiler_is_faster():
    row = {
        "case": "a model, 1", "execution": "cuda graph",
        "ms": {"eager": 4.0, "converted": 2.0, "compiled, default": 1.5},
        "difference": 1e-6, "error": {"eager": 1e-7, "converted": 2e-6},
    }  # fmt: skip
    header, line = conversion_table([row])
    found = dict(zip(header, line, strict=True))
    assert found["vs eager"] == "2.00x"
    assert found["vs compiled, default"] == "0.75x"
    assert (found["difference"], found["error"]) == ("1.0e-06", "2.0e-06")
    page = PAGE.read_text("utf-8")
    figures = "<!-- figures if measured: ../../../benchmarks/reports/conversion.json"
    assert page.count(figures) == 1
    assert refreshed(page, PAGE.parent) == page
