"""The images of a library on one GPU: each is loaded by the first of its kernels to be used."""

from __future__ import annotations

import threading
from ctypes import c_void_p
from pathlib import Path

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList, too_old
from kernels.driver.launch import Kernel
from kernels.jit.errors import BuildError


class DriverLibrary:
    """The kernels of a library's images on one GPU.

    An image is unpacked and loaded with the first of its kernels: a process loads the precisions
    that it runs.

    Args:
        images: The list of the folder.
        folder: Where the images are.
        capability: Of the GPU.
        device: The driver's number of the GPU.
        driver: What loads and launches.

    Raises:
        BuildError: No image runs on the GPU.
    """

    def __init__(
        self,
        images: ImageList,
        folder: Path,
        capability: tuple[int, int],
        device: int,
        driver: Driver,
    ) -> None:
        self._images, self._folder = images, folder
        self._driver, self._device, self._names = driver, device, images.kernels
        self._chosen = {
            source: image
            for source in images.kernels
            if (image := images.image_for(source, capability)) is not None
        }
        self._loaded: dict[str, c_void_p] = {}
        if not self._chosen:
            raise BuildError(too_old(capability) or no_image(images.library, capability))
        self._kernels: dict[tuple[str, int, int], Kernel] = {}
        self._finding = threading.Lock()

    @property
    def sources(self) -> frozenset[str]:
        """The sources of which an image runs on the GPU."""
        return frozenset(self._chosen)

    def source_of(self, name: str) -> str | None:
        """The source of the kernel that C++ names so; None if no image here has it."""
        return next((source for source in self._chosen if name in self._names[source]), None)

    def kernel(
        self,
        source: str,
        name: str,
        threads: int,
        shared_bytes: int = 0,
        *,
        overlap: bool = False,
        cluster: int = 1,
        arguments: int = 1,
    ) -> Kernel:
        """A kernel to launch; found by the first call, so that a process finds those it uses.

        Args:
            source: What it is compiled from.
            name: As C++ names it.
            threads: This and what follows are those of Kernel; all but `cluster` are the same in
                every call with the same `threads`.
            shared_bytes: Dynamic shared memory of a block.
            overlap: Whether it may start before the kernel ahead of it has ended.
            cluster: Blocks of a cluster.
            arguments: How many it takes.

        Raises:
            BuildError: The image is damaged or has no such kernel, or the GPU cannot run it.
        """
        key = name, threads, cluster
        with self._finding:
            kernel = self._kernels.get(key)
            if kernel is None:
                # What overlaps is split alike, or it could not.
                found = self._driver.kernel(
                    self._load(source),
                    self._names[source][name],
                    self._device,
                    shared_bytes,
                    all_shared=overlap,
                )
                kernel = self._kernels[key] = Kernel(
                    self._driver,
                    found,
                    threads,
                    shared_bytes,
                    overlap=overlap,
                    cluster=cluster,
                    arguments=arguments,
                )
            return kernel

    def _load(self, source: str) -> c_void_p:
        loaded = self._loaded.get(source)
        if loaded is None:
            image = self._chosen[source]
            data = self._images.load(self._folder, image)
            loaded = self._loaded[source] = self._driver.load(data, f"the image {image.file}")
        return loaded


def no_image(library: str, capability: tuple[int, int]) -> str:
    """What is said of a GPU that no image of a library runs on."""
    return f"no image of '{library}' is for compute capability {capability[0]}.{capability[1]}"
