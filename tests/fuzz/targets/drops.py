"""Data dropped on the window or pasted into it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from PySide6.QtCore import QByteArray, QMimeData, QUrl

from app.sources import describe
from app.ui.controllers.drop_parser import parse_drop
from tests.fuzz.case import Case
from tests.fuzz.judging import check_shown
from tests.fuzz.mutations import WORDS, damaged
from tests.fuzz.targets.base import NAMES, Basis, attempt

TEXTS = (
    "http://camera.local/video.mjpg", "rtsp://me:secret@[::1]:554/live", "file:///tmp/a%20b.png",
    "/tmp/a.jpg", "https://user@host:99999/x?y#z", "http://", "http://[", "file://host/share/a.png",
    "C:\\pictures\\a.png", "FILE:///a.mp4", "http://xn--/", "http://%00/", "data:image/png;base64,",
)  # fmt: skip
ENDINGS = (".jpg", ".mp4", ".safetensors", ".pth", "", ".toml", ".")


class Drops(Basis):
    name = "drops"
    sample = 300

    def make(self, rng: Random) -> Case:
        texts = [
            rng.choice(
                (
                    damaged(rng, rng.choice(TEXTS).encode()).decode("utf-8", "surrogateescape"),
                    f"file:///x/{rng.choice(NAMES)}{rng.choice(ENDINGS)}",
                    f"/x/{rng.choice(NAMES)}{rng.choice(ENDINGS)}",
                    rng.choice(WORDS),
                )
            )[: 1 << 16]
            for _ in range(rng.choice((1, 1, 1, 2, 5)))
        ]
        way = rng.choice(("urls", "text", "uri-list"))
        return Case({"drop.json": json.dumps([way, texts]).encode()})

    def run(self, folder: Path) -> list[str]:
        way, texts = json.loads((folder / "drop.json").read_bytes())
        data = QMimeData()
        # Qt's text is UTF-16: a drop cannot contain half a character.
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
        if way == "urls":
            data.setUrls([QUrl.fromLocalFile(t) if t[:1] == "/" else QUrl(t) for t in texts])
        elif way == "text":
            data.setText("\n".join(texts))
        else:
            data.setData("text/uri-list", QByteArray("\r\n".join(texts).encode()))
        drop = parse_drop(data)
        said: list[str] = []
        check_shown(drop.title)
        check_shown(drop.detail)
        if drop.spec is not None:
            spec = drop.spec
            attempt(lambda: check_shown(describe(spec)), said)
        return said
