"""Real servers on loopback, with the engine and the bundled styles, or with a fake painter."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from app.commands.serve.painter import EnginePainter
from app.errors import StyleForgeError
from app.server.limits import Limits
from app.server.look import Look
from app.server.painting import Painted, Painter, Stopped
from app.server.server import serving
from app.styles.catalog import BUILTIN, Catalog
from app.styles.pack import Style
from models.precision import Precision
from tests.conftest import picture
from tests.helpers.any_style import save_tiny
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

TOKEN = "a-token-that-only-these-tests-know-of"
PATIENCE_S = 30.0

Start = Callable[..., httpx.Client]


class PaperPainter:
    """A painter that paints nothing; the test decides when a picture is finished.

    Attributes:
        network: The any-style network of its styles; None for the one that ships.
        go: Each release finishes one picture.
        begun: The styles of the pictures, in the order in which they were started.
    """

    def __init__(self, catalog: Catalog, network: Path | None = None) -> None:
        self.catalog, self.network = catalog, network
        self.matted = False
        self.findings: Mapping[str, Sequence[tuple[str, str]]] = {}
        self.go = threading.Semaphore(0)
        self.begun: list[str] = []

    def check(self, look: Look) -> None:
        """Accept every look."""

    def add_style(self, picture: Path, title: str, stop: Callable[[], bool]) -> Style:
        return self.catalog.install_picture(picture, self.network, title=title)

    def remove_style(self, key: str) -> None:
        self.catalog.remove(key)

    def paint(self, source: Path, target: Path, look: Look, stop: Callable[[], bool]) -> Painted:
        """Wait for `go` and write a picture; bold strokes raise an error."""
        read_pixels(source)
        self.begun.append(look.style)
        while not self.go.acquire(timeout=0.02):
            if stop():
                raise Stopped("the picture was canceled")
        if look.values.get("strokes") == "bold":
            raise StyleForgeError("the paper is torn")
        if look.values.get("strokes") == "fine":
            raise ZeroDivisionError("a fault of the program")
        write_pixels(target, picture(8, 8))
        return Painted("paper", 0.0)


@pytest.fixture(scope="session")
def engine_painter(tmp_path_factory: pytest.TempPathFactory) -> EnginePainter:
    """Return the engine with the bundled styles, on a network that needs no kernels."""
    catalog = Catalog(BUILTIN, tmp_path_factory.mktemp("painter") / "styles")
    return EnginePainter(catalog, kernels="baseline", precision=Precision.fp32, device="cpu")


@pytest.fixture(scope="session")
def tiny_network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("networks") / "tiny.safetensors")


@pytest.fixture
def paper(catalog: Catalog, tiny_network: Path) -> PaperPainter:
    return PaperPainter(catalog, tiny_network)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Yield a function that starts a server and returns a client with its token."""
    # uvicorn looks every 0.1 s whether it should end: twice at the end of every test.
    hasty = {"sleep": lambda seconds: asyncio.sleep(seconds / 10)}
    monkeypatch.setattr("uvicorn.server.asyncio", SimpleNamespace(**vars(asyncio) | hasty))
    with ExitStack() as open_ones:

        def begin(
            painter: Painter, *, jobs: Path | None = None, address: str = "127.0.0.1", **limits: int
        ) -> httpx.Client:
            server = open_ones.enter_context(
                serving(
                    painter,
                    TOKEN,
                    addresses=(address,),
                    port=0,
                    limits=Limits(**limits),
                    jobs=jobs or tmp_path / "jobs",
                )
            )
            client = httpx.Client(
                base_url=server.urls[0],
                headers={"Authorization": f"Bearer {TOKEN}"},
                timeout=PATIENCE_S,
                trust_env=False,
                verify=False,  # no certificates: reading the system's takes 0.1 s
            )
            return open_ones.enter_context(client)

        yield begin


@pytest.fixture
def photo(tmp_path: Path) -> bytes:
    path = tmp_path / "photo.png"
    write_pixels(path, picture(37, 26))
    return path.read_bytes()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.01)


def sentence(answer: httpx.Response, status: int) -> str:
    """Check that an error has the form of RFC 9457 and return its one sentence."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert "\n" not in told["detail"]
    return told["detail"]
