"""The server describes itself: styles, limits, devices and networks, and its routes."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import asdict

import pytest

from app.commands.doctor import check_torch
from app.parameters import MATTED, PARAMETERS
from app.server.routes.page import FILES, FOLDER
from app.ui.theme.tokens import DARK, LIGHT
from app.version import styleforge_version
from tests.app.server.conftest import sentence
from tests.conftest import add_style
from tests.helpers.errors import mentions
from wheels.arrange import CHECKOUT


def test_the_styles_are_listed_with_their_pictures(start, engine_painter):
    client = start(engine_painter)
    styles = {style["key"]: style for style in client.get("/api/styles").json()}
    assert list(styles) == [style.key for style in engine_painter.catalog.styles]
    assert styles["candy"]["title"] == "Candy"
    assert "udnie" in styles["candy"]["mixable"]
    for style in styles.values():
        picture = client.get(style["thumbnail"])
        assert picture.headers["Content-Type"] == "image/png"
        assert picture.content.startswith(b"\x89PNG")


def test_a_style_that_was_added_meanwhile_is_listed(start, paper, tmp_path):
    client = start(paper)
    before = [style["key"] for style in client.get("/api/styles").json()]
    add_style(tmp_path, "mine", 0)
    after = client.get("/api/styles").json()
    (new,) = (style for style in after if style["key"] not in before)
    assert (new["key"], new["thumbnail"]) == ("mine", None)
    missing = client.get("/api/styles/mine/thumbnail")
    assert mentions(sentence(missing, 404), "Mine", "thumbnail")
    assert "no style 'x'" in sentence(client.get("/api/styles/x/thumbnail"), 404)


@pytest.mark.parametrize("content", [b"<html><script>", b"<svg onload='x()'/>", b"GIF89a", b""])
def test_a_thumbnail_is_sent_as_a_picture_or_not_at_all(content, start, paper, tmp_path):
    add_style(tmp_path, "mine", 0)
    pack = tmp_path / "styles" / "mine"
    (pack / "thumbnail.png").write_bytes(content)
    with (pack / "style.toml").open("a", encoding="utf-8") as file:
        file.write('thumbnail = "thumbnail.png"\n')
    client = start(paper)
    client.get("/api/styles")
    assert "has no thumbnail" in sentence(client.get("/api/styles/mine/thumbnail"), 404)


def test_the_status_says_what_runs_where_as_the_doctor_does(start, engine_painter):
    told = start(engine_painter, pixels=7).get("/api/status").json()
    assert told["version"] == styleforge_version()
    assert told["limits"]["pixels"] == 7
    assert told["findings"]["PyTorch"] == [asdict(finding) for finding in check_torch()]
    assert any("runs on" in finding["says"] for finding in told["findings"]["Kernels"])


def test_the_description_has_every_option_of_the_table(start, paper):
    described = start(paper).get("/openapi.json").json()
    for path in ("/api/pictures", "/api/jobs"):
        parameters = {p["name"]: p for p in described["paths"][path]["post"]["parameters"]}
        rows = {name for name, row in PARAMETERS.items() if row.help and not row.of_streams}
        assert rows - {"smoothing", "mix_amount", *MATTED} <= set(parameters)
        assert not {"smoothing", "fluid", *MATTED} & set(parameters)
        assert {"style", "mix", "size", "depth", "format"} <= set(parameters)
        assert parameters["strength"]["schema"]["maximum"] == 1
        assert all(parameter["description"] for parameter in parameters.values())
        assert "4XX" in described["paths"][path]["post"]["responses"]
    assert described["openapi"].startswith("3.")
    assert "HTTPBearer" in described["components"]["securitySchemes"]


def test_nothing_names_a_host_elsewhere(start, paper):
    client = start(paper)
    shown = [client.get(path).text for path in FILES if path != "/icon.svg"]
    shown.append(json.dumps(client.get("/openapi.json").json()))
    for text in shown:
        assert not re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text)
        assert not re.search(r"<(script|style)>|\son\w+=|\sstyle=|innerHTML|eval\(", text)


def test_every_file_of_the_page_is_served_and_nothing_else(start, paper):
    client = start(paper)
    assert set(FOLDER.iterdir()) == {p for p in FILES.values() if p.parent == FOLDER}
    for path, file in FILES.items():
        answer = client.get(path)
        assert answer.content == file.read_bytes()
        assert client.head(path).status_code == 200
    assert client.get("/icon.svg").headers["Content-Type"].startswith("image/svg+xml")
    for path in ("/../gate.py", "/%2e%2e/gate.py", "/page/../gate.py", "/index.html", "/gate.py"):
        assert client.get(path).status_code == 404


def test_the_files_of_the_page_are_data_of_the_package():
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    held = settings["tool"]["setuptools"]["package-data"]["*"]
    assert {f"*{path.suffix}" for path in FILES.values()} <= set(held)


def test_the_colors_of_the_page_are_those_of_the_window():
    css = (FOLDER / "page.css").read_text("utf-8")
    light, dark = (
        dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", part))
        for part in css.split("prefers-color-scheme: dark")
    )
    for colors, tokens in ((light, LIGHT), (dark, DARK)):
        assert len(colors) == 13
        known = asdict(tokens)
        assert {name: known[name.replace("-", "_")] for name in colors} == colors
