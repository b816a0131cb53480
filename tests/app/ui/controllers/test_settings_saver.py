"""Settings are written in the background, and the newest win."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from app.settings import Settings
from app.ui.main_window.window_settings import SettingsSaver


class Jobs:
    """A stand-in for session.run that runs work on its own threads."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    def run(self, work: Callable[[], object], done: Callable, *, failure: str) -> None:
        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()

    def wait(self) -> None:
        for thread in self.threads:
            thread.join()


def test_the_disk_is_waited_for_by_another_thread():
    jobs, writers, disk = Jobs(), [], threading.Event()

    def write(_: Settings) -> None:
        disk.wait()
        writers.append(threading.current_thread())

    SettingsSaver(jobs.run, write).save(Settings())
    disk.set()  # never reached if this thread waited
    jobs.wait()
    assert writers == jobs.threads


def test_older_settings_never_replace_newer_ones():
    jobs, written, disk = Jobs(), [], threading.Event()

    def write(settings: Settings) -> None:
        disk.wait()
        written.append(settings.split)

    saver = SettingsSaver(jobs.run, write)
    for split in (0.1, 0.2, 0.3):
        saver.save(Settings(split=split))
        time.sleep(0.01)  # a thread writes the first one by now, or soon
    disk.set()
    saver.save_now(Settings(split=0.4))
    jobs.wait()
    assert written[-1] == 0.4
    assert written == sorted(written)


def test_a_write_whose_turn_comes_late_is_left_out():
    waiting: list[Callable[[], object]] = []
    written: list[float] = []

    def run(work: Callable[[], object], done: Callable, *, failure: str) -> None:
        waiting.append(work)

    saver = SettingsSaver(run, lambda settings: written.append(settings.split))
    for split in (0.1, 0.2):
        saver.save(Settings(split=split))
    older, newer = waiting
    newer()
    older()
    assert written == [0.2]
