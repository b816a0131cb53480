"""The documentation contains the page that paints in the browser, with the nine styles."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from app.styles.catalog import BUILTIN
from tests.helpers.browser import browser
from tests.helpers.static_site import served

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1_000_000
SECONDS = 60


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Return a folder whose folder try/ has the files of the page."""
    spec = importlib.util.spec_from_file_location("try_page", ROOT / "docs" / "try_page.py")
    assert spec is not None
    assert spec.loader is not None
    hook: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    folder = tmp_path_factory.mktemp("docs")
    (folder / hook.FOLDER).mkdir()
    for name, content in hook.page().items():
        (folder / hook.FOLDER / name).write_bytes(content)
    return folder


@pytest.mark.full
def test_the_page_has_the_nine_shipped_styles_in_their_lite_networks(built):
    script = (built / "try" / "styleforge.js").read_text("utf-8")
    listed = re.search(r"^const STYLES = (\[.*\]);$", script, re.MULTILINE)
    assert listed is not None
    styles = json.loads(listed[1])
    assert {style["key"] for style in styles} == {path.parent.name for path in lites()}
    assert len(styles) == 9
    for style in styles:
        halves = (built / "try" / style["weights"]).stat().st_size
        assert halves < MEGABYTE / 1.9, "half a megabyte for each style"
    page = (built / "try" / "index.html").read_text("utf-8")
    assert "md-" not in page, "no theme of the documentation"


def lites() -> list[Path]:
    return sorted(BUILTIN.glob("*/lite.safetensors"))


@pytest.mark.full
def test_the_page_starts_below_a_path_with_no_large_file(built):
    with served(built) as address, browser() as opened:
        opened.get(f"{address}try/")
        WebDriverWait(opened, SECONDS).until(
            lambda _: opened.find_element(By.ID, "canvas").get_attribute("data-painted")
        )
        assert len(opened.find_elements(By.CSS_SELECTOR, "#styles [role=radio]")) == 9
        script = "return performance.getEntriesByType('resource')"
        fetched: dict[str, int] = dict(
            opened.execute_script(f"{script}.map((each) => [each.name, each.decodedBodySize])")
        )
    assert len(fetched) > 10
    assert all(name.startswith(f"{address}try/") for name in fetched)
    assert max(fetched.values()) < MEGABYTE
    assert sum(fetched.values()) < 1.2 * MEGABYTE
    assert not [name for name in fetched if name.endswith(".bin")], "weights wait for a picture"


def test_the_documentation_leads_to_the_page():
    assert "docs/try_page.py" in (ROOT / "mkdocs.yml").read_text("utf-8")
    assert ": try/index.html" in (ROOT / "mkdocs.yml").read_text("utf-8")
    assert "](try/index.html)" in (ROOT / "docs" / "index.md").read_text("utf-8")
    assert "#try-it-in-your-browser)" in (ROOT / "README.md").read_text("utf-8")
