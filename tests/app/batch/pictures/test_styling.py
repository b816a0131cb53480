"""Pictures of one size run through the network as a batch, with the results of single runs."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pytest
import torch

from app.batch.error import StylizeError
from app.batch.jobs.job import Job
from app.batch.limits import BATCH, BYTES_PER_FRAME_PIXEL, Limits
from app.batch.pictures.files import Picture
from app.batch.pictures.styling import Failed, Styled, Styling
from app.cli import main
from app.engine.config import EngineConfig
from app.engine.engine import Engine, EngineError
from app.engine.network_pool import AT_ONCE
from app.frame import Frame
from models.families.feed_forward import FeedForwardFamily
from tests.app.commands.conftest import stylized
from tests.conftest import picture
from tests.helpers.errors import mentions
from tests.helpers.fakes import Negative
from utils.images.reading import read_pixels
from utils.images.writing import write_pixels

BYTES_PER_PIXEL = FeedForwardFamily.bytes_per_pixel

CONFIG = EngineConfig(style="candy", device="cpu", network="full")


@pytest.fixture
def album(tmp_path):
    folder = tmp_path / "album"
    folder.mkdir()
    for number in range(9):
        size = {4: (24, 36), 6: (20, 20)}.get(number, (40, 32))
        write_pixels(folder / f"{number}.png", picture(*size, seed=number))
    return folder


def test_batches_have_the_results_of_one_after_another(style, album, tmp_path, capsys):
    assert stylized(album, "-o", tmp_path / "alone", "--batch", "1") == 0
    assert "of them in" not in capsys.readouterr().err
    assert stylized(album, "-o", tmp_path / "together", "--batch", "2") == 0
    told = capsys.readouterr().err
    assert mentions(told, "9 pictures", str(tmp_path / "together"), "6 of them", "batches of 2")
    names = sorted(path.name for path in (tmp_path / "alone").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "together").iterdir())
    assert len(names) == 9
    for name in names:
        one = read_pixels(tmp_path / "alone" / name).astype(int)
        assert np.abs(one - read_pixels(tmp_path / "together" / name)).max() <= 1


def test_a_damaged_picture_does_not_take_its_batch_with_it(style, album, tmp_path, capsys):
    damaged = album / "1.png"
    damaged.write_bytes(damaged.read_bytes()[:-300])  # its size is still readable
    assert stylized(album, "-o", tmp_path / "out", "--batch", "4") == 1
    told = capsys.readouterr().err
    assert told.count("styleforge: ") == 1
    assert mentions(told, str(damaged), "truncated or damaged")
    assert "8 pictures in" in told
    assert "of them in" not in told


@pytest.mark.parametrize("batch", ["0", "65", "two"])
def test_a_batch_is_a_whole_number(style, photo, tmp_path, capsys, batch):
    assert stylized(photo, "-o", tmp_path / "out", "--batch", batch) == 2
    assert mentions(capsys.readouterr().err, "1 to 64", f"not {batch}")


def limits(batch: int | None = None, memory_bytes: float = 1e12, **config) -> Limits:
    config = replace(CONFIG, **config)
    return Limits(config, torch.device(config.device), batch, memory_bytes, 1e12)


def test_on_a_gpu_small_pictures_are_batches_by_themselves():
    automatic = limits(device="cuda")
    assert automatic.batch_of(1280, 720) == BATCH
    assert automatic.batch_of(640, 480) == BATCH
    assert automatic.batch_of(1920, 1080) == 3
    assert automatic.batch_of(4000, 3000) == 2  # pictures of 2048x1536
    assert replace(automatic, full=True).batch_of(4000, 3000) == 1
    assert limits(device="cuda", size=512).batch_of(4000, 3000) == BATCH
    assert limits(device="cuda", kernels="baseline").batch_of(640, 480) == 1
    assert limits().batch_of(640, 480) == 1  # on the CPU


def test_a_batch_is_as_large_as_asked_for_if_it_fits_into_memory():
    assert limits(6).batch_of(4000, 3000) == 6
    each = 640 * 480 * (BYTES_PER_PIXEL + BYTES_PER_FRAME_PIXEL)
    assert limits(6, 3.5 * each / AT_ONCE).batch_of(640, 480) == 3
    assert limits(6, 0.1 * each / AT_ONCE).batch_of(640, 480) == 1
    few = replace(limits(6), picture_bytes=2 * limits().held(640, 480))
    assert few.batch_of(640, 480) == 2


class Gpu(Negative):
    """An engine whose frames overlap as on a GPU; it records its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.fails: set[int] = set()  # batch sizes

    def configure(self, config: EngineConfig) -> None:
        super().configure(config)
        self.calls.append(f"configure {config.size}")

    def begin_batch(self, frames, mode):
        self.calls.append(f"begin {[frame.index for frame in frames]}")
        if len(frames) in self.fails:
            raise EngineError("ran out of memory")
        return frames

    def complete_batch(self, pending):
        self.calls.append(f"complete {[frame.index for frame in pending]}")
        return [replace(self.process(frame), batch=len(pending)) for frame in pending]

    def process_batch(self, frames, mode):
        return self.complete_batch(frames)


def opened(tmp_path, index: int, width: int = 40, height: int = 32) -> Picture:
    path = tmp_path / f"{index}.png"
    return Picture(Job(path, path), Frame(picture(width, height), index), "")


@pytest.fixture
def overlapping():
    return Gpu()


def indices(results: list[Styled | Failed]) -> list[int]:
    return [each.picture.frame.index if isinstance(each, Styled) else -1 for each in results]


def styling(engine: Gpu, **config) -> Styling:
    return Styling(cast("Engine", engine), limits(**config), [])


def test_two_batches_are_under_way_before_the_first_is_waited_for(overlapping, tmp_path):
    line, made = styling(overlapping), []
    for first in (0, 2, 4):
        made += line.begin([opened(tmp_path, first), opened(tmp_path, first + 1)])
    assert indices(made) == [0, 1]
    made += line.complete_all()
    assert indices(made) == list(range(6))
    assert not line.under_way
    assert overlapping.calls == [
        "configure 40",
        "begin [0, 1]",
        "begin [2, 3]",
        "complete [0, 1]",
        "begin [4, 5]",
        "complete [2, 3]",
        "complete [4, 5]",
    ]


def test_what_is_under_way_is_completed_before_the_size_changes(overlapping, tmp_path):
    line = styling(overlapping)
    assert list(line.begin([opened(tmp_path, 0)])) == []
    made = list(line.begin([opened(tmp_path, 1, 64, 48)]))
    assert indices(made) == [0]
    assert overlapping.calls == [
        "configure 40", "begin [0]", "complete [0]", "configure 64", "begin [1]",
    ]  # fmt: skip


def test_a_picture_that_was_not_read_comes_after_those_under_way(overlapping, tmp_path):
    line, lost = styling(overlapping), opened(tmp_path, 1)
    made = list(line.begin([opened(tmp_path, 0), Failed(lost.job, StylizeError("it is lost"))]))
    assert indices(made) == [0, -1]
    made = list(line.begin([opened(tmp_path, 2, size) for size in (40, 24)]))
    assert indices([*made, *line.complete_all()]) == [2, 2]


def test_a_batch_that_does_not_fit_is_styled_one_by_one_and_says_so(overlapping, tmp_path):
    line = styling(overlapping)
    overlapping.fails = {2}
    made = list(line.begin([opened(tmp_path, 0), opened(tmp_path, 1)]))
    assert indices(made) == [0, 1]
    (notice,) = made[0].notices
    assert mentions(notice, "0.png", "the 1 after it", "out of memory")
    assert made[1].notices == ()
    overlapping.fails = {1}
    (failed,) = line.begin([opened(tmp_path, 2)])
    assert isinstance(failed, Failed)
    assert str(failed.error) == "ran out of memory"


def test_a_size_that_does_not_fit_fails_every_picture_of_a_batch(overlapping, tmp_path):
    small = limits(2, 20 * 14 * BYTES_PER_PIXEL, size=64)
    line = Styling(cast("Engine", overlapping), small, [])
    made = list(line.begin([opened(tmp_path, 0), opened(tmp_path, 1)]))
    assert all("memory at size 64" in str(cast("Failed", m).error) for m in made)
    assert len(made) == 2
    assert overlapping.calls == []


@pytest.mark.gpu
@pytest.mark.parametrize("network", ["full", "lite"])
def test_on_a_gpu_a_folder_in_batches_has_the_results_of_one_after_another(
    network, tmp_path, capsys, native_kernels
):
    album = tmp_path / "album"
    album.mkdir()
    for number in range(19):
        size = (320, 180) if number < 17 else (180, 320)
        write_pixels(album / f"{number:02}.png", picture(*size, seed=number))
    flags = ["--device", "cuda", "--precision", "fp16", "--style", "candy", "--network", network]
    for batch in ([], ["--batch", "1"]):
        out = tmp_path / f"out{len(batch)}"
        assert main(["stylize", str(album), "-o", str(out), *flags, *batch]) == 0
        told = capsys.readouterr().err
        assert ("batches of 8" in told) == (not batch)
    hopper = network == "full" and torch.cuda.get_device_capability() == (9, 0)
    for path in album.iterdir():
        alone = read_pixels(tmp_path / "out2" / path.name).astype(int)
        apart = np.abs(alone - read_pixels(tmp_path / "out0" / path.name)).max()
        assert apart <= (1 if hopper else 2)


@pytest.mark.gpu
def test_on_a_gpu_batches_of_changing_sizes_keep_their_order(catalog, native_kernels, tmp_path):
    engine = Engine(catalog)
    config = replace(CONFIG, device="cuda")
    engine.configure(config)
    line = Styling(engine, limits(4, device="cuda"), [])
    made: list[Styled | Failed] = []
    for number in range(12):
        width = (320, 256, 320)[number % 3]
        pictures = [opened(tmp_path, 4 * number + n, width, 192) for n in range(4)]
        made += line.begin(pictures)
    made += line.complete_all()
    assert indices(made) == list(range(48))
    assert {cast("Styled", each).result.batch for each in made} == {4}
