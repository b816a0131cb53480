"""A choice made while the session streams takes effect between two frames."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from app.engine.config import EngineConfig, same_choice
from app.errors import Problem
from app.live.session import Session
from models.network_config import NetworkConfig
from models.precision import Precision
from models.transformer_net import TransformerNetBaseline
from tests.app.live.session.streams import Clockwork, give, styled_with
from tests.conftest import add_style
from tests.helpers.errors import mentions
from tests.helpers.precisions import offer_all
from tests.helpers.sessions import end

SMALL = NetworkConfig(1, (4, 4, 6), 3)


@pytest.mark.parametrize(
    "change",
    [
        {"kernels": "baseline"},
        {"kernels": "norm"},
        {"precision": Precision.bf16},
        {"strength": 0.25},
        {"keep_colors": True},
        {"size": 96},
        {"compare": True},
    ],
    ids=str,
)
def test_a_change_while_streaming_takes_effect_within_two_frames(session, qtbot, change):
    processed: list = []
    finish = session.engine.finish

    def spy(inferred, newest=None):
        processed.append(finish(inferred, newest))
        return processed[-1]

    session.engine.finish = spy
    session.config = replace(session.config, fluid=False)  # every result was just painted
    give(session, Clockwork())
    styled_with(qtbot, session)
    wanted = replace(session.config, **change)
    count = len(processed)
    session.config = wanted
    styled_with(qtbot, session, **change)
    made_since = [result.config == wanted for result in processed[count:]]
    assert True in made_since[:3], "more than two frames were made with the old config"


def test_no_picture_of_a_choice_given_up_is_ever_shown(session, qtbot):
    wrong: list = []

    def check(result):
        if not same_choice(result.config, session.config):
            wrong.append(result.config)

    session.styled.connect(check)
    give(session, Clockwork())
    styled_with(qtbot, session)
    for n in range(30):
        session.config = replace(
            session.config,
            kernels=("baseline", "norm", "fused")[n % 3],
            strength=1 - n / 100,
            size=(64, 80)[n % 2],
        )
        qtbot.wait(15)
    styled_with(qtbot, session, strength=session.config.strength)
    assert not wrong


def test_a_dragged_slider_keeps_the_picture_moving(session, qtbot):
    shown: list = []
    session.styled.connect(lambda r: shown.append(r.config.strength))
    give(session, Clockwork())
    styled_with(qtbot, session)
    shown.clear()
    for n in range(60):
        session.config = replace(session.config, strength=n / 100)
        qtbot.wait(10)
    assert len(set(shown)) > 5


def test_a_dragged_mix_keeps_the_picture_moving_and_ends_at_what_was_chosen(
    session, qtbot, tmp_path
):
    add_style(tmp_path, "first", 1, SMALL)
    add_style(tmp_path, "second", 2, SMALL)
    session.catalog.reload()
    session.config = replace(session.config, style="first", mix="second", mix_amount=0.0)
    shown: list = []
    session.styled.connect(lambda r: shown.append(r.config.mix_amount))
    give(session, Clockwork())
    styled_with(qtbot, session, mix="second")
    shown.clear()
    for n in range(60):
        session.config = replace(session.config, mix_amount=n / 100)
        qtbot.wait(10)
    assert len(set(shown)) > 5
    styled_with(qtbot, session, mix_amount=0.59)


def test_a_kept_mix_that_cannot_be_gives_way_to_its_first_style(qtbot, catalog, config, tmp_path):
    add_style(tmp_path, "first", 1, SMALL)
    catalog.reload()
    session = Session(catalog, replace(config, style="first", mix="candy"))
    try:
        qtbot.waitUntil(lambda: session.config.mix is None, timeout=5000)
        assert session.config.style == "first"
    finally:
        end(session)


def test_an_installed_style_is_shown_alone(session, qtbot, tmp_path):
    torch.save(TransformerNetBaseline(1).state_dict(), tmp_path / "mine.pth")
    add_style(tmp_path, "second", 2, SMALL)
    session.catalog.reload()
    session.config = replace(session.config, mix="second")
    with qtbot.waitSignal(session.styles_changed, timeout=10_000):
        session.user_styles.install(tmp_path / "mine.pth")
    assert (session.config.style, session.config.mix) == ("mine", None)


def test_a_style_that_is_removed_is_mixed_in_no_more(session, qtbot, tmp_path):
    add_style(tmp_path, "first", 1, SMALL)
    add_style(tmp_path, "second", 2, SMALL)
    session.catalog.reload()
    session.config = replace(session.config, style="first", mix="second")
    give(session, Clockwork())
    styled_with(qtbot, session, mix="second")
    session.user_styles.remove("second")
    result = styled_with(qtbot, session, mix=None)
    assert result.running.style == "First"


def test_a_refused_choice_is_reported_the_old_one_returns_and_the_stream_goes_on(session, qtbot):
    give(session, Clockwork())
    before = session.config
    with qtbot.waitSignal(session.problem, timeout=5000) as blocker:
        session.config = replace(session.config, style="cundy")
    assert "did you mean candy" in blocker.args[0].summary
    assert blocker.args[0].details
    styled_with(qtbot, session, style="candy")
    assert session.config == before


def test_saying_the_same_thing_twice_says_nothing(session, qtbot):
    with qtbot.assertNotEmitted(session.config_changed):
        session.config = replace(session.config)


def test_installing_a_style_chooses_it(session, qtbot, tmp_path):
    torch.save(TransformerNetBaseline(1).state_dict(), tmp_path / "mine.pth")
    give(session, Clockwork())
    with qtbot.waitSignal(session.styles_changed, timeout=5000):
        session.user_styles.install(tmp_path / "mine.pth")
    result = styled_with(qtbot, session, style="mine")
    assert session.catalog.get("mine").title == "Mine"
    session.user_styles.remove("mine")
    result = styled_with(qtbot, session, style="candy")
    assert result.config.style == "candy"


@pytest.mark.full
def test_precision_that_breaks_is_noticed_in_the_window_too(session, qtbot, monkeypatch):
    forward = TransformerNetBaseline.forward
    monkeypatch.setattr(
        TransformerNetBaseline,
        "forward",
        lambda self, x, mark=None: (
            forward(self, x, mark) * (torch.nan if x.dtype is torch.float16 else 1)
        ),
    )
    offer_all(monkeypatch)
    give(session, Clockwork())
    with qtbot.waitSignal(session.notice, timeout=10_000) as blocker:
        session.config = replace(session.config, kernels="baseline", precision=Precision.fp16)
    assert mentions(blocker.args[0], "FP16", "Candy", "BF16")


def test_a_device_that_is_gone_gives_way_to_whatever_there_is(qtbot, catalog, config):
    gone = Session(catalog, replace(config, device="cuda:99"))
    problems: list[Problem] = []
    gone.problem.connect(problems.append)
    try:
        with qtbot.waitSignal(gone.styled, timeout=20_000):
            gone.open("scene")
        assert gone.config == replace(config, device="auto")
        assert "cuda:99" in problems[0].summary
    finally:
        end(gone)


def test_a_kept_style_that_is_broken_gives_way_to_the_first(qtbot, catalog, config):
    session = Session(catalog, replace(config, device="auto", style="gone", strength=0.5))
    try:
        with qtbot.waitSignal(session.styled, timeout=20_000):
            session.open("scene")
        assert session.config == EngineConfig(style=catalog.styles[0].key)
    finally:
        end(session)
