"""The images of a library on one GPU, loaded by the first launch of one of their kernels."""

from __future__ import annotations

import threading
from ctypes import c_void_p
from pathlib import Path

from kernels.driver.driver import Driver
from kernels.driver.images import ImageList, too_old
from kernels.driver.launch import Kernel
from kernels.jit.errors import BuildError
from utils.translation.texts import tr


class DriverLibrary:
    """The kernels of a library's images on one GPU, by its driver's number. Thread-safe.

    The image of a source is decompressed and loaded when its first kernel is needed: a GPU that
    runs the network from one source does not wait for the others.

    Raises:
        BuildError: If no image runs on the GPU.
    """

    def __init__(
        self,
        images: ImageList,
        folder: Path,
        capability: tuple[int, int],
        device: int,
        driver: Driver,
    ) -> None:
        self._driver, self._device, self._names = driver, device, images.kernels
        self._list, self._folder = images, folder
        self._images = {
            source: image
            for source in images.kernels
            if (image := images.image_for(source, capability)) is not None
        }
        if not self._images:
            raise BuildError(too_old(capability) or no_image(images.library, capability))
        self._loaded: dict[str, c_void_p] = {}
        self._kernels: dict[tuple[str, int, int], Kernel] = {}
        self._finding = threading.Lock()

    @property
    def sources(self) -> frozenset[str]:
        """The sources that have an image for the GPU."""
        return frozenset(self._images)

    def source_of(self, name: str) -> str | None:
        """Return the source of a kernel by its C++ name; None if no image here has it."""
        return next((source for source in self._images if name in self._names[source]), None)

    def load(self, source: str) -> None:
        """Load the image of one of `sources` now.

        Raises:
            BuildError: If the image is damaged or the driver refuses to load it.
        """
        with self._finding:
            self._module(source)

    def _module(self, source: str) -> c_void_p:
        module = self._loaded.get(source)
        if module is None:
            image = self._images[source]
            data = self._list.load(self._folder, image)
            module = self._loaded[source] = self._driver.load(data, f"the image {image.file}")
        return module

    def kernel(
        self,
        source: str,
        name: str,
        threads: int,
        shared_bytes: int = 0,
        *,
        overlap: bool = False,
        all_shared: bool = False,
        cluster: int = 1,
        cooperative: bool = False,
        arguments: int = 1,
    ) -> Kernel:
        """Return a kernel to launch, which the first call finds; later calls reuse it.

        All arguments but `cluster` are the same in every call with the same `threads`; see Kernel
        and Driver.kernel. `overlap` implies `all_shared`: kernels could not overlap otherwise.

        Raises:
            BuildError: If no image has the kernel, the GPU cannot run it, or its image is damaged.
        """
        key = name, threads, cluster
        with self._finding:
            kernel = self._kernels.get(key)
            if kernel is None:
                found = self._driver.kernel(
                    self._module(source),
                    self._names[source][name],
                    self._device,
                    shared_bytes,
                    all_shared=overlap or all_shared,
                )
                kernel = self._kernels[key] = Kernel(
                    self._driver,
                    found,
                    threads,
                    shared_bytes,
                    overlap=overlap,
                    cluster=cluster,
                    cooperative=cooperative,
                    arguments=arguments,
                    device=self._device,
                )
            return kernel


def no_image(library: str, capability: tuple[int, int]) -> str:
    return tr(
        "'{library}' has no image for compute capability {capability}",
        library=library,
        capability=".".join(map(str, capability)),
    )
