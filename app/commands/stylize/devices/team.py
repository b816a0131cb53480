"""The processes of several devices, which share the pictures and then the films of a run."""

from __future__ import annotations

from collections.abc import Sequence

from app.commands.stylize.devices.films import SharedFilms
from app.commands.stylize.devices.pictures import SharedPictures
from app.commands.stylize.devices.requests import Setup
from app.commands.stylize.devices.worker import started
from app.commands.stylize.reporters import Reporter


class Team:
    """Several devices as a team. Use it as a context, which ends the processes.

    Args:
        depth: Bits per channel of pictures; None for their own.

    Raises:
        CrewError: If a device cannot be used.
    """

    def __init__(
        self, devices: Sequence[str], setup: Setup, reporter: Reporter, depth: int | None
    ) -> None:
        with reporter.waiting(f"Starting processes for {', '.join(devices)} ..."):
            self._crew, limits = started(devices, setup, reporter.problem)
        self.pictures = SharedPictures(self._crew, limits, depth)
        self.films = SharedFilms(devices, setup, self._crew, limits)

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *how: object) -> None:
        self._crew.__exit__(*how)
