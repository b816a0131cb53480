"""Fixtures and hooks for every test: own folders, no stray warnings, no stray threads."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

# A screen large enough for the window. The path is relative, since Qt would end it at "C:".
os.environ.setdefault(
    "QT_QPA_PLATFORM",
    f"offscreen:configfile={os.path.relpath(Path(__file__).with_name('helpers') / 'screen.json')}",
)

from utils.threads import SPIN_COUNT

# As the program does: tests run in as many processes as there are cores.
os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)

import numpy as np
import platformdirs
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from app.engine.config import EngineConfig
from app.engine.resolution import fit
from app.frame import Frame
from app.styles.catalog import BUILTIN, Catalog
from models.checkpoints import save_checkpoint
from models.network_config import FULL, NetworkConfig
from models.training.vgg_layers import CHANNELS, LAYERS
from models.transformer_net import TransformerNetBaseline
from tests.helpers import threads
from tests.helpers.precisions import set_bf16_gains
from tests.helpers.x_screens import managed_screen, virtual_screen
from utils.files import toml
from utils.translation import numbers

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot
    from xdist.workermanage import WorkerController

# pytest adds a handler to every logger that does not propagate, six times per test. PyTorch has
# forty such loggers; the root logger's handler gets what they log as well.
for _logger in [*logging.Logger.manager.loggerDict.values()]:
    if isinstance(_logger, logging.Logger) and _logger.name.partition(".")[0] == "torch":
        _logger.propagate = True

# Tests share only the compiled kernels with the user: building them is slow.
os.environ.setdefault(
    "STYLEFORGE_CACHE", str(platformdirs.user_cache_path("styleforge", appauthor=False))
)

# Mesa's software GPU compiles each shader once for all processes and runs.
os.environ.setdefault(
    "MESA_SHADER_CACHE_DIR",
    str(platformdirs.user_cache_path("styleforge-tests", appauthor=False, ensure_exists=True)),
)

# Test the sources, not prebuilt images.
os.environ.setdefault("STYLEFORGE_BUILD", "1")


# SVT-AV1 changes it when run as root, and every later child process would inherit the change.
SCHEDULER = os.sched_getscheduler(0) if hasattr(os, "sched_getscheduler") else None


# glibc keeps memory that threads freed for later threads.
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


PATIENCE = 30_000  # ms of a wait for the window; the machine may do other work beside the tests


@pytest.fixture
def qtbot(qtbot: QtBot) -> QtBot:
    """Return pytest-qt's bot, whose waits end after PATIENCE by default."""
    for name in ("waitUntil", "waitSignal", "waitSignals"):
        setattr(qtbot, name, partial(getattr(qtbot, name), timeout=PATIENCE))
    return qtbot


LEFT_OUT = "need a GPU"  # the key of a process's number of tests


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave GPU tests out on machines without a GPU; if there are no others, skip them.

    To skip each of three thousand takes half a minute: every process reports all of them.
    """
    if torch.cuda.is_available():
        return
    needing = [item for item in items if any(map(item.get_closest_marker, ("gpu", "cuda")))]
    if len(needing) == len(items):
        for item in needing:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
        return
    of_gpu = set(needing)
    items[:] = [item for item in items if item not in of_gpu]
    config.hook.pytest_deselected(items=needing)
    config.stash[_left_out] = len(needing)


_left_out = pytest.StashKey[int]()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tell pytest-xdist's first process how many tests this one left out."""
    told = getattr(session.config, "workeroutput", {})
    told[LEFT_OUT] = session.config.stash.get(_left_out, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """Note how many tests a process left out; each has all tests."""
    told = getattr(node, "workeroutput", {}).get(LEFT_OUT, 0)
    node.config.stash[_left_out] = max(told, node.config.stash.get(_left_out, 0))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how many tests were left out, and why."""
    if left_out := config.stash.get(_left_out, 0):
        terminalreporter.write_line(f"{left_out} tests left out: no CUDA device")


@pytest.fixture(autouse=True)
def own_folders(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Redirect settings, styles and pictures away from the user's own.

    They are in `tmp_path` if the test uses it. Creating and deleting that folder takes longer than
    most other tests, whose folders therefore exist only from their first file on.
    """
    if "tmp_path" in request.fixturenames:
        folder: Path = request.getfixturevalue("tmp_path")
    else:
        folder = tmp_path_factory.getbasetemp() / "own" / str(next(_numbers))
    for name in ("CONFIG", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    monkeypatch.setenv("XDG_PICTURES_DIR", str(folder / "pictures"))


_numbers = count()


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test that logs an unexpected warning; `caplog.clear()` accepts warnings."""
    yield
    loud = [
        record.getMessage()
        for record in caplog.get_records("call")
        # PyTorch 2.9 warns about its own expressions while it checks an operation.
        if record.levelno >= logging.WARNING
        and record.name != "torch.fx.experimental.symbolic_shapes"
    ]
    assert not loud, f"unexpected log messages: {loud}"


@pytest.fixture(autouse=True)
def english_numbers() -> Iterator[None]:
    """Reset the number format after each test."""
    yield
    numbers.use(None)


@pytest.fixture(autouse=True)
def bf16_is_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make BF16 count as slower than FP32 on the CPU, without measuring it."""
    set_bf16_gains(monkeypatch, 0.5)


@pytest.fixture(autouse=True)
def no_stray_threads() -> Iterator[None]:
    """Fail a test that leaves a thread running, daemons and QThreads included."""
    before = threads.running()
    yield
    left = threads.stray(before)
    assert not left, f"still running: {', '.join(left)}"


@pytest.fixture(autouse=True)
def usual_priority() -> Iterator[None]:
    """Fail a test that leaves its thread with a raised scheduling priority."""
    yield
    if hasattr(os, "sched_getscheduler"):
        assert os.sched_getscheduler(0) == SCHEDULER


@pytest.fixture(scope="session")
def native_smoothing() -> None:
    """Compile and load the CPU kernel that smooths streams, once per session."""
    from kernels.jit import build
    from kernels.table.registry import SMOOTHING

    if not build.load(SMOOTHING):
        pytest.skip(build.reason(SMOOTHING))


@pytest.fixture(scope="session")
def native_kernels() -> tuple:
    """Compile and load every kernel that this machine can run, once per session."""
    from kernels.table.registry import prepare

    return prepare()


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return the bundled styles with an empty folder for the user's own."""
    return Catalog(BUILTIN, tmp_path / "styles")


@pytest.fixture
def config() -> EngineConfig:
    """Return candy, fused, FP32, small enough that a frame needs only a few milliseconds.

    It names the full network: on a busy machine, the automatic choice would switch to the lite one.
    """
    return EngineConfig(device="cpu", size=64, network="full")


def add_style(
    folder: Path,
    key: str,
    seed: int,
    shape: NetworkConfig = FULL,
    *,
    lite: NetworkConfig | None = None,
) -> None:
    """Add a pack of random weights to the user's folder of the fixture `catalog`.

    The test reloads the catalog.
    """
    pack = folder / "styles" / key
    pack.mkdir(parents=True)
    torch.manual_seed(seed)
    lines = {"title": key.title(), "weights": "weights.safetensors"}
    save_checkpoint(pack / lines["weights"], TransformerNetBaseline(**asdict(shape)).state_dict())
    if lite is not None:
        lines["lite_weights"] = "lite.safetensors"
        net = TransformerNetBaseline(**asdict(lite))
        save_checkpoint(pack / lines["lite_weights"], net.state_dict())
        digest = hashlib.sha256((pack / lines["lite_weights"]).read_bytes())
        lines["lite_sha256"] = digest.hexdigest()
    (pack / "style.toml").write_text(toml.dumps(lines), "utf-8")


def picture(width: int = 64, height: int = 48, seed: int = 0) -> np.ndarray:
    """Return a [H, W, 3] uint8 gradient with soft blobs, so that there is structure to stylize."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (*reversed(fit(width, height, 16)), 3), np.uint8)
    rows = np.linspace(0, small.shape[0] - 1, height).round().astype(int)
    columns = np.linspace(0, small.shape[1] - 1, width).round().astype(int)
    ramp = np.linspace(0, 120, width, dtype=np.float32)[None, :, None]
    return (small[rows][:, columns] * 0.5 + ramp).astype(np.uint8)


@pytest.fixture
def frame() -> Frame:
    return Frame(picture())


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Keep PyTorch from spreading tiny pictures over the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def random_vgg() -> dict[str, Tensor]:
    """Return random weights in VGG-19's shapes, scaled so that signals neither die nor explode."""
    generator = torch.Generator().manual_seed(1)
    state = {}
    for index, cin, cout in zip(LAYERS, CHANNELS, CHANNELS[1:], strict=False):
        weight = torch.randn(cout, cin, 3, 3, generator=generator) * (2 / (9 * cin)) ** 0.5
        state[f"features.{index}.weight"] = weight
        state[f"features.{index}.bias"] = torch.randn(cout, generator=generator) * 0.1
    return state


@pytest.fixture(scope="session")
def vgg_state() -> dict[str, Tensor]:
    return random_vgg()


@pytest.fixture(scope="session")
def vgg_file(tmp_path_factory: pytest.TempPathFactory, vgg_state: dict[str, Tensor]) -> Path:
    path = tmp_path_factory.mktemp("vgg") / "vgg.safetensors"
    save_file(vgg_state, path, {"input": "BGR, 0-255, minus a mean"})
    return path


@pytest.fixture(scope="session")
def xvfb() -> Iterator[dict[str, str]]:
    """Yield the environment for a process that opens windows on a virtual X screen."""
    with virtual_screen(1280, 800) as environment:
        yield environment


@pytest.fixture(scope="session")
def openbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Yield the environment for a Full HD virtual screen with a window manager."""
    with managed_screen(1920, 1080, tmp_path_factory.mktemp("openbox")) as environment:
        yield environment


def _forget_garbage() -> None:
    gc.collect()
    gc.freeze()  # loaded modules stay and need not be scanned after every test


def pytest_collection_finish() -> None:
    _forget_garbage()


@pytest.fixture(autouse=True, scope="module")
def collect_between_modules() -> Iterator[None]:
    """Delete Qt objects after their own module, and make the C library return their memory.

    Otherwise they die in the middle of another test. Two processes with pictures of 24 megapixels
    have to fit into 8 GB.
    """
    yield
    _forget_garbage()
    if _TRIM is not None:
        _TRIM(0)
