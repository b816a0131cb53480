"""`styleforge export STYLE... --web DIR` writes a page that paints in a browser as the desktop."""

from __future__ import annotations

import base64
import io
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from app.cli import main
from app.export.web import scene
from app.export.web.program import RecordingDevice
from app.styles.catalog import Catalog
from kernels.network.webgpu.layers import Network
from kernels.network.webgpu.weights import Weights
from models.checkpoints import load_checkpoint
from models.network_config import NetworkConfig, network_config
from models.transformer_net import TransformerNetBaseline
from tests.conftest import add_style, picture
from tests.helpers.browser import browser
from tests.helpers.daily import some_daily
from tests.helpers.errors import mentions
from tests.helpers.static_site import served

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


def wait_for(opened: Chrome, source: str, style: str) -> None:
    """Wait until the page shows a source, painted in a style."""
    script = "const { source, painted } = document.getElementById('canvas').dataset;"
    WebDriverWait(opened, SECONDS).until(
        lambda _: opened.execute_script(f"{script} return [source, painted]") == [source, style]
    )


def shown(opened: Chrome) -> np.ndarray:
    """Return the pixels of the page's canvas as int [H, W, 3]."""
    address = opened.execute_script("return document.getElementById('canvas').toDataURL()")
    content = base64.b64decode(address.partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


def exactly(pixels: np.ndarray, key: str, dtype: torch.dtype = torch.float64) -> np.ndarray:
    """Paint a picture by the lite network of a style in plain PyTorch."""
    lite = Catalog.default().get(key).lite
    assert lite is not None
    state = load_checkpoint(lite)
    network = TransformerNetBaseline(**asdict(network_config(state)))
    network.load_state_dict(state)
    with torch.inference_mode():
        x = torch.from_numpy(pixels.copy()).permute(2, 0, 1)[None].to(dtype)
        return network.eval().to(dtype)(x)[0].permute(1, 2, 0).clamp(0, 255).numpy()


def decibels(file: Path, exact: np.ndarray) -> float:
    """Return the PSNR of a picture file."""
    with Image.open(file) as opened:
        picture = np.asarray(opened.convert("RGB"))
    return 10 * np.log10(255**2 / np.square(picture - exact).mean())


def test_a_page_has_a_script_and_half_a_megabyte_for_each_style(site):
    names = {path.name for path in site.iterdir()}
    wanted = {"index.html", "style.css", "styleforge.js", "styleforge.svg", "scene.webp"}
    ends = (".bin", ".webp", "-scene.webp")
    assert names == wanted | {f"{key}{end}" for key in STYLES for end in ends}
    assert all((site / f"{key}.bin").stat().st_size < 520_000 for key in STYLES)
    page = (site / "index.html").read_text("utf-8")
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in page
    assert "unsafe-" not in page
    assert " style=" not in page
    assert "http" not in page.replace("http-equiv", ""), "nothing from other hosts"


@pytest.mark.full
def test_a_photo_is_painted_as_on_the_desktop(site, tmp_path):
    pixels = picture(45, 37)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    with served(site) as address, browser(1280, 800, *WEBGPU) as opened:
        opened.get(address)
        opened.find_element(By.CSS_SELECTOR, "[data-key=mosaic]").click()
        opened.find_element(By.ID, "file").send_keys(str(tmp_path / "photo.png"))
        wait_for(opened, "photo", "mosaic")
        painted = shown(opened)
        log = opened.get_log("browser")
    assert log == [], "no error in the console"
    exact = exactly(pixels, "mosaic")
    assert painted.shape == pixels.shape
    assert np.abs(painted - exact.round()).max() <= 1
    assert painted.std() > 10


@pytest.mark.full
def test_the_lake_is_painted_by_the_network_of_each_style(site):
    pixels = scene.lake()
    assert decibels(site / "scene.webp", pixels) > 25
    assert decibels(site / "mosaic-scene.webp", exactly(pixels, "mosaic", torch.float32)) > 25
    page = (site / "index.html").read_text("utf-8")
    assert 'src="candy-scene.webp"' in page, "a painting without a script"


@pytest.mark.full
def test_a_browser_without_a_gpu_shows_the_lake_in_every_style(site):
    with served(site) as address, browser() as opened:
        opened.get(address)
        wait_for(opened, "scene", "candy")
        assert mentions(opened.find_element(By.ID, "says").text, "WebGPU", "lake")
        names = "return performance.getEntriesByType('resource').map((each) => each.name)"
        assert not [name for name in opened.execute_script(names) if name.endswith(".bin")]
        candy = shown(opened)
        opened.find_element(By.CSS_SELECTOR, "[data-key=candy]").send_keys(Keys.ARROW_RIGHT)
        wait_for(opened, "scene", "mosaic")
        chosen = opened.switch_to.active_element
        assert chosen.get_attribute("data-key") == "mosaic"
        assert chosen.get_attribute("aria-checked") == "true"
        assert "Mosaic" in (opened.find_element(By.ID, "tells").get_attribute("textContent") or "")
        mosaic = shown(opened)
        assert np.abs(candy - mosaic).mean() > 10
        strength = opened.find_element(By.ID, "strength")
        strength.send_keys(Keys.HOME)
        bare = shown(opened)
        assert np.abs(bare - scene.lake()).mean() < 8, "no strength, no painting"
        strength.send_keys(Keys.PAGE_UP * 5)
        half = int(strength.get_attribute("value") or 0) / 100
        assert 0.2 < half < 0.8
        assert np.abs(shown(opened) - (half * mosaic + (1 - half) * bare)).max() <= 2
        opened.find_element(By.TAG_NAME, "body").send_keys("1")
        wait_for(opened, "scene", "candy")


@pytest.mark.full
@pytest.mark.parametrize(
    ("width", "height"), some_daily([(1280, 800), (390, 844), (320, 568), (844, 390)], 2)
)
def test_every_control_is_on_the_screen(site, width, height):
    with served(site) as address, browser(width, height) as opened:
        opened.get(address)
        wait_for(opened, "scene", "candy")
        controls = "#stage, #controls button, #strength, [data-key=candy]"
        for control in opened.find_elements(By.CSS_SELECTOR, controls):
            box = control.rect
            assert box["x"] >= 0
            assert box["y"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= height
            assert min(box["width"], box["height"]) >= 24, "large enough for a finger"
        assert opened.find_element(By.ID, "stage").rect["height"] > height / 3


@pytest.mark.full
def test_without_a_camera_the_page_says_so_and_keeps_the_lake(site):
    with served(site) as address, browser(1280, 800, *WEBGPU) as opened:
        opened.get(address)
        wait_for(opened, "scene", "candy")
        camera = opened.find_element(By.ID, "camera")
        camera.click()
        says = opened.find_element(By.ID, "says")
        WebDriverWait(opened, SECONDS).until(lambda _: "No camera" in says.text)
        assert camera.get_attribute("aria-pressed") == "false"
        wait_for(opened, "scene", "candy")
        assert opened.get_log("browser") == []


class Uploads(RecordingDevice):
    """A recording device whose buffers of weights are their bytes."""

    def upload(self, data: np.ndarray, *, uniform: bool = False) -> bytes:
        del uniform
        return data.tobytes()


def painting(site: Path) -> str:
    """Return the page's script without its elements."""
    script = (site / "styleforge.js").read_text("utf-8")
    return script[script.index("const STYLES") : script.index("// The page:")]


REFUSED = """
    const done = arguments[0];
    const plan = () => (
      { buffers: [2 ** 45], picture: 0, result: 0, resultBytes: 4, runs: [] }
    );
    adapter().then((gpu) => gpu.requestDevice()).then((device) => {
      const painter = new Painter(device, { floats: { shaders: [], plan } }, false);
      return painter.paint("candy", new ImageData(16, 16));
    }).then(() => done(""), (error) => done(error.message));
"""


@pytest.mark.full
def test_a_gpu_that_refuses_a_picture_raises_one_sentence_and_paints_no_black(site):
    with served(site) as address, browser(1280, 800, *WEBGPU) as opened:
        opened.get(f"{address}style.css")
        said = opened.execute_async_script(painting(site) + REFUSED)
    assert mentions(said, "GPU")
    assert "memory" in said or "refused" in said


@pytest.mark.parametrize("half", some_daily([False, True]), ids=["FP32", "FP16"])
def test_the_page_packs_weights_as_the_desktop_does(site, half):
    lite = Catalog.default().get("candy").lite
    assert lite is not None
    state = load_checkpoint(lite)
    device: Any = Uploads()
    wanted = Weights(device, Network.of(network_config(state), half=half), state).buffers
    with served(site) as address, browser() as opened:
        opened.get(address)
        found = opened.execute_async_script(
            painting(site)
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


# A software GPU would need half a minute for each of the camera's own pictures.
SMALL_CAMERA = """
    const devices = navigator.mediaDevices;
    const open = devices.getUserMedia.bind(devices);
    devices.getUserMedia = () => open({ video: { width: 96, height: 72 } });
"""


@pytest.mark.full
def test_a_camera_is_painted_frame_by_frame_and_stops(site):
    with served(site) as address, browser(1280, 800, *WEBGPU, *CAMERA) as opened:
        opened.get(address)
        opened.execute_script(SMALL_CAMERA)
        camera = opened.find_element(By.ID, "camera")
        camera.click()
        wait_for(opened, "camera", "candy")
        seen: set[bytes] = set()

        def moved(_: object) -> bool:
            seen.add(shown(opened).tobytes())
            return len(seen) >= 3

        WebDriverWait(opened, SECONDS).until(moved)
        assert camera.get_attribute("aria-pressed") == "true"
        camera.click()
        assert camera.get_attribute("aria-pressed") == "false"
        opened.find_element(By.CSS_SELECTOR, "[data-key=mosaic]").click()
        wait_for(opened, "photo", "mosaic")  # the last picture stays, as a photo
        assert opened.get_log("browser") == []


@pytest.mark.full
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
