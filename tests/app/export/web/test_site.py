"""`styleforge export STYLE... --web DIR` writes a page that paints in a browser as the desktop."""

from __future__ import annotations

import base64
import functools
import http.server
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from app.cli import main
from app.export.web.program import RecordingDevice
from app.styles.catalog import Catalog
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.weights import Weights
from models.checkpoints import load_checkpoint
from models.network_config import NetworkConfig, network_config
from models.transformer_net import TransformerNetBaseline
from tests.conftest import add_style, picture
from tests.helpers.browser import browser
from tests.helpers.errors import mentions

# Chromium has WebGPU without a GPU by SwiftShader, in FP32.
WEBGPU = "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"
CAMERA = "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"
STYLES = "candy", "mosaic"
SECONDS = 100


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert main(["export", *STYLES, "--web", str(folder)]) == 0
    return folder


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback, below a path; yield the address of the page."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return super().translate_path(path.removeprefix("/below"))

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/below/index.html"
    finally:
        server.shutdown()
        server.server_close()


def test_a_page_has_a_script_and_half_a_megabyte_for_each_style(site):
    names = {path.name for path in site.iterdir()}
    wanted = {"index.html", "style.css", "styleforge.js", "styleforge.svg"}
    assert names == wanted | {f"{key}.{end}" for key in STYLES for end in ("bin", "webp")}
    assert all((site / f"{key}.bin").stat().st_size < 520_000 for key in STYLES)
    page = (site / "index.html").read_text("utf-8")
    assert "default-src 'self'" in page
    assert "unsafe-inline" not in page
    assert "http" not in page.replace("http-equiv", ""), "nothing from other hosts"


def test_a_photo_is_painted_as_on_the_desktop(site, tmp_path):
    pixels = picture(45, 37)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    with served(site) as address, browser(1280, 800, *WEBGPU) as opened:
        opened.get(address)
        opened.find_element(By.CSS_SELECTOR, "[data-key=mosaic]").click()
        opened.find_element(By.ID, "file").send_keys(str(tmp_path / "photo.png"))
        canvas = "document.getElementById('canvas')"
        WebDriverWait(opened, SECONDS).until(
            lambda _: opened.execute_script(f"return {canvas}.dataset.painted") == "mosaic"
        )
        address_of = opened.execute_script(f"return {canvas}.toDataURL()")
        log = opened.get_log("browser")
    assert log == [], "no error in the console"
    content = base64.b64decode(address_of.partition(",")[2])
    painted = np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)
    lite = Catalog.default().get("mosaic").lite
    assert lite is not None
    state = load_checkpoint(lite)
    network = TransformerNetBaseline(**asdict(network_config(state)))
    network.load_state_dict(state)
    with torch.inference_mode():
        x = torch.from_numpy(pixels).permute(2, 0, 1)[None].double()
        exact = network.eval().double()(x)[0].permute(1, 2, 0).clamp(0, 255).numpy()
    assert painted.shape == pixels.shape
    assert np.abs(painted - exact.round()).max() <= 1
    assert painted.std() > 10


class Uploads(RecordingDevice):
    """A recording device whose buffers of weights are their bytes."""

    def upload(self, data: np.ndarray, *, uniform: bool = False) -> bytes:
        del uniform
        return data.tobytes()


@pytest.mark.parametrize("half", [False, True], ids=["FP32", "FP16"])
def test_the_page_packs_weights_as_the_desktop_does(site, half):
    lite = Catalog.default().get("candy").lite
    assert lite is not None
    state = load_checkpoint(lite)
    device: Any = Uploads()
    wanted = Weights(device, Network.of(network_config(state), half=half), state).buffers
    with served(site) as address, browser() as opened:
        opened.get(address)
        script = (site / "styleforge.js").read_text("utf-8")
        start, end = script.index("const STYLES"), script.index("// The page:")
        found = opened.execute_async_script(
            script[start:end]
            + """
            const [half, done] = arguments;
            fetch(STYLES[0].weights).then((answer) => answer.arrayBuffer()).then((bytes) => {
              const packed = packedStyle(new Uint16Array(bytes), NETWORKS[0], half);
              const names = Object.entries(packed).map(([name, numbers]) => [
                name, numbers.BYTES_PER_ELEMENT, Array.from(numbers),
              ]);
              done(names);
            });
            """,
            half,
        )
    assert {name for name, *_ in found} == set(wanted)
    for name, size, numbers in found:
        ours = np.array(numbers, np.uint16).view(np.float16) if size == 2 else np.float32(numbers)
        theirs = np.frombuffer(wanted[name], ours.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=2e-3 if size == 2 else 1e-5, atol=1e-6)


@pytest.mark.full
def test_a_camera_is_painted_frame_by_frame_and_stops(site):
    with served(site) as address, browser(1280, 800, *WEBGPU, *CAMERA) as opened:
        opened.get(address)
        camera = opened.find_element(By.ID, "camera")
        camera.click()
        canvas = "document.getElementById('canvas')"
        seen: set[str] = set()

        def moved(_: object) -> bool:
            seen.add(opened.execute_script(f"return {canvas}.toDataURL()"))
            return len(seen) >= 3

        WebDriverWait(opened, SECONDS).until(moved)
        assert camera.get_attribute("aria-pressed") == "true"
        camera.click()
        assert camera.get_attribute("aria-pressed") == "false"
        assert opened.get_log("browser") == []


def test_without_webgpu_the_page_says_so_and_every_control_has_a_tooltip(site):
    with served(site) as address, browser(1280, 800, *CAMERA) as opened:
        opened.get(address)
        opened.execute_script("Object.defineProperty(navigator, 'gpu', { value: undefined })")
        camera = opened.find_element(By.ID, "camera")
        camera.click()
        WebDriverWait(opened, SECONDS).until(
            lambda _: "WebGPU" in opened.find_element(By.ID, "says").text
        )
        assert camera.get_attribute("aria-pressed") == "false", "the camera is free again"
        buttons = opened.find_elements(By.TAG_NAME, "button")
        assert len(buttons) == 4 + len(STYLES)
        assert all(button.get_attribute("title") for button in buttons)


def test_styles_that_a_page_cannot_paint_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    add_style(tmp_path / "data" / "styleforge", "odd", 0, NetworkConfig(1, (12, 20, 28), 5))
    assert main(["export", "odd", "--web", str(tmp_path / "site")]) == 1
    assert mentions(capsys.readouterr().err, "Odd", "16")
    assert main(["export", "candy"]) == 1
    assert mentions(capsys.readouterr().err, "--web")
