"""Streams from a server on loopback that misbehaves."""

from __future__ import annotations

import base64
import functools
import json
import os
import socket
import struct
import threading
import time
from pathlib import Path
from random import Random

import numpy as np

from app.film_frames import decoding
from app.sources import address, grabber, open_source
from tests.fuzz.case import Case
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import NUMBERS, WORDS, damaged
from tests.fuzz.targets.base import Basis, attempt
from tests.fuzz.targets.pictures import seeds
from tests.helpers.fakes import numbered
from utils.opencv import cv2

HURRY_S = 0.3  # replaces waits of seconds in the program
OPENING_S = 1.5

PLACES = b"/again", b"file:///etc/passwd", b"http://[", b"ftp://127.0.0.1/", b"\x1b[2J", b""
LOGINS = b'Basic realm="a\x1b[2J"', b"Digest", b"x"
KINDS = (
    b"text/html", b"video/mp4", b"video/x-msvideo", b"application/vnd.apple.mpegurl", b"\x1b[2J/x",
    b"application/octet-stream", b"multipart/x-mixed-replace", b"",
)  # fmt: skip
# "send", "drip", "repeat", "wait" or "reset"; bytes in base64; seconds of a pause.
Step = tuple[str, str, float]


class Streams(Basis):
    name = "streams"
    seconds = 10.0
    memory = 1 << 30  # a part of 64 MB, and two pictures of 50 megapixels
    sample = 12

    def prepare(self) -> None:
        os.environ["no_proxy"] = "127.0.0.1"
        address.TIMEOUT_S = HURRY_S
        address.OPEN_TIMEOUT_S = OPENING_S
        grabber.STALL_S = 0.2
        address.TIMEOUTS[1::2] = [400, 400]
        decoding.TIMEOUTS_S[:] = [0.4, 0.4]

    def make(self, rng: Random) -> Case:
        answers = [_answer(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
        return Case({"answers.json": json.dumps(answers).encode()}, named="127.0.0.1")

    def run(self, folder: Path) -> list[str]:
        answers = json.loads((folder / "answers.json").read_bytes())
        said: list[str] = []
        with Server(answers) as server:
            attempt(lambda: _watch(f"http://127.0.0.1:{server.port}/video"), said)
        return said


def _watch(url: str) -> None:
    source = open_source(url)
    try:
        check_shown(source.info.title)
        check_shown(source.info.note)
        for _ in range(4):
            source.read(0.1)
            check_shown(source.status)
        source.pause(True)
        source.seek(1.0)
        source.read(0.05)
    finally:
        source.close()


class Server:
    """A context manager that sends `answers` one after another, and repeats the last forever."""

    def __init__(self, answers: list[list[Step]]) -> None:
        self._answers = answers
        self._stopped = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0.05)
        self.port: int = self._socket.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve, name="hostile server")]

    def __enter__(self) -> Server:
        self._threads[0].start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        count = 0
        with self._socket:
            while not self._stopped.is_set():
                try:
                    client, _ = self._socket.accept()
                except TimeoutError:
                    continue
                answer = self._answers[min(count, len(self._answers) - 1)]
                count += 1
                thread = threading.Thread(
                    target=self._talk, args=(client, answer), name="hostile server's connection"
                )
                thread.start()
                self._threads.append(thread)

    def _talk(self, client: socket.socket, answer: list[Step]) -> None:
        with client:
            client.settimeout(0.2)
            try:
                client.recv(1 << 16)
                for step in answer:
                    self._do(client, *step)
            except OSError:  # the client is gone, or does not read
                return

    def _do(self, client: socket.socket, what: str, text: str, pause: float) -> None:
        data = base64.b64decode(text)
        if what == "wait":
            self._stopped.wait(pause)
        elif what == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
        elif what == "drip":
            for n in range(len(data)):
                client.sendall(data[n : n + 1])
                if self._stopped.wait(pause):
                    return
        elif what == "repeat":
            sent, end = 0, time.monotonic() + 60
            while not self._stopped.is_set() and time.monotonic() < end and sent < 1 << 32:
                client.sendall(data)
                sent += len(data)
                self._stopped.wait(pause)
        else:
            client.settimeout(2.0)
            client.sendall(data)


def _answer(rng: Random) -> list[Step]:
    status = rng.choice(
        (b"HTTP/1.1 200 OK",) * 8
        + (
            b"HTTP/1.0 200 OK", b"HTTP/1.1 404 \x1b[2Jno", b"HTTP/1.1 401 x", b"HTTP/1.1 302 x",
            b"HTTP/1.1 500 " + b"x" * 9000, b"HTTP/9.9 200", b"ICY 200 OK", b"HTTP/1.1 999 x",
            b"HTTP/1.1 100 Continue", b"HTTP/1.1 204 No", b"HTTP/1.1 abc",
        )
    )  # fmt: skip
    kind, body = rng.choice((_parts, _parts, _parts, _snapshot, _odd_content))(rng)
    headers = [kind]
    if b"302" in status:
        headers.append(b"Location: " + rng.choice(PLACES))
    if b"401" in status:
        headers.append(b"WWW-Authenticate: " + rng.choice(LOGINS))
    if rng.random() < 0.2:
        length = rng.choice((*NUMBERS, str(len(body)), str(len(body) - 1)))
        headers.append(b"Content-Length: " + length.encode())
    if rng.random() < 0.15:
        headers.append(b"Transfer-Encoding: chunked")
        body = _chunked(rng, body)
    if rng.random() < 0.1:
        headers += [b"X: " + rng.choice(WORDS).encode("utf-8", "replace")] * rng.choice((1, 200))
    head = b"\r\n".join((status, *headers)) + b"\r\n\r\n"
    if rng.random() < 0.15:
        head = damaged(rng, head)
    if rng.random() < 0.3:
        body = damaged(rng, body)
    return _timed(rng, head, body)


def _chunked(rng: Random, body: bytes) -> bytes:
    """Split `body` into chunks with right or wrong sizes."""
    made, at = b"", 0
    while at < len(body):
        size = rng.choice((1, 100, 5000, len(body)))
        chunk = body[at : at + size]
        told = b"%x" % len(chunk) if rng.random() < 0.8 else rng.choice((*NUMBERS, "-5")).encode()
        made += told + rng.choice((b"", b"", b";x=y")) + b"\r\n" + chunk + b"\r\n"
        at += size if len(made) < 1 << 20 else len(body)
    return made + rng.choice((b"0\r\n\r\n", b"", b"0\r\nX: y"))


def _timed(rng: Random, head: bytes, body: bytes) -> list[Step]:
    act = rng.random()
    if act < 0.04:
        return [_step("drip", head, rng.choice((0.001, 0.05, 0.25)))]
    if act < 0.07:
        return [_step("repeat", b"HTTP/1.1 100 Continue\r\n\r\n", rng.choice((0.0, 0.05, 0.25)))]
    if act < 0.1:
        return [_step("send", head), _step("drip", body, 0.05)]
    if act < 0.13:
        return [_step("send", head[: rng.randrange(len(head) + 1)]), _step("wait", pause=2.0)]
    if act < 0.16:
        part = rng.choice((b"x", b"\r\n", b"x: y\r\n", b"--frame\r\n", rng.randbytes(50)))
        return [_step("send", head), _step("repeat", part * 1000)]
    steps = [_step("send", head), _step("send", body)]
    if act < 0.7:
        steps.append(_step("repeat", body, 0.01))
    steps.append(_step(*rng.choice((("wait", b"", 2.0), ("reset", b"", 0.0), ("send", b"", 0.0)))))
    return steps


def _step(what: str, data: bytes = b"", pause: float = 0.0) -> Step:
    return what, base64.b64encode(data).decode(), pause


def _parts(rng: Random) -> tuple[bytes, bytes]:
    """Return a multipart stream of pictures with right or wrong lengths."""
    boundary = rng.choice((b"frame", b"frame", b"--frame", b"", b"x" * 200, b"\x1b[2J"))
    told = boundary if rng.random() < 0.9 else b"other"
    made = b""
    for _ in range(rng.randint(1, 4)):
        picture = rng.choice(_pictures())
        if rng.random() < 0.2:
            picture = damaged(rng, picture)
        length = str(len(picture)).encode()
        if rng.random() < 0.3:
            length = rng.choice(NUMBERS).encode()
        made += b"--" + boundary.removeprefix(b"--") + b"\r\nContent-Type: image/jpeg\r\n"
        if rng.random() < 0.8:
            made += b"Content-Length: " + length + b"\r\n"
        if rng.random() < 0.05:
            made += b"X-Odd: \x1b[2J" + b"y" * rng.choice((1, 70_000)) + b"\r\n"
        made += b"\r\n" + picture + b"\r\n"
    return b"Content-Type: multipart/x-mixed-replace; boundary=" + told, made


def _snapshot(rng: Random) -> tuple[bytes, bytes]:
    picture = rng.choice(_pictures())
    return b"Content-Type: image/jpeg", damaged(rng, picture) if rng.random() < 0.5 else picture


def _odd_content(rng: Random) -> tuple[bytes, bytes]:
    playlist = b"#EXTM3U\n#EXTINF:1,\n" + rng.choice((b"file:///etc/passwd", b"/video", b"x.ts"))
    body = rng.choice((playlist, b"<!doctype html><p>no", rng.choice(seeds())[1], b""))
    return b"Content-Type: " + rng.choice(KINDS), body


@functools.cache
def _pictures() -> tuple[bytes, ...]:
    """Return JPEG pictures; the last ones claim to be enormous."""
    made = []
    for number, size in enumerate(((64, 48), (160, 120))):
        good, data = cv2.imencode(".jpg", np.ascontiguousarray(numbered(number, *size)))
        assert good
        made.append(data.tobytes())
    at = made[0].index(b"\xff\xc0") + 5
    for side in (7000, 20_000, 65_000):
        made.append(made[0][:at] + struct.pack(">HH", side, side) + made[0][at + 4 :])
    flat = np.zeros((4000, 4000), np.uint8)
    for ending in (".png", ".jpg"):
        good, data = cv2.imencode(ending, flat)
        assert good
        made.append(data.tobytes())
    return tuple(made)
