"""Runs shaders on a GPU through WebGPU."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernels.network.webgpu.adapters import BUFFER_LIMITS, Adapter, adapters, hardware, named
from kernels.network.webgpu.background import Background
from kernels.network.webgpu.library import WebGpuError, checked_module, in_words, wgpu
from kernels.network.webgpu.native import Group, Pipeline, Step, encode, trusted_module
from kernels.network.webgpu.readback import Readback
from kernels.network.webgpu.stamps import Stamps
from kernels.network.webgpu.wgsl import MAX_MEMORY, MAX_THREADS, Binding, Shader
from utils.stop_flag import flag_in_force
from utils.translation.texts import tr

Buffer: TypeAlias = Any  # of wgpu, which has no types

CHECKED_S = 0.01  # between two looks at the flag of `stopped_by`
COMPILERS = min(4, os.cpu_count() or 1)  # threads that compile shaders


class Copy(NamedTuple):
    """A copy of a buffer, or of the times of passes, to memory that can be read."""

    source: Buffer | Stamps
    to: Readback


def open_device(choice: int | str | None = None, *, trusted: bool = True) -> Device:
    """Open the first hardware GPU, or the one of an index or a name, which may be software.

    Args:
        choice: See `adapters.named`.
        trusted: Whether shaders run without the checks of indexes that wgpu adds.

    Raises:
        WebGpuError: If there is no such GPU, or it cannot be opened.
    """
    adapter = hardware(adapters()) if choice is None else named(choice)
    return Device(adapter, trusted=trusted)


class _Together(threading.local):
    """The shaders that a thread has compiled side by side; `pool` is None if it does not."""

    def __init__(self) -> None:
        self.pool: ThreadPoolExecutor | None = None
        self.awaited: list[Future[None]] = []


class Device:
    """An open GPU. Threads may share it.

    Attributes:
        background: Pictures that threads submit in pieces.
    """

    def __init__(self, adapter: Adapter, *, trusted: bool = True) -> None:
        """Open an adapter.

        Raises:
            WebGpuError: If it cannot be opened.
        """
        self.adapter, self.background = adapter, Background()
        self._wgpu = wgpu()
        self._trusted = trusted
        self._pipelines: dict[str, tuple[Pipeline, Future[None]]] = {}  # by code
        self._together = _Together()
        self._layouts: dict[tuple[str, ...], Any] = {}
        self._lock = threading.RLock()
        with in_words():
            self._device = _opened(adapter)

    # Buffers

    def allocate(self, size: int, *, uniform: bool = False) -> Buffer:
        """Return a buffer of at least `size` bytes for shaders; `uniform` ones also read it so."""
        usage = self._wgpu.BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        flags |= usage.UNIFORM if uniform else 0
        with in_words():
            return self._device.create_buffer(size=_whole(size), usage=flags)

    def upload(self, data: NDArray[Any], *, uniform: bool = False) -> Buffer:
        """Return a buffer with an array, for shaders to read."""
        usage = self._wgpu.BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        flags |= usage.UNIFORM if uniform else 0
        with in_words():
            return self._device.create_buffer_with_data(data=_padded(data), usage=flags)

    def write(self, buffer: Buffer, data: NDArray[Any]) -> None:
        """Write an array to the beginning of a buffer, after all submitted work."""
        flat = _flat(data)
        whole = (
            flat.size // 4 * 4
        )  # the bytes behind it are a write of their own, not a copy of all
        with in_words():
            for start, part in ((0, flat[:whole]), (whole, _padded(flat[whole:]))):
                if part.size:
                    self._device.queue.write_buffer(buffer, start, part)

    def readback(self, size: int) -> Readback:
        """Return memory that receives `size` bytes from the GPU."""
        usage = self._wgpu.BufferUsage
        with in_words():
            buffer = self._device.create_buffer(
                size=_whole(size), usage=usage.MAP_READ | usage.COPY_DST
            )
            return Readback(self._device, buffer, size)

    # Shaders

    def pipeline(self, shader: Shader) -> Pipeline:
        """Return a compiled shader; compile it at its first use. See also `compiling`.

        Raises:
            WebGpuError: If the GPU refuses it.
        """
        code, together = shader.code, self._together
        with self._lock:
            is_new = code not in self._pipelines
            if is_new:
                self._pipelines[code] = Pipeline(shader), Future()
            pipeline, compiled = self._pipelines[code]
        if is_new and together.pool is not None:
            together.pool.submit(self._compile, pipeline, code, compiled)
        elif is_new:
            self._compile(pipeline, code, compiled)
        if together.pool is None:
            compiled.result()
        else:
            together.awaited.append(compiled)
        return pipeline

    @contextmanager
    def compiling(self) -> Generator[None]:
        """Compile the shaders that this thread asks for in the block side by side.

        They are compiled when the block has ended. Within `stopped_by`, the flag ends the wait, but
        not the compilation.

        Raises:
            WebGpuError: At the end of the block, if the GPU refuses a shader.
            Stopped: At the end of the block, if the flag in force is set.
        """
        together = self._together
        together.pool = pool = ThreadPoolExecutor(COMPILERS, "shaders")
        try:
            yield
        finally:
            together.pool, awaited, together.awaited = None, together.awaited, []
            pool.shutdown(wait=False)
        for compiled in awaited:
            _await(compiled)

    def bind(
        self, pipeline: Pipeline, sizes: Sequence[tuple[int, int]], **buffers: Buffer
    ) -> Group:
        """Return group 0 of a shader: its sizes in order, and its buffers by name."""
        shader = pipeline.shader
        expected = [binding.name for binding in shader.buffers]
        assert sorted(buffers) == sorted(expected), (expected, list(buffers))
        assert len(sizes) == len(shader.sizes)
        uniform = self.upload(np.array(sizes, np.uint32), uniform=True)
        return self._group(
            *(_sizes_and(shader.buffers), [uniform, *(buffers[name] for name in expected)])
        )

    def bind_weights(self, pipeline: Pipeline, buffer: Buffer) -> Group:
        """Return group 1 of a shader that reads weights."""
        assert pipeline.shader.weights is not None
        return self._group((pipeline.shader.weights,), [buffer])

    # Work

    def submit(
        self,
        passes: Sequence[Sequence[Step]],
        copies: Sequence[Copy] = (),
        stamps: Stamps | None = None,
        first: int = 0,
    ) -> None:
        """Start passes of shaders in order, then copies. The call does not wait for the GPU.

        Args:
            stamps: Measures the passes, the first one as its pass `first`.
        """
        with in_words():
            encoder = self._device.create_command_encoder()
            for number, steps in enumerate(passes, first):
                marks = {} if stamps is None else {"timestamp_writes": stamps.around(number)}
                work = encoder.begin_compute_pass(**marks)
                encode(work, steps)
                work.end()
            for source, to in copies:
                buffer = source
                if isinstance(source, Stamps):
                    source.resolve(encoder)
                    buffer = source.buffer
                encoder.copy_buffer_to_buffer(buffer, 0, to.buffer, 0, _whole(to.size))
            self._device.queue.submit([encoder.finish()])

    def stamps(self, passes: int) -> Stamps:
        """Return what measures the GPU's time of some passes.

        Raises:
            WebGpuError: If the GPU does not measure times.
        """
        if not self.adapter.timed:
            raise WebGpuError(tr("this GPU does not measure the time of shaders"))
        with in_words():
            return Stamps(self._wgpu, self._device, passes)

    def times(self, parts: Sequence[Sequence[Step]]) -> list[float]:
        """Run parts one after another, and return the GPU's time for each, in ms.

        Raises:
            WebGpuError: If the GPU does not measure times.
        """
        stamps = self.stamps(len(parts))
        memory = self.readback(stamps.size)
        self.submit(parts, [Copy(stamps, memory)], stamps)
        with memory.read() as written:
            return stamps.milliseconds(written)

    def close(self) -> None:
        """Free the GPU. Later calls raise WebGpuError."""
        with in_words():
            self._device.destroy()

    def _compile(self, pipeline: Pipeline, code: str, compiled: Future[None]) -> None:
        try:
            with in_words():
                pipeline.handle = self._compiled(pipeline.shader, code)
        except WebGpuError as error:
            with self._lock:
                del self._pipelines[code]  # another try compiles it again
            compiled.set_exception(error)
        else:
            compiled.set_result(None)

    def _compiled(self, shader: Shader, code: str) -> Any:
        groups = [_sizes_and(shader.buffers)]
        groups += [] if shader.weights is None else [(shader.weights,)]
        layouts = [self._layout(group) for group in groups]
        layout = self._device.create_pipeline_layout(bind_group_layouts=layouts)
        make = trusted_module if self._trusted else checked_module
        stage = {"module": make(self._device, code), "entry_point": "main"}
        return self._device.create_compute_pipeline(layout=layout, compute=stage)

    def _layout(self, bindings: Sequence[Binding]) -> Any:
        key = tuple(binding.access for binding in bindings)
        with self._lock:
            if key not in self._layouts:
                types = {"uniform": "uniform", "read": "read-only-storage", "write": "storage"}
                entries = [
                    {
                        "binding": number,
                        "visibility": self._wgpu.ShaderStage.COMPUTE,
                        "buffer": {"type": types[access]},
                    }
                    for number, access in enumerate(key)
                ]
                self._layouts[key] = self._device.create_bind_group_layout(entries=entries)
            return self._layouts[key]

    def _group(self, bindings: Sequence[Binding], buffers: Sequence[Buffer]) -> Group:
        entries = [
            {"binding": number, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
            for number, buffer in enumerate(buffers)
        ]
        with in_words():
            return self._device.create_bind_group(layout=self._layout(bindings), entries=entries)


def _await(compiled: Future[None]) -> None:
    """Wait for a shader, or raise Stopped if the flag in force is set."""
    flag = flag_in_force()
    while flag is not None and not wait([compiled], CHECKED_S).done:
        flag.check()
    compiled.result()


def _sizes_and(buffers: Sequence[Binding]) -> tuple[Binding, ...]:
    return Binding("sizes", "uniform", "Sizes"), *buffers


def _whole(size: int) -> int:
    """Round bytes up to multiples of four, as WebGPU's commands need them."""
    return -(-size // 4) * 4


def _flat(data: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


def _padded(data: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of an array, and zeros up to a multiple of four."""
    flat = _flat(data)
    missing = _whole(flat.size) - flat.size
    return np.concatenate([flat, np.zeros(missing, np.uint8)]) if missing else flat


def _opened(adapter: Adapter) -> Any:
    wanted = ("shader-f16", adapter.half), ("timestamp-query", adapter.timed)
    limits = {
        **{name: adapter.handle.limits[name] for name in BUFFER_LIMITS},
        "max-compute-workgroup-storage-size": MAX_MEMORY,
        "max-compute-invocations-per-workgroup": MAX_THREADS,
        "max-compute-workgroup-size-x": MAX_THREADS,
    }
    return adapter.handle.request_device_sync(
        required_features=[name for name, there in wanted if there], required_limits=limits
    )
