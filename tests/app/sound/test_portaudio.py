"""Audio devices: the real library with ALSA's own devices, and the messages without it."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.sound import output, portaudio
from app.sound.device import SoundError
from app.sound.output import SilentOutput
from tests.helpers.sound import settle
from utils import system

ROOT = Path(__file__).resolve().parents[3]
HAS_LIBRARY = not any(item.purpose == system.SOUND for item in system.missing(sound=True))
REAL = pytest.mark.skipif(
    not (sys.platform == "linux" and HAS_LIBRARY), reason="needs ALSA and libportaudio2"
)
# A device that writes its output into a file and records zeros.
DEVICE = """
pcm.!default {{ type file slave.pcm {{ type null }} file "{file}" format raw infile /dev/zero }}
"""


def told(program: str, folder: Path, config: str) -> dict:
    """Return a program's report on a machine with such devices.

    It runs in a child process, since ALSA reads its configuration once.
    """
    (folder / "asound.conf").write_text(config)
    environment = {**os.environ, "ALSA_CONFIG_PATH": str(folder / "asound.conf")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@REAL
def test_a_real_device_plays_what_it_is_given_and_tells_when_it_is_heard(tmp_path):
    facts = told(
        """
import json, os, threading, time
from pathlib import Path
from app.sound.portaudio import PortAudioOutput
done, ahead, lost = threading.Event(), [], []
def fill(out, heard_at):
    ahead.append(heard_at - time.perf_counter())
    out[:] = 0.25
    if len(ahead) > 50:
        done.set()
device = PortAudioOutput(fill, lambda: lost.append(1))
done.wait(30)
device.close()
played = Path(os.environ["ALSA_CONFIG_PATH"]).with_name("played.raw").read_bytes()
again = PortAudioOutput(fill, lambda: lost.append(1))
again.close()
print(json.dumps([device.rate, device.channels, device.silence, min(ahead), max(ahead), lost,
                  len(set(played))]))
""",
        tmp_path,
        DEVICE.format(file=tmp_path / "played.raw"),
    )
    rate, channels, silence, least, most, lost, values = facts
    assert (channels, silence, lost) == (2, "", [])
    assert rate >= 8000
    assert 0 < least <= most < portaudio.MOST_LATENCY_S
    assert values > 1  # bytes of 0.25, besides the bytes of 0


@REAL
def test_a_real_microphone_is_heard_until_it_is_closed(tmp_path):
    facts = told(
        """
import json, threading, time
from app.sound.portaudio import PortAudioInput
done, heard = threading.Event(), []
def listen(piece):
    heard.append(piece)
    done.set()
device = PortAudioInput(listen, lambda: None)
done.wait(30)
device.close()
count, first = len(heard), heard[0]
print(json.dumps([count == len(heard), first.samples.shape[1], first.rate, str(first.samples.dtype),
                  first.at < time.perf_counter()]))
""",
        tmp_path,
        DEVICE.format(file="/dev/null"),
    )
    assert facts == [True, 2, facts[2], "float32", True]


@REAL
def test_a_machine_without_a_device_is_one_sentence(tmp_path):
    facts = told(
        """
import json
from app.sound.device import SoundError
from app.sound.portaudio import PortAudioInput, PortAudioOutput
said = []
for kind in (PortAudioOutput, PortAudioInput, PortAudioOutput):
    try:
        kind(print, print)
    except SoundError as exc:
        said.append(str(exc))
print(json.dumps(said))
""",
        tmp_path,
        "pcm.!default { type hw card 99 }",
    )
    plays, hears = (
        portaudio.BRIDGE.format(fault=portaudio.NO_DEVICE[kind]) for kind in ("output", "input")
    )
    assert facts == [plays, hears, plays]


@pytest.mark.parametrize(
    ("fault", "said"),
    [(ImportError(), portaudio.NO_PYTHON), (OSError("no library"), portaudio.NO_LIBRARY)],
)
def test_what_is_not_installed_is_one_sentence_that_says_how(monkeypatch, fault, said):
    def missing(name: str) -> None:
        raise fault

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(SoundError) as caught:
        portaudio.PortAudioOutput(lambda *_: None, lambda: None)
    assert str(caught.value) == said


def test_without_a_device_a_silent_one_asks_for_samples_in_time_and_says_why(monkeypatch):
    def missing(*_: object) -> None:
        raise SoundError(portaudio.NO_LIBRARY)

    monkeypatch.setattr(portaudio, "PortAudioOutput", missing)
    asked: list[tuple[int, float]] = []
    device = output.open_output(lambda out, at: asked.append((len(out), at)), lambda: None)
    assert isinstance(device, SilentOutput)
    assert device.silence == portaudio.NO_LIBRARY
    settle(lambda: len(asked) > 4)
    device.close()
    (count, first), (_, second), *_ = asked
    assert second - first == pytest.approx(count / device.rate)


@pytest.mark.full
def test_sound_is_not_loaded_before_a_film_with_sound_plays():
    check = "import sys, app.sources, app.ui.main_window; sys.exit('sounddevice' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=False).returncode == 0
