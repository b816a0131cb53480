"""The images of a CUDA library, shipped or compiled here, for the GPUs of this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList, too_old
from kernels.driver.library import DriverLibrary, no_image
from kernels.driver.version import driver_version
from kernels.jit import prebuilt
from kernels.jit.errors import Unsupported
from kernels.jit.libraries import Library
from utils.devices import NO_GPU
from utils.translation.texts import tr

T = TypeVar("T")
# From the list of images, their folder, the GPU's compute capability and number, and the driver.
Make = Callable[[ImageList, Path, tuple[int, int], int, Driver], T]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU of this machine: its name in PyTorch, and its compute capability."""

    name: str
    capability: tuple[int, int]


class PerDevice(Generic[T]):
    """A library's images for every GPU of this machine; `make` loads them on a GPU's first use."""

    def __init__(self, images: ImageList, folder: Path, make: Make[T], driver: Driver) -> None:
        self._images, self._folder, self._make, self._driver = images, folder, make, driver
        self._made: dict[int, T] = {}
        self._making = threading.Lock()

    @property
    def images(self) -> ImageList:
        return self._images

    def on(self, device: torch.device) -> T:
        """Return the library on a CUDA device; without an index, on the current one.

        Raises:
            BuildError: If no image runs on that GPU, or one that does is damaged.
        """
        index = device.index if str(device) != device.type else torch.cuda.current_device()
        found = self._made.get(index)
        if found is None:
            with self._making:
                found = self._made.get(index)
                if found is None:
                    capability = torch.cuda.get_device_capability(index)
                    made = self._make(self._images, self._folder, capability, index, self._driver)
                    found = self._made[index] = made
        return found

    def made_by(self, make: Make[T]) -> PerDevice[T]:
        return PerDevice(self._images, self._folder, make, self._driver)


def register(name: str, make: Make[Any]) -> None:
    """Register `make` to load the images of the library `name` on a GPU.

    Libraries that do not describe themselves need no `make` of their own: each is a DriverLibrary.
    """

    def find(library: Library, folder: Path, made: Mapping[str, str]) -> prebuilt.Image:
        return _find(library, folder, made, make, present())

    prebuilt.on_find(name, find)


def present() -> tuple[Gpu, ...]:
    if not torch.cuda.is_available():
        return ()
    return tuple(
        Gpu(torch.cuda.get_device_name(index), torch.cuda.get_device_capability(index))
        for index in range(torch.cuda.device_count())
    )


def _find(
    library: Library, folder: Path, made: Mapping[str, str], make: Make[Any], gpus: Sequence[Gpu]
) -> prebuilt.Image:
    if not gpus:
        raise Unsupported(NO_GPU)
    list_name = f"{library.name}.json"
    if list_name not in made:
        raise prebuilt.NoImage(tr("this installation contains no images"))
    content = prebuilt.checked(folder, list_name, made)
    images = ImageList.read(folder, library.name)
    if images.digest != library.digest:
        raise prebuilt.NoImage(tr("the sources have changed since the images were built"))
    chosen = {
        image
        for gpu in gpus
        for source in images.kernels
        if (image := images.image_for(source, gpu.capability))
    }
    if not chosen:
        reasons = [too_old(gpu.capability) for gpu in gpus]
        if all(reasons):
            raise Unsupported(reasons[0])
        raise prebuilt.NoImage(no_image(library.name, gpus[0].capability))
    for image in chosen:  # they are loaded on first use; report damage here
        prebuilt.checked(folder, image.file, made)
    driver = Driver()
    release = driver_version() or str(driver.release)
    identity = [content.decode(), *map(str, gpus), release, torch.__version__]

    def load() -> PerDevice[Any]:
        loaded = PerDevice(images, folder, make, driver)
        usable = [n for n, gpu in enumerate(gpus) if _runs(images, gpu)]
        for index in usable:  # report a library that does not match here, not at the first launch
            loaded.on(torch.device("cuda", index))
        return loaded

    made_for = ", ".join(sorted({image.architecture for image in chosen}))
    return prebuilt.Image(list_name, made_for, "\0".join(identity), load)


def _runs(images: ImageList, gpu: Gpu) -> bool:
    return any(images.image_for(source, gpu.capability) for source in images.kernels)


register(prebuilt.ANY, DriverLibrary)
