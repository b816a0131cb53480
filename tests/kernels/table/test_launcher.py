"""A row's launch calls its library's kernel, or runs the reference without it."""

from __future__ import annotations

import contextlib
import hashlib
import lzma
import struct
from ctypes import CFUNCTYPE, c_double, c_int, c_longlong, c_void_p
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from kernels.driver.driver import Driver
from kernels.driver.images import Image, ImageList
from kernels.driver.library import DriverLibrary
from kernels.jit import build
from kernels.jit.errors import BuildError
from kernels.table import launcher, status, ways
from kernels.table.launcher import CpuLauncher, CudaLauncher, Gpu
from kernels.table.parts import Cpu, Cuda
from kernels.table.status import NativeKernelWarning
from tests.kernels.driver.standins import CODE

NO_DEFAULTS = (), ()  # of a function with one argument
STREAM = 0x5EED
GPU = Gpu(0, 132, 9)
SOURCE = "scale.cu"


class FakeLibrary:
    """Records the launches of its kernel, each of which returns `error`."""

    def __init__(self, error: int = 0) -> None:
        self.prepared: list[tuple[Any, ...]] = []
        self.calls: list[tuple[Any, ...]] = []
        self._error = error

    def on(self, _device: torch.device) -> FakeLibrary:
        return self

    def source_of(self, name: str) -> str | None:
        return SOURCE if name == "styleforge_scale" else None

    def kernel(
        self, source: str, name: str, threads: int, shared: int, *, arguments: int, **ways: bool
    ) -> Any:
        chosen = {way for way, is_so in ways.items() if is_so}
        self.prepared.append((source, name, threads, shared, chosen, arguments))

        def launch(grid: tuple[int, int, int], stream: int, *values: Any) -> int:
            self.calls.append((grid, stream, *values))
            return self._error

        return launch


def launcher_of(library: Any) -> CudaLauncher:
    return CudaLauncher(library, GPU)


@pytest.fixture(autouse=True)
def current(monkeypatch):
    """Return the GPUs made current; CPU tensors represent tensors on cuda:-1."""
    made: list[int] = []

    @contextlib.contextmanager
    def device(index: int):
        made.append(index)
        yield

    monkeypatch.setattr(torch.cuda, "device", device)
    monkeypatch.setattr(ways, "current_device", lambda: 0)
    monkeypatch.setattr(Gpu, "of", lambda _index: GPU)
    monkeypatch.setattr(launcher, "raw_stream", lambda index: STREAM + index)
    return made


def test_arguments_are_passed_as_c_has_them():
    library, x = FakeLibrary(), torch.ones(3)
    launcher_of(library)("styleforge_scale", 7, 256, x, None, True, 1 << 40, 0.5)
    ((grid, stream, *values),) = library.calls
    assert (grid, stream) == ((7, 1, 1), STREAM)
    assert [type(value) for value in values] == [c_void_p, c_void_p, c_int, c_longlong, c_double]
    assert [value.value for value in values] == [x.data_ptr(), None, 1, 1 << 40, 0.5]


def test_a_kernel_is_found_once_for_each_size_of_its_blocks():
    library = FakeLibrary()
    launch = launcher_of(library)
    for threads in (128, 256, 128):
        launch("styleforge_scale", (2, 3, 4), threads, 1.0)
    assert library.prepared == [
        (SOURCE, "styleforge_scale", 128, 0, set(), 1),
        (SOURCE, "styleforge_scale", 256, 0, set(), 1),
    ]
    assert [call[0] for call in library.calls] == [(2, 3, 4)] * 3


def test_a_kernel_may_overlap_with_the_one_ahead_of_it():
    library = FakeLibrary()
    launcher_of(library)("styleforge_scale", 1, 128, 1.0, overlap=True)
    assert library.prepared == [(SOURCE, "styleforge_scale", 128, 0, {"overlap"}, 1)]


def test_the_blocks_of_a_kernel_may_wait_for_one_another_and_have_shared_memory():
    library = FakeLibrary()
    launcher_of(library)("styleforge_scale", 1, 128, 1.0, shared=1024, cooperative=True)
    assert library.prepared == [(SOURCE, "styleforge_scale", 128, 1024, {"cooperative"}, 1)]


def test_without_a_block_nothing_is_launched():
    library = FakeLibrary()
    launcher_of(library)("styleforge_scale", 0, 256, torch.ones(0))
    assert library.calls == []


def test_an_error_of_a_launch_is_raised_with_the_kernels_name():
    with pytest.raises(RuntimeError, match="styleforge_scale could not be launched: CUDA error 98"):
        launcher_of(FakeLibrary(98))("styleforge_scale", 1, 32)


def test_a_library_without_the_kernel_is_told():
    with pytest.raises(AttributeError, match="the library has no kernel styleforge_missing"):
        launcher_of(FakeLibrary())("styleforge_missing", 1, 32)


@pytest.fixture
def compiled(tmp_path, stub_path, stub) -> tuple[DriverLibrary, Any]:
    """Return a library without a description, and its driver, which launches nothing."""
    listed = ImageList(
        "scale_cuda",
        "",
        {},
        {SOURCE: {"styleforge_scale": "styleforge_scale"}},
        (Image("scale.xz", SOURCE, "sm_90", hashlib.sha256(CODE).hexdigest()),),
    )
    (tmp_path / "scale.xz").write_bytes(lzma.compress(CODE))
    return DriverLibrary(listed, tmp_path, (9, 0), 0, Driver(str(stub_path))), stub


def test_the_driver_is_given_grid_block_stream_and_every_argument(compiled):
    library, stub = compiled
    sizes = (c_int * 5)(8, 8, 4, 8, 8)
    stub.stub_expect(b"styleforge_scale", sizes, 5)
    x = torch.ones(3)
    launcher_of(library)("styleforge_scale", (5, 6, 7), 96, x, None, True, 3, 0.5)
    name, grid, block, *_, stream, _, arguments = stub.stub_take().decode().rstrip().split(" ")
    assert (name, grid, block, stream) == ("styleforge_scale", "5,6,7", "96,1,1", hex(STREAM))
    values = [bytes.fromhex(value) for value in arguments.split(",")]
    expected = struct.pack("<q", x.data_ptr()), bytes(8), struct.pack("<i", 1)
    assert values == [*expected, struct.pack("<q", 3), struct.pack("<d", 0.5)]


def test_a_launch_needs_a_library():
    with pytest.raises(ValueError, match="must name its library"):
        Cpu(launch=lambda _, input: input)
    with pytest.raises(ValueError, match="must name its library"):
        Cuda("", lambda _, input: input)


def c_function(calls: list[tuple[Any, ...]], error: int = 0) -> Any:
    types = c_int, c_longlong, c_void_p, c_void_p, c_int, c_longlong, c_double

    def function(*arguments: Any) -> int:
        calls.append(arguments)
        return error

    return CFUNCTYPE(*types)(function)


def test_a_function_on_the_cpu_is_told_how_many_threads_to_use():
    calls: list[tuple[Any, ...]] = []
    library = SimpleNamespace(styleforge_scale=c_function(calls))
    launch, x = CpuLauncher(library), torch.ones(3)  # pyright: ignore[reportArgumentType]
    for _ in range(2):
        launch("styleforge_scale", x, None, True, 1 << 40, 0.5)
    assert calls == [(torch.get_num_threads(), x.data_ptr(), None, 1, 1 << 40, 0.5)] * 2


def test_a_function_on_the_cpu_without_memory_raises():
    launch = CpuLauncher(SimpleNamespace(styleforge_scale=c_function([], 1)))  # pyright: ignore[reportArgumentType]
    with pytest.raises(MemoryError, match="styleforge_scale: not enough memory"):
        launch("styleforge_scale", torch.ones(1), None, False, 1, 1.0)


def test_a_function_is_found_once_and_called_as_it_was_declared():
    calls: list[tuple[Any, ...]] = []
    library = SimpleNamespace(styleforge_scale=c_function(calls))
    launch = CpuLauncher(library)  # pyright: ignore[reportArgumentType]
    types = c_longlong, c_void_p, c_void_p, c_int, c_longlong, c_double
    run = launch.function("styleforge_scale", *types)
    assert run(3, 1 << 40, None, 1, -2, 0.5) == 0
    assert calls == [(3, 1 << 40, None, 1, -2, 0.5)]
    del library.styleforge_scale
    assert launch.function("styleforge_scale", *types) is run
    with pytest.raises(AttributeError, match="styleforge_missing"):
        launch.function("styleforge_missing")


def test_sizes_that_never_return_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(launcher, "MOST_CALLS", 3)
    kept = CpuLauncher(SimpleNamespace())  # pyright: ignore[reportArgumentType]
    for key in range(10):
        assert kept.keep(key, str(key)) == str(key)
        assert kept.calls[key] == str(key)
        assert len(kept.calls) <= 3


def test_a_library_that_is_loaded_again_is_the_one_that_is_called(monkeypatch):
    def launch(launcher: CpuLauncher, x: torch.Tensor) -> Any:
        return launcher.library

    run = ways.on_cpu(Cpu("doubling", launch), lambda x: x * 2, NO_DEFAULTS)
    assert run is not None
    monkeypatch.setitem(build._reasons, "doubling", "")
    for library in (FakeLibrary(), FakeLibrary()):
        monkeypatch.setitem(build._handles, "doubling", library)
        assert run(torch.ones(1)) is library
        assert run(torch.ones(1)) is library


@pytest.fixture
def doubling():
    """Return the function a GPU's dispatch key calls for a row with a launch."""

    def reference(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def launch(launcher: CudaLauncher, x: torch.Tensor) -> torch.Tensor:
        launcher("styleforge_scale", 1, 32, x)
        return x * 20

    return ways.on_cuda(Cuda("doubling_cuda", launch), reference, NO_DEFAULTS)


def test_what_is_loaded_is_launched_on_the_tensors_gpu(doubling, monkeypatch, current):
    monkeypatch.setitem(build._reasons, "doubling_cuda", "")
    for library in (FakeLibrary(), FakeLibrary()):  # the second is a reloaded one
        monkeypatch.setitem(build._handles, "doubling_cuda", library)
        assert doubling(torch.ones(1)).item() == 20
        assert len(library.calls) == 1
    assert current == [-1, -1]
    monkeypatch.setattr(ways, "current_device", lambda: -1)
    assert doubling(torch.ones(1)).item() == 20
    assert current == [-1, -1]  # it was already current


def test_a_gpu_without_an_image_runs_the_reference_and_says_so(doubling, monkeypatch):
    class Elsewhere(FakeLibrary):
        def on(self, device: torch.device) -> FakeLibrary:
            raise BuildError(f"no image for {device}")

    monkeypatch.setattr(status, "_warned", set[str]())
    monkeypatch.setitem(build._reasons, "doubling_cuda", "")
    monkeypatch.setitem(build._handles, "doubling_cuda", Elsewhere())
    with pytest.warns(NativeKernelWarning, match="'doubling_cuda on cpu' .* no image for cpu"):
        assert doubling(torch.ones(1)).item() == 2
    assert doubling(torch.ones(1)).item() == 2


def test_without_the_library_the_reference_runs_and_says_so(doubling, monkeypatch):
    monkeypatch.setitem(build._reasons, "doubling_cuda", "no CUDA device")
    with pytest.warns(NativeKernelWarning, match="'doubling_cuda' are not in use: no CUDA device"):
        assert doubling(torch.ones(1)).item() == 2
