"""The CUDA driver through ctypes: functions that load and launch, and messages for its errors.

The driver comes with the GPU, so that neither CUDA's toolkit and runtime nor PyTorch's ABI is
needed. Calls use the context that PyTorch made current on the calling thread. If PyTorch has not
done so yet, as on an autograd thread that starts with one of our kernels, `make_current` does.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_uint, c_void_p
from typing import Any

from kernels.jit.errors import BuildError
from utils.translation.joints import labeled
from utils.translation.texts import mark, tr

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
NEEDED = 12000  # CUDA 12.0, the first with cuLibraryLoadData, has driver version 525

# Names as in cuda.h.
CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9
CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3  # per thread: values that registers have no room for
CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13  # kHz
CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36  # kHz
CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37  # bits
CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38  # bytes
CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2
CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4
CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6

CUDA_ERROR_INVALID_CONTEXT = 201  # a launch without a current context returns it

# Messages for the driver errors that a file or a machine can cause.
ERRORS = {
    2: mark("the GPU is out of memory"),
    100: mark("the driver found no GPU"),
    200: mark("the image is damaged"),
    209: mark("the image is for another GPU architecture"),
    218: mark("the driver cannot compile this PTX for this GPU"),
    221: mark("the driver has no compiler for PTX"),
    222: mark("the PTX is newer than the driver; install a newer NVIDIA driver"),
    500: mark("the image does not contain this kernel"),
}


class LaunchAttribute(Structure):
    """CUlaunchAttribute; `value` is a union of 64 bytes."""

    _fields_ = [("id", c_int), ("pad", c_int), ("value", c_uint * 16)]


class LaunchConfig(Structure):
    """CUlaunchConfig; sizes in blocks and threads, shared memory in bytes."""

    _fields_ = [
        *((name, c_uint) for name in ("grid_x", "grid_y", "grid_z")),
        *((name, c_uint) for name in ("block_x", "block_y", "block_z", "shared_bytes")),
        ("stream", c_void_p),
        ("attributes", POINTER(LaunchAttribute)),
        ("attribute_count", c_uint),
    ]


class Driver:
    """The CUDA driver of this machine.

    Attributes:
        release: The newest CUDA release that it supports, such as 13000 for 13.0.
        launch: cuLaunchKernelEx(config, kernel, parameters, extra), which returns a CUresult.

    Raises:
        BuildError: If the driver is missing or older than the kernels need.
    """

    def __init__(self, library: str = LIBRARY) -> None:
        try:
            driver: Any = ctypes.CDLL(library)
        except OSError as error:
            raise BuildError(
                tr(
                    "the NVIDIA driver's {library} does not load: {error}",
                    library=library,
                    error=error,
                )
            ) from error
        version = c_int()
        if error := driver.cuDriverGetVersion(byref(version)):
            raise BuildError(_sentence(tr("the NVIDIA driver does not report its version"), error))
        if version.value < NEEDED:
            raise BuildError(
                tr(
                    "the NVIDIA driver supports CUDA {supported}; "
                    "the native kernels need {needed} or newer, so install a newer driver",
                    supported=_release(version.value),
                    needed=_release(NEEDED),
                )
            )
        self.release: int = version.value
        self._load = driver.cuLibraryLoadData
        self._load.argtypes = [
            *(POINTER(c_void_p), c_char_p, c_void_p, c_void_p, c_uint),
            *(c_void_p, c_void_p, c_uint),
        ]
        self._get_kernel = driver.cuLibraryGetKernel
        self._get_kernel.argtypes = [POINTER(c_void_p), c_void_p, c_char_p]
        self._set_attribute = driver.cuKernelSetAttribute
        self._set_attribute.argtypes = [c_int, c_int, c_void_p, c_int]
        self._driver = driver
        # No argtypes for the launch: checking the arguments would take longer.
        self.launch = driver.cuLaunchKernelEx

    def function(self, name: str) -> Any:
        """Return the driver's C function of this name, which returns a CUresult.

        Raises:
            BuildError: If the driver has no such function.
        """
        try:
            return getattr(self._driver, name)
        except AttributeError as error:
            raise BuildError(f"the NVIDIA driver has no {name}") from error

    def make_current(self, device: int) -> int:
        """Make PyTorch's context of a GPU current on the calling thread; return a CUresult."""
        context = c_void_p()  # the primary context, retained until the process ends
        error: int = self._driver.cuDevicePrimaryCtxRetain(byref(context), device)
        return error or self._driver.cuCtxSetCurrent(context)

    def ensure_current(self, device: int) -> int:
        """Call `make_current` if the calling thread has no context at all."""
        current = c_void_p()
        error: int = self._driver.cuCtxGetCurrent(byref(current))
        return error or (0 if current else self.make_current(device))

    def attribute(self, attribute: int, device: int) -> int:
        """Return a CU_DEVICE_ATTRIBUTE.

        Raises:
            BuildError: If the driver does not report it.
        """
        told = c_int()
        if error := self._driver.cuDeviceGetAttribute(byref(told), attribute, device):
            raise BuildError(_sentence(f"no attribute {attribute} of GPU {device}", error))
        return told.value

    def kernel_attribute(self, attribute: int, kernel: c_void_p, device: int) -> int:
        """Return a CU_FUNC_ATTRIBUTE.

        Raises:
            BuildError: If the driver does not report it.
        """
        told = c_int()
        if error := self._driver.cuKernelGetAttribute(byref(told), attribute, kernel, device):
            raise BuildError(_sentence(f"no attribute {attribute} of a kernel", error))
        return told.value

    def load(self, image: bytes, name: str) -> c_void_p:
        """Load an image into every present and future context, once each needs it.

        The driver copies `image`, a cubin, or PTX that ends with a zero byte. The CUlibrary stays
        loaded until the process ends.

        Raises:
            BuildError: If the driver refuses the image. The message contains `name`.
        """
        library = c_void_p()
        if error := self._load(byref(library), image, None, None, 0, None, None, 0):
            what = tr("the NVIDIA driver cannot load {name}", name=name)
            raise BuildError(_sentence(what, error))
        return library

    def kernel(
        self,
        library: c_void_p,
        name: str,
        device: int,
        shared_bytes: int,
        *,
        all_shared: bool = False,
    ) -> c_void_p:
        """Return a kernel of a library (a CUkernel), and allow it dynamic shared memory.

        Args:
            shared_bytes: May exceed the 48 KB that a kernel has by default.
            all_shared: Whether a multiprocessor should use as much of its memory as possible as
                shared memory, not cache. It runs empty between kernels with different splits.

        Raises:
            BuildError: If the kernel does not exist, or the GPU has less shared memory.
        """
        kernel = c_void_p()
        if error := self._get_kernel(byref(kernel), library, name.encode()):
            raise BuildError(_sentence(f"no kernel {name}", error))
        wanted = {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: shared_bytes}
        if all_shared:
            wanted[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = 100  # percent
        for attribute, value in wanted.items():
            if value and (error := self._set_attribute(attribute, value, kernel, device)):
                what = f"kernel {name} cannot have {shared_bytes:,} bytes of shared memory"
                raise BuildError(_sentence(what, error))
        return kernel


def _sentence(what: str, error: int) -> str:
    if error in ERRORS:
        return labeled(what, tr(ERRORS[error]))
    return labeled(what, tr("CUDA driver error {n}", n=error))


def _release(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
