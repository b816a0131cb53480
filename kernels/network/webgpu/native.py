"""Calls functions of wgpu's C library that its Python package lacks, or wraps at a cost.

wgpu has no types, so its objects are Any.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from kernels.network.webgpu.wgsl import Shader

Group: TypeAlias = Any  # a bind group of wgpu


@dataclass(slots=True, eq=False)
class Pipeline:
    """A shader, and wgpu's compiled one, which may follow later (`Device.compiling`)."""

    shader: Shader
    handle: Any = None


class Step(NamedTuple):
    """One run of a shader: its workgroups in three dimensions, and its bind groups."""

    pipeline: Pipeline
    groups: tuple[int, int, int]
    bound: Group
    weights: Group | None = None


class _Library(NamedTuple):
    """The C library. `calls` has the functions of `lib`, and raises their errors."""

    ffi: Any
    lib: Any
    calls: Any


def trusted_module(device: Any, code: str) -> Any:
    """Load a shader without checks of indexes and loops.

    The shader must not index beyond its buffers, and its loops must end.
    """
    ffi, lib, calls = _library()
    text = code.encode()
    letters = ffi.new("char[]", text)
    source = ffi.new("WGPUShaderSourceWGSL *")
    source.chain.sType = lib.WGPUSType_ShaderSourceWGSL
    source.code.data, source.code.length = letters, len(text)
    descriptor = ffi.new("WGPUShaderModuleDescriptor *")
    descriptor.nextInChain = ffi.cast("WGPUChainedStruct *", source)
    handle = calls.wgpuDeviceCreateShaderModuleTrusted(device._internal, descriptor, 0)
    native = importlib.import_module("wgpu.backends.wgpu_native")
    return native.GPUShaderModule("", handle, device)


def encode(work: Any, steps: Iterable[Step]) -> None:
    """Add steps to a compute pass, whose end reports their errors."""
    ffi, lib, _ = _library()
    null, to = ffi.NULL, work._internal
    for step in steps:
        lib.wgpuComputePassEncoderSetPipeline(to, step.pipeline.handle._internal)
        lib.wgpuComputePassEncoderSetBindGroup(to, 0, step.bound._internal, 0, null)
        if step.weights is not None:
            lib.wgpuComputePassEncoderSetBindGroup(to, 1, step.weights._internal, 0, null)
        lib.wgpuComputePassEncoderDispatchWorkgroups(to, *step.groups)


def tick(device: Any) -> float:
    """Return the ns between two timestamps of a GPU that differ by one."""
    return float(_library().calls.wgpuQueueGetTimestampPeriod(device.queue._internal))


def poll(device: Any) -> None:
    """Report finished work to its mappings. The call does not wait."""
    ffi, _, calls = _library()
    calls.wgpuDevicePoll(device._internal, False, ffi.NULL)


class Mapping:
    """A request for a buffer's memory, which `poll` fulfills after all submitted work on it.

    Attributes:
        done: Whether `memory` can be called.
        error: The reason if the request failed, else "".
    """

    def __init__(self, buffer: Any, size: int) -> None:
        """Request the first `size` bytes, a multiple of four, to read them."""
        ffi, lib, calls = _library()
        self._buffer, self._size = buffer, size
        self.done, self.error = False, ""
        self._handle = ffi.new_handle(self)
        _pending.add(self)
        info = ffi.new("WGPUBufferMapCallbackInfo *")
        info.mode = lib.WGPUCallbackMode_AllowProcessEvents
        info.callback, info.userdata1 = _finished(), self._handle
        calls.wgpuBufferMapAsync(buffer._internal, lib.WGPUMapMode_Read, 0, size, info[0])

    def finish(self, error: str) -> None:
        self.error, self.done = error, True
        _pending.discard(self)

    def memory(self) -> Any:
        """Return the bytes, which support the buffer protocol until `unmap`."""
        ffi, _, calls = _library()
        start = calls.wgpuBufferGetMappedRange(self._buffer._internal, 0, self._size)
        assert start != ffi.NULL
        return ffi.buffer(start, self._size)

    def unmap(self) -> None:
        _library().calls.wgpuBufferUnmap(self._buffer._internal)


_pending: set[Mapping] = set()  # the C library has their addresses


@functools.cache
def _library() -> _Library:
    native = importlib.import_module("wgpu.backends.wgpu_native")
    calls = importlib.import_module("wgpu.backends.wgpu_native._api").libf
    return _Library(native.ffi, native.lib, calls)


@functools.cache
def _finished() -> Any:
    """Return the C function that the library calls at the end of a request."""
    ffi, lib, _ = _library()

    def finished(status: int, message: Any, mapping: Any, _: Any) -> None:
        text = ""
        if status != lib.WGPUMapAsyncStatus_Success:
            text = ffi.string(message.data, message.length).decode() if message.data else ""
            text = text or f"WGPUMapAsyncStatus {status}"
        ffi.from_handle(mapping).finish(text)

    return ffi.callback("void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)", finished)
