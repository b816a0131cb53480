"""Styling of pictures for the server by the engine, with the reading and writing of `stylize`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from app.batch.jobs.job import Job
from app.batch.limits import Limits
from app.batch.pictures.files import read, write
from app.batch.pictures.styling import Failed, Styling
from app.batch.style_choice import mix_of
from app.commands.doctor import (
    check_kernels,
    check_precisions,
    check_speed,
    check_torch,
    run_check,
)
from app.engine.config import EngineConfig
from app.engine.engine import Engine, check_precision
from app.engine.painting_devices import painting_device
from app.server.look import FULL, Look, check_matted
from app.server.painting import Painted, Stopped
from app.styles.catalog import Catalog
from app.styles.pack import Style
from kernels.table.registry import prepare
from models.families.table import FAMILIES
from models.precision import Precision
from utils.free_memory import free_bytes


class EnginePainter:
    """A painter, see app.server.painting.Painter.

    Args:
        matte: The file that finds people, see app.engine.matting.files; "" for none.

    Raises:
        StyleForgeError: If the device or the precision is not available, or the file is of no use.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        kernels: str,
        precision: Precision,
        device: str,
        matte: str = "",
    ) -> None:
        self._catalog, self._notices = catalog, list[str]()
        self._config = EngineConfig(
            kernels=kernels, precision=precision, device=device, matte=matte
        )
        self._engine = Engine(catalog, on_notice=self._notices.append, free=free_bytes)
        self._engine.configure(self._config)
        # Pictures in the style of another family are painted in FP32 if it does not offer it.
        check_precision(self._config, tuple(FAMILIES.values()), painting_device(device))
        self._prepared: set[str] = set()
        self._prepare()
        checks = {
            "PyTorch": check_torch,
            "Kernels": lambda: check_kernels(build=False),
            "Precisions": check_precisions,
            "Speed": check_speed,
        }
        self._findings = {
            topic: [(found.state, found.says) for found in run_check(check)]
            for topic, check in checks.items()
        }

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    @property
    def matted(self) -> bool:
        return bool(self._config.matte)

    @property
    def findings(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        return self._findings

    def check(self, look: Look) -> None:
        """Raise StyleForgeError if the look cannot style any picture."""
        for key, _ in mix_of(look.style, look.mix):
            self._catalog.get(key)
        if not self.matted:
            check_matted(look)

    def add_style(self, picture: Path, title: str, stop: Callable[[], bool]) -> Style:
        style = self._catalog.install_picture(
            picture, title=title, progress=lambda step: _go_on(stop)
        )
        self._engine.evict(style.key)  # of a removed style, which it may hold
        return style

    def remove_style(self, key: str) -> None:
        self._catalog.remove(key)

    def paint(self, source: Path, target: Path, look: Look, stop: Callable[[], bool]) -> Painted:
        self.check(look)  # a job may come from a server that could paint it
        _go_on(stop)
        began = time.perf_counter()
        full = look.size == FULL
        config = EngineConfig(
            **look.values,
            kernels=self._config.kernels,
            precision=self._config.precision,
            device=self._config.device,
            matte=self._config.matte,
            size=None if full or look.size is None else int(look.size),
        ).mixed(mix_of(look.style, look.mix))
        self._engine.configure(config)
        self._prepare()
        self._engine.on_progress = lambda share: _go_on(stop)
        limits = Limits.now(config, 1, self._engine, full=full)
        styling = Styling(self._engine, limits, self._notices)
        picture = read(Job(source, target), look.depth)
        (result,) = [*styling.begin([picture]), *styling.complete_all()]
        if isinstance(result, Failed):
            raise result.error
        styled = result.result
        remark = "; ".join(filter(None, (write(picture, styled, config.size), *result.notices)))
        return Painted(str(styled.running), time.perf_counter() - began, remark)

    def _prepare(self) -> None:
        for operations in self._engine.kernel_families:
            if operations not in self._prepared:
                prepare(family=operations)
                self._prepared.add(operations)


def _go_on(stop: Callable[[], bool]) -> None:
    if stop():
        raise Stopped("the picture was canceled")
