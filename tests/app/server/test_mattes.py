"""A server that finds people paints only them or only the background; another one refuses to."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from app.cli import main
from app.commands.serve.painter import EnginePainter
from app.parameters import MATTED
from app.styles.catalog import BUILTIN, Catalog
from models.precision import Precision
from tests.app.server.conftest import sentence, until
from tests.helpers.errors import mentions
from utils.images.writing import write_pixels

WIDTH, HEIGHT = 96, 64
SMALL = {"size": "32", "network": "full"}


@pytest.fixture(scope="module")
def plate(tmp_path_factory):
    """Return a picture of an empty scene, and its file."""
    columns = np.linspace(60, 180, WIDTH)[None, :, None]
    pixels = np.ascontiguousarray(np.broadcast_to(columns, (HEIGHT, WIDTH, 3)), np.uint8)
    path = tmp_path_factory.mktemp("plate") / "plate.png"
    write_pixels(path, pixels)
    return pixels, path


@pytest.fixture(scope="module")
def painter(plate, tmp_path_factory):
    catalog = Catalog(BUILTIN, tmp_path_factory.mktemp("painter") / "styles")
    return EnginePainter(
        catalog, kernels="baseline", precision=Precision.fp32, device="cpu", matte=str(plate[1])
    )


@pytest.fixture
def visited(plate, tmp_path):
    """Return the scene with somebody in red, and its file's bytes."""
    pixels = plate[0].copy()
    pixels[16:, 32:64] = 220, 20, 30
    write_pixels(tmp_path / "visited.png", pixels)
    return pixels, (tmp_path / "visited.png").read_bytes()


def painted(client, body: bytes, **options: str) -> np.ndarray:
    answer = client.post("/api/pictures", params={**SMALL, **options}, content=body)
    assert answer.status_code == 200, answer.text
    return np.asarray(Image.open(io.BytesIO(answer.content)))


def options_of(client) -> set[str]:
    described = client.get("/openapi.json").json()["paths"]
    pictures, jobs = (described[f"/api/{name}"]["post"] for name in ("pictures", "jobs"))
    assert pictures["parameters"] == jobs["parameters"]
    return {parameter["name"] for parameter in pictures["parameters"]}


def test_a_part_of_a_picture_is_painted_where_the_request_says_so(start, painter, visited):
    frame, body = visited
    client = start(painter)
    assert set(MATTED) <= options_of(client)
    whole = painted(client, body)
    person = painted(client, body, paint="person")
    assert (person[24:, 40:56] == whole[24:, 40:56]).all()
    assert (person[:, :20] == frame[:, :20]).all()
    rest = painted(client, body, paint="person", swap_matte="true")
    assert (rest[24:, 40:56] == frame[24:, 40:56]).all()
    assert (whole[:, :20] != frame[:, :20]).any(), "without the option, everything is painted"


def test_a_job_paints_a_part_too(start, painter, visited):
    frame, body = visited
    client = start(painter)
    job = client.post("/api/jobs", params={**SMALL, "paint": "background"}, content=body).json()
    until(lambda: client.get(f"/api/jobs/{job['number']}").json()["state"] == "done")
    result = client.get(f"/api/jobs/{job['number']}/result")
    made = np.asarray(Image.open(io.BytesIO(result.content)))
    assert (made[24:, 40:56] == frame[24:, 40:56]).all()


def test_a_picture_of_another_shape_than_the_scene_is_refused(start, painter, photo):
    answer = start(painter).post("/api/pictures", params={"paint": "person"}, content=photo)
    assert mentions(sentence(answer, 422), "plate.png", "shape")


@pytest.mark.parametrize(
    ("name", "value"), [("paint", "person"), ("feather", "0.5"), ("swap_matte", "true")]
)
def test_a_server_that_finds_nobody_refuses_the_options(start, engine_painter, photo, name, value):
    client = start(engine_painter)
    assert not set(MATTED) & options_of(client)
    answer = client.post("/api/pictures", params={name: value}, content=photo)
    assert mentions(sentence(answer, 400), name, "serve --matte FILE")


def test_a_file_that_finds_nobody_ends_the_server_before_it_listens(tmp_path, capsys):
    flags = ("--port", "0", "--device", "cpu", "--kernels", "baseline")
    assert main(["serve", *flags, "--matte", str(tmp_path / "gone.png")]) == 1
    assert "gone.png" in capsys.readouterr().err
