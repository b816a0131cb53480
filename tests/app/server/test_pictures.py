"""An uploaded picture comes back styled as by `stylize`, within limits and in order."""

from __future__ import annotations

import io
import socket
import struct
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from app.cli import main
from app.server.connections import Connection
from app.server.limits import Limits
from app.server.server import serving
from tests.app.server.conftest import TOKEN, sentence, until
from tests.conftest import picture
from tests.helpers.errors import mentions
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

FORMATS = {"png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp"}
SMALL = {"size": "32", "network": "full"}


def pixels(answer: httpx.Response) -> np.ndarray:
    assert answer.status_code == 200, answer.text
    return np.asarray(Image.open(io.BytesIO(answer.content)))


def post(client: httpx.Client, body: bytes, **options: str) -> httpx.Response:
    return client.post("/api/pictures", params={**SMALL, **options}, content=body)


def connected(client: httpx.Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=30)


def head(client: httpx.Client, *lines: str) -> bytes:
    """Return the header of a request for a picture, without its body."""
    host = f"Host: {client.base_url.host}:{client.base_url.port}"
    lines = ("POST /api/pictures HTTP/1.1", host, f"Authorization: Bearer {TOKEN}", *lines)
    return "\r\n".join((*lines, "", "")).encode()


@pytest.mark.parametrize(
    "options",
    [
        {"style": "udnie"},
        {"style": "candy", "strength": "0.5", "keep_colors": "true", "texture": "0.4"},
        {"style": "candy", "strokes_direction": "follow", "strokes_length": "0.7"},
        {"style": "candy", "strokes_direction": "30", "texture": "1"},
        {"style": "candy", "strokes_handles": "0.2,0.3,30;0.8,0.7,120", "texture": "1"},
        {"style": "mosaic", "mix": "scream:0.3", "strokes": "bold", "upsampling": "smooth"},
    ],
)
def test_a_picture_is_styled_as_on_the_command_line(
    options, start, engine_painter, photo, tmp_path
):
    answer = post(start(engine_painter), photo, **options)
    flags = [
        f"--{name.replace('_', '-')}" + ("" if value == "true" else f"={value}")
        for name, value in {**SMALL, **options}.items()
    ]
    made = tmp_path / "made.png"
    command = ["stylize", str(tmp_path / "photo.png"), "-o", str(made), "--kernels", "baseline"]
    assert main([*command, "--device", "cpu", *flags]) == 0
    assert np.array_equal(pixels(answer), read_pixels(made))
    assert "Baseline, FP32, CPU" in answer.headers["StyleForge-Ran"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_result_is_written_as_what_was_asked_for(name, start, engine_painter, photo):
    answer = post(start(engine_painter), photo, format=name)
    assert answer.headers["Content-Type"] == FORMATS[name]
    image = Image.open(io.BytesIO(answer.content))
    assert (image.format, image.size) == (name.upper(), (37, 26))


@pytest.mark.parametrize("ending", ["jpg", "webp", "tif", "bmp", "gif"])
def test_a_picture_of_any_format_is_taken_whatever_it_is_called(
    ending, start, engine_painter, tmp_path
):
    path = tmp_path / f"photo.{ending}"
    Image.fromarray(picture(37, 26)).save(path)
    assert pixels(post(start(engine_painter), path.read_bytes())).shape == (26, 37, 3)


def test_what_a_result_lacks_is_said(start, engine_painter, tmp_path):
    path = tmp_path / "clear.png"
    write_pixels(path, picture(37, 26), alpha=np.full((26, 37), 128, np.uint8))
    client = start(engine_painter)
    jpeg = post(client, path.read_bytes(), format="jpeg")
    assert "transparent parts became white" in jpeg.headers["StyleForge-Remark"]
    assert pixels(post(client, path.read_bytes())).shape == (26, 37, 4)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"style": "cand"}, "there is no style 'cand'; did you mean candy?"),
        ({"strength": "2"}, "strength must be a number from 0 to 1, not '2'"),
        ({"strength": "nan"}, "a number from 0 to 1"),
        (
            {"strokes_direction": "200"},
            "strokes_direction must be one of auto, none, follow, swirl, hand or an angle from 0 "
            "to less than 180 degrees, not '200'",
        ),
        ({"strokes_handles": "0.5,0.5"}, "x,y,angle, with x and y from 0 to 1"),
        (
            {"strokes_handles": "0.5,0.5,30", "strokes_direction": "swirl"},
            "handles comb strokes with the direction hand only, not swirl",
        ),
        ({"texture": "much"}, "texture must be auto or a number from 0 to 1, not 'much'"),
        ({"keep_colors": "maybe"}, "keep_colors must be one of true, false, not 'maybe'"),
        ({"strokes": "thick"}, "strokes must be one of fine, medium, bold, not 'thick'"),
        ({"size": "0"}, "size must be full or a whole number from 16 to 65536, not '0'"),
        ({"mix": "udnie:2"}, "udnie:0.4"),
        ({"mix": ["udnie:0.2", "udnie:0.1"]}, "'udnie' is in the mix twice"),
        ({"depth": "12"}, "depth must be one of 8, 16"),
        ({"format": "bmp"}, "format must be one of png, jpeg, webp"),
        ({"smoothing": "1"}, "there is no option 'smoothing', only style, mix,"),
    ],
)
def test_an_option_that_is_not_possible_is_told_before_the_picture_is_sent(
    options, says, start, engine_painter
):
    answer = start(engine_painter).post("/api/pictures", params=options, content=b"no picture")
    assert says in sentence(answer, 400)


def test_an_option_is_given_once(start, engine_painter, photo):
    answer = start(engine_painter).post("/api/pictures?size=32&size=64", content=photo)
    assert mentions(sentence(answer, 400), "option 'size'", "twice")


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "the request has no picture in its body"),
        (b"<html>", 422, "'upload' is not a picture but an HTML page"),
        (b"\x89PNG\r\n\x1a\n", 422, "'upload' is a PNG picture that is truncated or damaged"),
    ],
)
def test_what_is_no_picture_is_refused_in_a_sentence(body, status, says, start, engine_painter):
    assert sentence(post(start(engine_painter), body), status) == says


def test_a_picture_that_turns_out_to_be_damaged_is_refused(start, engine_painter, photo):
    says = sentence(post(start(engine_painter), photo[:-400]), 422)
    assert mentions(says, "upload", "truncated or damaged")


def test_a_body_that_is_declared_too_large_is_refused_before_a_byte_of_it(start, paper):
    client = start(paper, bytes=1 << 20)
    with connected(client) as line:
        line.sendall(head(client, "Content-Length: 1048577"))
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")
    declared = client.post("/api/pictures", content=bytes((1 << 20) + 1))
    assert "larger than 1 MB" in sentence(declared, 413)


def test_a_client_that_is_gone_before_its_refusal_disturbs_nothing(start, paper, monkeypatch):
    end, gone = Connection._end, threading.Event()

    def late(connection):
        assert gone.wait(20)
        line = connection.transport
        peer = line.get_extra_info("socket")
        # A write of the answer's last part may have met the reset already, which clears the error.
        until(lambda: line.is_closing() or peer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0)
        end(connection)

    monkeypatch.setattr(Connection, "_end", late)
    client = start(paper, bytes=1 << 20)
    with connected(client) as line:
        line.sendall(head(client, "Content-Length: 1048577"))
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # resets
    gone.set()
    assert client.get("/api/status").status_code == 200


def test_a_body_of_unknown_length_is_refused_when_it_has_become_too_large(start, paper, tmp_path):
    client = start(paper, bytes=1 << 20)
    piece = b"10000\r\n" + bytes(1 << 16) + b"\r\n"
    with connected(client) as line:
        line.sendall(head(client, "Transfer-Encoding: chunked"))
        for _ in range(16):
            line.sendall(piece)
        line.sendall(piece)  # one more than the limit, and no last chunk
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")
    assert not paper.begun


def test_a_picture_that_never_comes_as_a_whole_takes_no_place(start, paper, photo):
    client = start(paper, waiting=1)
    with connected(client) as line:
        line.sendall(head(client, f"Content-Length: {len(photo)}") + photo[:50])
        until(lambda: client.get("/api/status").json()["waiting"] == 1)
    until(lambda: client.get("/api/status").json()["waiting"] == 0)
    paper.go.release()
    assert post(client, photo).status_code == 200


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(start, engine_painter, photo):
    client = start(engine_painter, pixels=961)
    says = sentence(post(client, photo), 413)
    assert mentions(says, "37x26 pixels", "0.000961 megapixels")
    client = start(engine_painter, pixels=962)
    assert post(client, photo).status_code == 200
    says = sentence(post(client, photo, size="1000"), 413)
    assert mentions(says, "1000", "1000x703")


def test_pictures_wait_in_the_order_in_which_they_came(start, paper, photo):
    client = start(paper)
    with ThreadPoolExecutor(3) as others:
        styles, turns = ("candy", "udnie", "mosaic"), []
        for count, style in enumerate(styles, 1):
            turns.append(others.submit(post, client, photo, style=style))
            until(lambda count=count: client.get("/api/status").json()["waiting"] == count)
        until(lambda: paper.begun == ["candy"])
        paper.go.release(3)
        assert [turn.result().status_code for turn in turns] == [200, 200, 200]
    assert paper.begun == ["candy", "udnie", "mosaic"]


def test_a_full_line_is_said_at_once(start, paper, photo):
    client = start(paper, waiting=1)
    with ThreadPoolExecutor(1) as other:
        first = other.submit(post, client, photo)
        until(lambda: bool(paper.begun))
        for path in ("/api/pictures", "/api/jobs"):
            full = client.post(path, content=photo)
            assert "too many pictures" in sentence(full, 503)
            assert int(full.headers["Retry-After"]) > 0
        paper.go.release()
        assert first.result().status_code == 200
    paper.go.release()
    assert post(client, photo).status_code == 200


def test_a_picture_that_nobody_waits_for_any_more_is_not_painted(start, paper, photo):
    client = start(paper)
    with ThreadPoolExecutor(1) as other:
        first = other.submit(post, client, photo, style="candy")
        until(lambda: paper.begun == ["candy"])
        with pytest.raises(httpx.ReadTimeout):
            client.post("/api/pictures?style=udnie", content=photo, timeout=0.2)
        until(lambda: client.get("/api/status").json()["waiting"] == 1)
        paper.go.release()
        assert first.result().status_code == 200
    paper.go.release()
    assert post(client, photo, style="mosaic").status_code == 200
    assert paper.begun == ["candy", "mosaic"]


def test_a_picture_that_is_being_painted_is_given_up_when_nobody_waits(start, paper, photo):
    client = start(paper)
    with pytest.raises(httpx.ReadTimeout):
        client.post("/api/pictures?style=udnie", content=photo, timeout=0.2)
    until(lambda: paper.begun == ["udnie"])
    until(lambda: client.get("/api/status").json()["waiting"] == 0)


def test_what_fails_in_the_engine_is_told_as_a_sentence(start, paper, photo):
    client = start(paper)
    paper.go.release()
    assert sentence(post(client, photo, strokes="bold"), 422) == "the paper is torn"


def test_a_fault_of_the_program_is_told_here_and_its_traceback_where_the_server_runs(
    start, paper, photo, caplog
):
    client = start(paper)
    paper.go.release()
    says = sentence(post(client, photo, strokes="fine"), 500)
    assert says == "StyleForge failed: ZeroDivisionError"
    until(lambda: "a fault of the program" in caplog.text)
    caplog.clear()


def test_nothing_is_left_of_pictures_that_were_sent(start, paper, photo, monkeypatch, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    client = start(paper)
    paper.go.release(2)
    post(client, photo)
    post(client, photo, strokes="bold")
    post(client, b"<html>")
    until(lambda: not [path for path in folder.rglob("*") if path.is_file()])
    (of_server,) = folder.iterdir()
    assert not list(of_server.iterdir())


def test_at_the_end_the_picture_under_way_is_completed_and_what_waits_is_refused(
    paper, photo, tmp_path
):
    how = {"addresses": ("127.0.0.1",), "port": 0, "limits": Limits(), "jobs": tmp_path / "jobs"}
    ending = threading.Event()

    def ask(url: str, style: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
            return post(client, photo, style=style)

    class Patient(type(paper)):
        def paint(self, source: Path, target: Path, look, stop):
            return super().paint(source, target, look, lambda: ending.set() if stop() else None)

    patient = Patient(paper.catalog)
    with ThreadPoolExecutor(2) as others:
        with serving(patient, TOKEN, **how) as server:
            first = others.submit(ask, server.urls[0], "candy")
            until(lambda: patient.begun == ["candy"])
            second = others.submit(ask, server.urls[0], "udnie")
            headers = {"Authorization": f"Bearer {TOKEN}"}
            status = f"{server.urls[0]}api/status"
            until(
                lambda: httpx.get(status, headers=headers, trust_env=False).json()["waiting"] == 2
            )
            others_end = threading.Thread(target=lambda: (ending.wait(60), patient.go.release()))
            others_end.start()
        others_end.join()
        assert first.result().status_code == 200
        assert sentence(second.result(), 503) == "the server is stopping"
    assert patient.begun == ["candy"]
