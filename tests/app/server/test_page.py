"""The page in a real browser shows a dropped, chosen or pasted picture styled."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.app.server.conftest import TOKEN, sentence, until
from tests.conftest import picture
from tests.helpers.browser import browser
from tests.helpers.errors import mentions
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

WIDTH, HEIGHT = 320, 240
PASTE = """
const bytes = Uint8Array.from(atob(arguments[0]), (letter) => letter.charCodeAt(0));
const data = new DataTransfer();
data.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
"""
BACKGROUND = "return getComputedStyle(document.documentElement).backgroundColor"
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chrome]:
    """Yield one browser for all tests; each test has its own server, and with it its own origin."""
    with browser() as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "holiday.png"
    write_pixels(path, picture(WIDTH, HEIGHT))
    return path


class Page:
    def __init__(self, chromium: Chrome, client: httpx.Client, token: str = TOKEN) -> None:
        self.chromium, self.client = chromium, client
        self.address = str(client.base_url)
        chromium.get(f"{self.address}#token={token}")
        if token == TOKEN:
            self.begin()

    def begin(self) -> None:
        """Wait until the styles are shown."""
        until(lambda: len(self.all(".card img[src]")) == 9)

    def all(self, selector: str) -> list[WebElement]:
        return self.chromium.find_elements(By.CSS_SELECTOR, selector)

    def part(self, name: str) -> WebElement:
        return self.chromium.find_element(By.ID, name)

    def run(self, script: str, *given: object) -> Any:
        return self.chromium.execute_script(script, *given)

    def told(self) -> str:
        return self.part("told").text

    def problem(self) -> str:
        return self.part("problem").text

    def drop(self, file: Path, place: WebElement | None = None) -> None:
        """Drop a file as the system does, on the stage unless `place` is given."""
        data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
        x, y = 300, 300
        if place is not None:
            x, y = (place.rect[a] + place.rect[b] / 2 for a, b in (("x", "width"), ("y", "height")))
        for kind in ("dragEnter", "dragOver", "drop"):
            event = {"type": kind, "x": x, "y": y, "data": data}
            self.chromium.execute_cdp_cmd("Input.dispatchDragEvent", event)

    def wait(self, words: str) -> None:
        """Wait until the page shows some words and the picture that belongs to them."""
        until(lambda: words in self.told() or bool(self.problem()))
        assert words in self.told(), self.problem()
        until(lambda: self.run("return document.getElementById('after').complete"))

    def result(self) -> np.ndarray:
        """Return the picture that a click on Download would save."""
        link, shown, data = self.run(
            "const image = document.getElementById('after');"
            "const canvas = document.createElement('canvas');"
            "canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;"
            "const paper = canvas.getContext('2d'); paper.drawImage(image, 0, 0);"
            "const link = document.getElementById('download').href;"
            "return [link, image.src, canvas.toDataURL('image/png').split(',')[1]];"
        )
        assert link == shown
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))

    def complaints(self) -> list[str]:
        """Return the browser's log for the page: errors, and resources that the policy blocked."""
        return [entry["message"] for entry in self.chromium.get_log("browser")]


@pytest.fixture
def page(chromium: Chrome, start: Callable[..., httpx.Client], engine_painter) -> Iterator[Page]:
    opened = Page(chromium, start(engine_painter))
    yield opened
    assert not opened.complaints()
    asked = opened.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert asked
    assert not [name for name in asked if not name.startswith((opened.address, "blob:"))]
    chromium.get("about:blank")  # a page without its server would log errors


def styled(client: httpx.Client, file: Path, **options: str) -> np.ndarray:
    answer = client.post("/api/pictures", params=options, content=file.read_bytes())
    return np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGB"))


def test_a_picture_that_is_dropped_is_shown_styled_beside_itself(page, file):
    assert page.part("choose").is_displayed()
    page.drop(file)
    page.wait("Candy, painted in")
    assert np.array_equal(page.result(), styled(page.client, file, style="candy"))
    assert not page.part("choose").is_displayed()
    assert page.part("before").is_displayed()
    assert page.part("download").get_attribute("download") == "holiday-candy.png"
    assert page.part("ran").text.startswith("Baseline, FP32, CPU")


@pytest.mark.full
def test_a_picture_that_is_chosen_or_pasted_is_taken_too(page, file):
    page.part("file").send_keys(str(file))
    page.wait("Candy, painted in")
    other = picture(64, 48, seed=3)
    write_pixels(file, other)
    page.run(PASTE, base64.b64encode(file.read_bytes()).decode())
    until(lambda: page.run("return document.getElementById('after').naturalWidth") == 64)
    page.wait("Candy, painted in")
    assert np.array_equal(page.result(), styled(page.client, file, style="candy"))
    assert page.part("download").get_attribute("download") == "pasted-candy.png"


@pytest.mark.full
def test_another_style_and_other_options_paint_it_anew(page, file):
    page.drop(file)
    page.wait("Candy, painted in")
    card = next(card for card in page.all(".card") if card.text == "Starry Night")
    card.click()
    page.wait("Starry Night, painted in")
    assert np.array_equal(page.result(), styled(page.client, file, style="starry_night"))
    strength = page.part("look-strength")
    strength.send_keys(Keys.HOME)
    until(lambda: np.array_equal(page.result(), read_pixels(file)))
    page.chromium.find_element(By.TAG_NAME, "summary").click()
    page.part("look-format").send_keys("JPEG")
    until(lambda: ".jpeg" in (page.part("download").get_attribute("download") or ""))


@pytest.mark.full
def test_handles_of_strokes_are_typed_as_text(page, file):
    page.drop(file)
    page.wait("Candy, painted in")
    page.chromium.find_element(By.TAG_NAME, "summary").click()
    page.part("look-strokes_handles").send_keys("0.2,0.3,30", Keys.TAB)
    combed = styled(page.client, file, style="candy", strokes_handles="0.2,0.3,30")
    until(lambda: np.array_equal(page.result(), combed))
    assert not np.array_equal(combed, styled(page.client, file, style="candy"))


@pytest.mark.full
def test_a_picture_becomes_a_style_that_is_chosen_and_can_be_removed(page, file, tmp_path):
    painting = tmp_path / "red wall.png"
    write_pixels(painting, picture(96, 72, seed=9))
    page.drop(file)
    page.wait("Candy, painted in")
    assert not page.part("remove-style").is_displayed()
    assert page.part("add-style").is_enabled()
    page.part("style-file").send_keys(str(painting))
    page.wait("red wall, painted in")
    key = page.run("return document.querySelector('input[name=style]:checked').value")
    assert key in [style["key"] for style in page.client.get("/api/styles").json()]
    assert np.array_equal(page.result(), styled(page.client, file, style=key))
    assert page.part("remove-style").is_displayed()
    page.part("remove-style").click()
    page.wait("Candy, painted in")
    assert not page.part("remove-style").is_displayed()
    assert key not in [style["key"] for style in page.client.get("/api/styles").json()]
    assert len(page.all(".card")) == 9


@pytest.mark.full
def test_a_picture_that_is_dropped_on_the_styles_becomes_one(page, file, tmp_path):
    painting = tmp_path / "dots.png"
    write_pixels(painting, picture(96, 72, seed=9))
    page.drop(file)
    page.wait("Candy, painted in")
    page.drop(painting, page.part("styles"))
    page.wait("dots, painted in")
    page.part("remove-style").click()
    page.wait("Candy, painted in")


@pytest.mark.full
def test_what_becomes_no_style_is_told_in_the_servers_words(page, tmp_path):
    wrong = tmp_path / "page.png"
    wrong.write_text("<html>")
    page.part("style-file").send_keys(str(wrong))
    until(lambda: bool(page.problem()))
    assert mentions(page.problem(), "upload", "an HTML page")
    assert page.part("add-style").is_enabled()
    assert not page.part("busy").is_displayed()
    page.complaints()  # Chromium logs each error response


@pytest.mark.full
def test_the_divider_follows_the_mouse_and_the_keys(page, file):
    page.drop(file)
    page.wait("Candy, painted in")
    box = page.part("compare")

    def share() -> float:
        before = page.run("return getComputedStyle(document.getElementById('before')).clipPath")
        return float(before.split("(")[1].split("% ")[0].split()[-1].rstrip("%"))

    assert share() == 50
    quarter = box.size["width"] // 4
    ActionChains(page.chromium).move_to_element(box).click_and_hold().move_by_offset(
        quarter, 0
    ).release().perform()
    assert abs(share() - 25) <= 1
    page.part("split").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert abs(share() - 23) <= 1
    page.part("split").send_keys(Keys.HOME)
    assert share() == 100


@pytest.mark.full
def test_everything_is_reached_by_keys_and_has_a_name(page, file):
    page.part("file").send_keys(str(file))
    page.wait("Candy, painted in")
    reached = []
    body = page.chromium.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    for _ in range(20):
        focused = page.chromium.switch_to.active_element
        reached.append(focused.accessible_name)
        focused.send_keys(Keys.TAB)
    expected = [
        "Skip to the styles",
        "API",
        "Position of the divider between before and after",
        "Another picture",
    ]
    expected += ["Download", "Candy", "Strength", "More options"]
    assert [name for name in reached if name in expected][: len(expected)] == expected
    candy = next(card for card in page.all(".card input") if card.is_selected())
    candy.send_keys(Keys.ARROW_RIGHT)
    page.wait("Mosaic, painted in")
    assert page.part("told").aria_role == "status"
    assert page.part("problem").get_attribute("role") == "alert"
    for control in page.all("input:not([type=file]), select, button, a"):
        if control.is_displayed():
            assert control.accessible_name, control.get_attribute("outerHTML")


@pytest.mark.full
def test_what_is_no_picture_is_told_in_the_servers_words(page, file, tmp_path):
    wrong = tmp_path / "page.png"
    wrong.write_text("<html>")
    page.drop(wrong)
    until(lambda: bool(page.problem()))
    assert mentions(page.problem(), "upload", "an HTML page")
    (complaint,) = page.complaints()
    assert "422" in complaint
    page.drop(file)
    page.wait("Candy, painted in")
    assert page.problem() == ""


def test_a_file_that_is_too_large_is_not_sent(chromium, start, paper, file):
    page = Page(chromium, start(paper, bytes=1000))
    page.drop(file)
    until(lambda: bool(page.problem()))
    assert "1 kB" in page.problem()
    assert not paper.begun


@pytest.mark.full
def test_without_the_token_the_page_asks_for_it(chromium, start, engine_painter, file):
    client = start(engine_painter)
    page = Page(chromium, client, token="wrong")
    until(lambda: page.part("ask").is_displayed())
    page.part("token").send_keys("wrong-again", Keys.ENTER)
    until(lambda: page.part("wrong").is_displayed())
    page.part("token").clear()
    page.part("token").send_keys(TOKEN, Keys.ENTER)
    page.begin()
    assert not page.part("ask").is_displayed()
    page.drop(file)
    page.wait("Candy, painted in")
    assert all("401" in complaint for complaint in page.complaints())


@pytest.mark.full
def test_the_token_stays_neither_in_the_address_nor_in_a_cookie(page):
    assert page.chromium.current_url == page.address
    assert page.run("return document.cookie") == ""
    assert page.chromium.get_cookies() == []
    page.chromium.refresh()
    page.begin()  # this tab still has it
    assert sentence(httpx.get(f"{page.address}api/status", trust_env=False), 401)


@pytest.mark.full
def test_the_colors_follow_the_system(page):
    shown = {}
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        shown[scheme] = page.run(
            "return getComputedStyle(document.documentElement).backgroundColor"
        )
    page.chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert shown == {"light": "rgb(243, 244, 246)", "dark": "rgb(23, 24, 27)"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("width", "height"),
    [
        (320, 640),
        *(
            pytest.param(*screen, marks=pytest.mark.full)
            for screen in ((390, 844), (1280, 800), (1920, 1080))
        ),
    ],
)
def test_nothing_is_cut_off_on_a_screen(width, height, page, file):
    screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    page.chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        assert page.run(OVERFLOW) <= 0
        page.drop(file)
        page.wait("Candy, painted in")
        assert page.run(OVERFLOW) <= 0
        box, stage = page.part("compare").rect, page.part("stage").rect
        assert box["width"] <= stage["width"] + 1
        assert box["height"] <= stage["height"] + 1
        assert abs(box["width"] / box["height"] - WIDTH / HEIGHT) < 0.02
    finally:
        desktop = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        page.chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", desktop)


@pytest.mark.full
def test_the_page_of_the_routes_shows_every_route_and_option(page):
    page.chromium.get(f"{page.address}docs")
    until(lambda: len(page.all("section")) >= 9)
    text = page.chromium.find_element(By.TAG_NAME, "main").text
    described = page.client.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in text
    for parameter in described["paths"]["/api/pictures"]["post"]["parameters"]:
        assert parameter["name"] in text
        assert parameter["description"] in text
    assert "auto | number 0 to 1" in text
