"""A long stream while everything changes: every frame is right, and no memory leaks.

The short one runs on the CPU, to show that the long one on a GPU would find such faults.
"""

from __future__ import annotations

import gc
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from app.engine.config import EngineConfig
from app.engine.engine import Engine
from app.engine.post.blending import Pixels
from app.engine.process_mode import ProcessMode
from app.engine.result import StyledFrame
from app.frame import Frame
from app.styles.catalog import BUILTIN, Catalog
from models.precision import Precision
from tests.conftest import picture

STYLES = sorted(folder.name for folder in BUILTIN.iterdir() if (folder / "style.toml").exists())
KERNELS = ("fused", "fused", "fused", "baseline", "norm")  # mostly the one with the most state
NETWORKS = ("full", "full", "lite")
NEAR_DB = 40  # PSNR against FP32 on PyTorch; a wrong picture is far below
MB = 1_000_000

Step = tuple[EngineConfig, int]  # the config and the number of the frame
Expected = dict[EngineConfig, list[Pixels]]  # by frame number


def configs_of(base: EngineConfig, sizes: Sequence[int], count: int) -> list[EngineConfig]:
    """Return `count` configs that vary `base` in style, network, size, precision and kernels.

    They are always the same ones, without texture, whose pattern depends on earlier frames.
    """
    chance, found = random.Random(count), dict[EngineConfig, None]()
    while len(found) < count:
        config = replace(
            base,
            texture=0.0,
            style=chance.choice(STYLES),
            network=chance.choice(NETWORKS),
            size=chance.choice(sizes),
            precision=chance.choice(list(Precision)),
            kernels=chance.choice(KERNELS),
        )
        found[config] = None
    return list(found)


def steps_of(configs: Sequence[EngineConfig], frames: int, count: int, stay: int) -> Iterator[Step]:
    """Yield `count` steps, always the same ones; a config stays for `stay` frames on average."""
    chance = random.Random(count)
    config = configs[0]
    for _ in range(count):
        if chance.random() < 1 / stay:
            config = chance.choice(configs)
        yield config, chance.randrange(frames)


def expected_of(
    catalog: Catalog, configs: Sequence[EngineConfig], frames: Sequence[Frame]
) -> Expected:
    """Return the expected picture of every frame in every config.

    A fresh engine paints it, and it must be close to FP32 on PyTorch.
    """
    expected = {}
    for config in configs:
        expected[config] = _painted(Engine(catalog), config, frames)
        plain = replace(config, kernels="baseline", precision=Precision.fp32)
        for found, reference in zip(
            expected[config], _painted(Engine(catalog), plain, frames), strict=True
        ):
            error = np.square(found.astype(float) - reference).mean()
            assert 10 * np.log10(255**2 / max(error, 1e-9)) > NEAR_DB, config
    return expected


def _painted(engine: Engine, config: EngineConfig, frames: Sequence[Frame]) -> list[Pixels]:
    engine.configure(config)
    return [engine.process(frame).frame.pixels for frame in frames]


def march(
    engine: Engine, steps: Iterator[Step], frames: Sequence[Frame], expected: Expected
) -> Counter[EngineConfig]:
    """Take every step, check its frame bit by bit, and count the changes to each config."""
    visits = Counter[EngineConfig]()
    for number, (config, frame) in enumerate(steps):
        if config != engine.config:
            engine.configure(config)
            visits[config] += 1
        pixels = engine.process(frames[frame]).frame.pixels
        assert np.array_equal(pixels, expected[config][frame]), f"frame {number}: {config}"
    return visits


def lap(engine: Engine, configs: Sequence[EngineConfig], frame: Frame) -> None:
    """Visit all configs in the given order, so that the same state remains at the end."""
    for config in configs:
        engine.configure(config)
        engine.process(frame)


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a GPU in bytes: `allocated` by tensors, `used` by anything."""

    allocated: int
    used: int

    @classmethod
    def now(cls) -> Memory:
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        free, total = torch.cuda.mem_get_info()
        return cls(torch.cuda.memory_allocated(), total - free)


@pytest.fixture
def deterministic(monkeypatch):
    """Make PyTorch's own convolutions return the same bits every time."""
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)


@pytest.mark.gpu
@pytest.mark.timeout(300)
def test_ten_thousand_frames_are_right_and_leave_no_memory_behind(
    catalog, config, native_kernels, deterministic
):
    frames = [Frame(picture(200, 120, seed)) for seed in range(4)]
    configs = configs_of(replace(config, device="cuda:0"), (96, 131, 200), count=40)
    expected = expected_of(catalog, configs, frames)
    notices: list[str] = []
    engine = Engine(catalog, notices.append)
    for _ in range(2):  # afterwards, one-time loading and choices are done
        lap(engine, configs, frames[0])
    before = Memory.now()
    visits = march(engine, steps_of(configs, len(frames), 10_000, stay=25), frames, expected)
    lap(engine, configs, frames[0])
    after = Memory.now()
    assert min(visits[config] for config in configs) >= 2
    assert after.allocated <= before.allocated + MB
    # Drivers and libraries allocate in large pieces; a leak would repeat for hundreds of changes.
    # The figure covers the whole GPU, so it means nothing while other workers run tests on it.
    if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) == 1:
        assert after.used <= before.used + 64 * MB
    assert notices == []


# The same on the CPU, with faults


@pytest.fixture
def frames():
    return [Frame(picture(40, 30, seed)) for seed in range(2)]


@pytest.fixture
def configs(config):
    return configs_of(config, (24, 29), count=5)


def test_sixty_frames_are_right_on_the_cpu(catalog, configs, frames, native_kernels):
    notices: list[str] = []
    steps = steps_of(configs, len(frames), 60, stay=4)
    visits = march(
        Engine(catalog, notices.append), steps, frames, expected_of(catalog, configs, frames)
    )
    assert set(visits) == set(configs)
    assert max(visits.values()) >= 2, "somewhere it comes back"
    assert notices == []


class Stale(Engine):
    """An engine that once returns the picture of the frame before."""

    def process(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> StyledFrame:
        styled = super().process(frame, mode)
        self.count = getattr(self, "count", 0) + 1
        wrong, self.last = getattr(self, "last", styled), styled
        return wrong if self.count == 5 else styled


class Deaf(Engine):
    """An engine that ignores another style."""

    def configure(self, config: EngineConfig) -> None:
        super().configure(replace(config, style=self.config.style if self.config else config.style))


class Rough(Engine):
    """An engine that once is off by one in a single value."""

    def process(self, frame: Frame, mode: ProcessMode = ProcessMode.LIVE) -> StyledFrame:
        styled = super().process(frame, mode)
        self.count = getattr(self, "count", 0) + 1
        if self.count != 5:
            return styled
        pixels = styled.frame.pixels.copy()
        pixels[3, 4, 1] ^= 1
        return replace(styled, frame=replace(styled.frame, pixels=pixels))


@pytest.mark.parametrize("faulty", [Stale, Deaf, Rough])
def test_a_wrong_frame_is_found(catalog, config, frames, native_kernels, faulty):
    base = replace(config, size=32, network="lite")
    configs = [base, replace(base, style="mosaic")]
    expected = expected_of(catalog, configs, frames)
    steps = [(configs[n // 4 % 2], n % len(frames)) for n in range(12)]
    march(Engine(catalog), iter(steps), frames, expected)
    with pytest.raises(AssertionError, match=r"^frame 4: "):
        march(faulty(catalog), iter(steps), frames, expected)


def test_pictures_far_from_pytorchs_are_no_measure(catalog, config, frames, monkeypatch):
    def swapped(engine: Engine, config: EngineConfig, frames: Sequence[Frame]) -> list[Pixels]:
        found = painted(engine, config, frames)
        return [pixels[..., ::-1] for pixels in found] if config.kernels == "fused" else found

    painted = _painted
    monkeypatch.setattr("tests.integration.test_endurance._painted", swapped)
    with pytest.raises(AssertionError):
        expected_of(catalog, [replace(config, network="lite")], frames)
