"""An uploaded picture becomes a style that paints as on the command line, and can be removed."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from app.cli import main
from app.styles.catalog import Catalog
from tests.app.server.conftest import TOKEN, PaperPainter, sentence, until
from tests.conftest import add_style, picture
from tests.helpers.errors import mentions
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def painting(tmp_path: Path) -> Path:
    path = tmp_path / "painting.png"
    write_pixels(path, picture(80, 60, seed=5))
    return path


def made(client: httpx.Client, painting: Path, **options: str) -> httpx.Response:
    return client.post("/api/styles", params=options, content=painting.read_bytes())


def keys(client: httpx.Client) -> list[str]:
    return [style["key"] for style in client.get("/api/styles").json()]


@pytest.mark.full
def test_a_picture_becomes_a_style_that_paints_as_on_the_command_line(
    start, engine_painter, painting, photo, tmp_path
):
    client = start(engine_painter)
    before = keys(client)
    answer = made(client, painting, title="Blue Wave")
    assert answer.status_code == 201, answer.text
    style = answer.json()
    assert (style["key"], style["title"], style["of_picture"]) == ("blue_wave", "Blue Wave", True)
    assert client.get(answer.headers["Location"]).json() == style
    assert client.get(style["thumbnail"]).headers["Content-Type"] == "image/png"
    assert keys(client) == [*before, "blue_wave"]
    options = {"style": "blue_wave", "size": "48", "network": "full"}
    styled = client.post("/api/pictures", params=options, content=photo)
    assert styled.status_code == 200, styled.text
    source, out = tmp_path / "photo.png", tmp_path / "out.png"
    words = ["stylize", source, "-o", out, "--style-image", painting, "--size", "48"]
    words += ["--network", "full", "--kernels", "baseline", "--device", "cpu"]
    assert main(list(map(str, words))) == 0
    shown = np.asarray(Image.open(io.BytesIO(styled.content)).convert("RGB"))
    assert np.array_equal(shown, read_pixels(out))
    other = made(client, painting, title="Blue Wave").json()
    assert other["title"] == "Blue Wave 2"
    assert other["mixable"] == ["blue_wave"]
    for key in ("blue_wave", other["key"]):
        assert client.delete(f"/api/styles/{key}").status_code == 204
    assert keys(client) == before
    gone = client.post("/api/pictures", params=options, content=photo)
    assert "no style 'blue_wave'" in sentence(gone, 400)


@pytest.mark.full
def test_another_style_of_the_same_name_is_not_painted_as_the_one_that_was_removed(
    start, engine_painter, painting, photo, tmp_path
):
    client = start(engine_painter)
    results = []
    for seed in (5, 6):
        write_pixels(painting, picture(80, 60, seed=seed) // (seed - 4))
        key = made(client, painting, title="Mine").json()["key"]
        options = {"style": key, "size": "48", "network": "full"}
        results.append((key, client.post("/api/pictures", params=options, content=photo).content))
        assert client.delete(f"/api/styles/{key}").status_code == 204
    assert results[0][0] == results[1][0]
    assert results[0][1] != results[1][1]


def test_a_style_is_as_good_a_job_as_any(start, engine_painter, painting, photo):
    client = start(engine_painter)
    key = made(client, painting).json()["key"]
    assert key == "picture"
    options = {"style": key, "size": "32", "network": "full"}
    job = client.post("/api/jobs", params=options, content=photo).json()
    until(lambda: client.get(f"/api/jobs/{job['number']}").json()["state"] == "done")
    assert client.get(f"/api/jobs/{job['number']}/result").content.startswith(b"\x89PNG")
    assert client.delete(f"/api/styles/{key}").status_code == 204


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"<html>", 422, "'upload' is not a picture but an HTML page"),
        (b"", 400, "the request has no picture in its body"),
        (b"x" * 2000, 413, "the picture's file is larger than"),
    ],
)
def test_what_is_no_picture_becomes_no_style(start, paper, body, status, words):
    client = start(paper, bytes=1000)
    before = keys(client)
    assert words in sentence(client.post("/api/styles", content=body), status)
    assert keys(client) == before


def test_a_picture_of_too_many_pixels_becomes_no_style(start, paper, painting):
    client = start(paper, pixels=1000)
    assert mentions(sentence(made(client, painting), 413), "80x60 pixels", "0.001 megapixels")


def test_an_option_that_is_none_is_named(start, paper, painting):
    told = sentence(made(start(paper), painting, style="candy"), 400)
    assert mentions(told, "'style'", "title")


def test_there_are_as_many_styles_of_pictures_as_may_be(start, paper, painting):
    client = start(paper, styles=1)
    key = made(client, painting).json()["key"]
    told = sentence(made(client, painting), 409)
    assert "(1) is reached" in told
    assert client.delete(f"/api/styles/{key}").status_code == 204
    assert made(client, painting).status_code == 201


def test_without_a_network_it_is_said_that_there_is_none(start, painting, tmp_path):
    bare = Catalog(tmp_path / "builtin" / "styles", tmp_path / "user" / "styles")
    client = start(PaperPainter(bare))
    why = "a style picture needs an any-style network, and none is installed"
    for _ in range(20):  # the server answers during the upload, and answers the next request too
        assert sentence(made(client, painting), 501) == why
        assert client.get("/api/status").json()["style_pictures"] == why


def test_styles_that_come_with_the_program_or_were_trained_stay(start, paper, tmp_path):
    add_style(tmp_path, "mine", 0)
    client = start(paper)
    client.get("/api/styles")
    for key, title in (("candy", "Candy"), ("mine", "Mine")):
        told = sentence(client.delete(f"/api/styles/{key}"), 409)
        assert mentions(told, title, "made from a picture")
    assert "no style 'x'" in sentence(client.delete("/api/styles/x"), 404)
    assert {"candy", "mine"} <= set(keys(client))


def test_a_style_waits_in_the_line_as_pictures_do(start, paper, painting, photo):
    client = start(paper, waiting=2)
    answers: list[httpx.Response] = []

    def send(path: str, body: bytes) -> threading.Thread:
        thread = threading.Thread(
            target=lambda: answers.append(client.post(path, content=body, timeout=30))
        )
        thread.start()
        return thread

    first = send("/api/pictures", photo)
    until(lambda: len(paper.begun) == 1)
    second = send("/api/styles", painting.read_bytes())
    until(lambda: client.get("/api/status").json()["waiting"] == 2)
    assert "too many pictures" in sentence(made(client, painting), 503)
    assert "picture" not in keys(client)
    paper.go.release()
    for thread in (first, second):
        thread.join(30)
    assert sorted(answer.status_code for answer in answers) == [200, 201]


def test_styles_need_the_token(start, paper, painting):
    client = start(paper)
    before = keys(client)
    for headers in ({"Authorization": ""}, {"Authorization": f"Bearer {TOKEN[:-1]}"}):
        answer = client.post("/api/styles", content=painting.read_bytes(), headers=headers)
        assert "needs the token" in sentence(answer, 401)
        assert client.delete("/api/styles/candy", headers=headers).status_code == 401
    assert keys(client) == before


def test_styles_are_described_with_their_body_and_option(start, paper):
    described = start(paper).get("/openapi.json").json()["paths"]
    post = described["/api/styles"]["post"]
    assert post["requestBody"]["content"] == {
        "image/*": {"schema": {"type": "string", "format": "binary"}}
    }
    assert [parameter["name"] for parameter in post["parameters"]] == ["title"]
    assert "201" in post["responses"]
    assert "204" in described["/api/styles/{key}"]["delete"]["responses"]
