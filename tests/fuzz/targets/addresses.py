"""Addresses and other specs of sources, as typed by people and stored in files; none is opened."""

from __future__ import annotations

from pathlib import Path
from random import Random

from app.sources import SOURCES, describe
from app.sources.address import Address, is_address, with_scheme
from app.sources.camera import CameraName, find_camera, parse_spec
from tests.fuzz.case import Case
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import NUMBERS, WORDS, damaged
from tests.fuzz.targets.base import Basis, attempt

SPECS = (
    "http://camera.local/video.mjpg", "rtsp://me:s%40cret@[::1]:8554/live?x=1", "camera.local",
    "http:/camera.local", "https://host:443/a b/ä", "rtsps://host", "http://[fe80::1%25eth0]/",
    "camera:0@1280x720@30", "camera:Webcam@640x480", "camera:", "scene", "http://a:b@c:d@e/",
)  # fmt: skip

CAMERAS = (CameraName(0, "Webcam", 0),)


class Addresses(Basis):
    name = "addresses"
    sample = 300

    def make(self, rng: Random) -> Case:
        parts = (rng.choice(("http", "rtsp", "https", "ftp", "camera", "HTTP")), "://",
                 rng.choice(WORDS), "@", rng.choice(WORDS), ":", rng.choice(NUMBERS), "/",
                 rng.choice(WORDS), "?", rng.choice(WORDS))  # fmt: skip
        spec = rng.choice((rng.choice(SPECS), "".join(p for p in parts if rng.random() < 0.7)))
        data = spec.encode("utf-8", "surrogatepass")
        data = damaged(rng, data)[: 1 << 20] if rng.random() < 0.7 else data
        return Case({"spec": data})

    def run(self, folder: Path) -> list[str]:
        spec = (folder / "spec").read_bytes().decode("utf-8", "replace")
        said: list[str] = []
        for typed in (spec, with_scheme(spec)):
            attempt(lambda typed=typed: describe(typed), said)
            next((kind for kind in SOURCES if kind.accepts(typed)), None)
            if is_address(typed):
                attempt(lambda typed=typed: _parsed(typed), said)
            if typed.startswith("camera:"):
                which, mode = parse_spec(typed)
                check_shown(str(mode))
                attempt(lambda which=which: find_camera(which, CAMERAS), said)
        return said


def _parsed(spec: str) -> None:
    address = Address.parse(spec)
    check_shown(address.title)
    assert address.parts.hostname
    assert address.with_login
