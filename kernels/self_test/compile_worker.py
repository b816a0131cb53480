"""Compiles one library and tests it; the child process behind kernels.jit.build.

`python -m kernels.self_test.compile_worker NAME FOLDER SOURCE...` writes the library (for CUDA
sources a folder of images) and `result.json` into FOLDER. The latter has the path of the library,
and the reason it cannot be used, empty if it can. With `--images IMAGES` instead of sources it only
tests the image in that folder. A crash of the compiler or of the new kernel ends this process,
never the application.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from kernels.driver import compiling
from kernels.driver.compiling import Job, Source
from kernels.driver.images import too_old
from kernels.driver.prebuilt import present
from kernels.frames.cpu_texture import CpuTexture
from kernels.frames.launchers import frame_kernels
from kernels.frames.native_smoothing import NativeStream
from kernels.jit import build, prebuilt, toolchain
from kernels.jit.cuda_tools import CudaTools, cuda_tools
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES, Library
from kernels.jit.nvrtc import CompilationError
from kernels.network import dispatch
from kernels.network.cpu.launchers import CpuNetwork
from kernels.self_test.frames import self_test as self_test_frames
from kernels.self_test.frames import self_test_smoothing, self_test_texture
from kernels.self_test.network import self_test as self_test_network
from kernels.self_test.network_cpu import self_test as self_test_network_cpu
from kernels.self_test.tuned import test_tuned
from kernels.table.names import FRAMES, NETWORK, NETWORK_CPU, SMOOTHING, TEXTURE
from kernels.table.operation import OPS, Operation

ENOUGH_DB = 50.0  # FP16 reaches 60 on the small network of the self-test
ENOUGH_DB_IN_FP32 = 90.0  # the CPU reaches 110
MOST_APART = 3  # of 255, for the kernels around the network; rounding explains 2


def main(name: str, folder: Path, *sources: str) -> None:
    """Write `result.json` into `folder`; `sources` may be "--images" and their folder."""
    torch.backends.cudnn.allow_tf32 = False  # compare references and kernels in FP32
    built = ""
    try:
        if sources[:1] == ("--images",):
            build.adopt(name, prebuilt.find(LIBRARIES[name], Path(sources[1])).load())
        else:
            built = str(_compile(name, folder, list(sources)))
            build.adopt(name, build.load_built_file(LIBRARIES[name], Path(built)))
        self_test([op for op in OPS.values() if op.cpu.library == name and not op.is_composite])
        if name == NETWORK_CPU:
            _test_network_cpu()
        if name == TEXTURE:
            _test_texture()
        if name == SMOOTHING:
            _test_smoothing()
        for gpu in _one_of_each_kind() if LIBRARIES[name].cuda else ():
            if name == NETWORK:
                _test_network(torch.device(gpu))
            if name == FRAMES:
                _test_frames(torch.device(gpu))
            self_test([op for op in OPS.values() if op.library_on("cuda") == name], gpu)
        result = {"reason": "", "library": built}
    except BuildError as error:
        result = {"reason": str(error), "library": ""}
    (folder / "result.json").write_text(json.dumps(result), "utf-8")
    if name == NETWORK and not result["reason"]:
        # Last, because tuned layers must not decide about the library, even by a crash.
        for gpu in _one_of_each_kind():
            test_tuned(torch.device(gpu))


def self_test(ops: Iterable[Operation], device: str = "cpu") -> None:
    """Compare each native kernel with its reference.

    Raises:
        BuildError: If a kernel is missing or its results differ.
    """
    for op in ops:
        if not op.has_kernel_on(torch.device(device).type):
            raise BuildError(f"self-test failed: the library has no kernel for {op.name}")
        for arguments in op.samples():
            try:
                difference = _difference(op, _on(device, arguments))
            except AttributeError as error:  # the library lacks a function of that name
                raise BuildError(f"self-test failed: no kernel for {op.name}: {error}") from error
            if difference > 1:
                raise BuildError(
                    f"self-test failed: {op.name} is {difference:.1f} times further from its "
                    "reference than rounding allows"
                )


def _one_of_each_kind() -> list[str]:
    """Return the first GPU of each kind on this machine, except kinds too old for any image."""
    first: dict[str, str] = {}
    for index, gpu in enumerate(present()):
        if not too_old(gpu.capability):
            first.setdefault(gpu.name, f"cuda:{index}")
    return list(first.values())


def _test_network(device: torch.device) -> None:
    psnr = self_test_network(dispatch.shipped(device), device)
    if not psnr > ENOUGH_DB:
        raise BuildError(f"self-test failed: the network is right to {psnr:.0f} dB only")


def _test_network_cpu() -> None:
    psnr = self_test_network_cpu(CpuNetwork(build.handle(NETWORK_CPU)))
    if not psnr > ENOUGH_DB_IN_FP32:
        raise BuildError(f"self-test failed: the network is right to {psnr:.0f} dB only")


def _test_frames(device: torch.device) -> None:
    kernels = frame_kernels(device)
    apart = math.inf if kernels is None else self_test_frames(kernels, device)
    if apart > MOST_APART:
        raise BuildError(f"self-test failed: frames are {apart} of 255 away from PyTorch's")


def _test_texture() -> None:
    apart = self_test_texture(CpuTexture(build.handle(TEXTURE)))
    if apart > MOST_APART:
        raise BuildError(f"self-test failed: texture is {apart} of 255 away from PyTorch's")


def _test_smoothing() -> None:
    apart = self_test_smoothing(NativeStream)
    if apart > MOST_APART:
        raise BuildError(f"self-test failed: smoothing is {apart} of 255 away from PyTorch's")


def _difference(op: Operation, arguments: tuple[Any, ...]) -> float:
    """Return the largest difference in units of the allowed rounding; NaN counts as infinite."""
    copies = [tuple(_copy(x) for x in arguments) for _ in range(2)]
    results = [run(*copy) for run, copy in zip((op.overload, op.reference), copies, strict=True)]
    if op.mutates:
        names = [argument.name for argument in op.overload._schema.arguments]
        at = names.index(op.mutates[0])
        results = [copy[at] for copy in copies]
    pairs = zip(*(_as_tuple(result) for result in results), strict=True)
    return max(_apart(got, expected, op.tolerance_scale) for got, expected in pairs)


def _apart(result: Tensor, reference: Tensor, scale: float) -> float:
    if result.shape != reference.shape or result.dtype != reference.dtype:
        return math.inf
    if not result.numel():
        return 0.0
    got, expected = result.double(), reference.double()
    # The reference rounds in a different order, so the last bit may differ either way.
    eps = torch.finfo(result.dtype).eps if result.is_floating_point() else 0.0
    allowed = 4 * scale * eps * (expected.abs() + 8)
    apart = torch.where(got == expected, 0.0, (got - expected).abs() / allowed)
    return float(apart.nan_to_num(nan=math.inf).max())


def _on(device: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    def moved(x: Any) -> Any:
        if isinstance(x, list):
            return [moved(each) for each in cast("list[Any]", x)]
        return x.to(device) if isinstance(x, Tensor) else x

    return tuple(moved(x) for x in arguments)


def _copy(x: Any) -> Any:
    if isinstance(x, list):
        return [_copy(each) for each in cast("list[Any]", x)]
    return x.clone() if isinstance(x, Tensor) else x


def _as_tuple(results: Any) -> tuple[Tensor, ...]:
    return (results,) if isinstance(results, Tensor) else tuple(results)


def _compile(name: str, folder: Path, sources: list[str]) -> Path:
    if LIBRARIES[name].cuda:
        return _compile_cuda(LIBRARIES[name], folder)
    library = folder / f"{name}{toolchain.SUFFIX}"
    (source,) = sources
    command = toolchain.cpu_command(os.environ["CXX"], source, str(library))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise _failed(done.stdout + done.stderr)
    return library


def _compile_cuda(library: Library, folder: Path) -> Path:
    tools, images = cuda_tools(), folder / "images"
    images.mkdir(mode=0o755)
    try:
        description = _describe(library, tools, folder)
        jobs = [
            Job(source, architecture, tools.toolkit, tools.defines)
            for source in compiling.sources_of(library, description)
            for architecture in _architectures(source, tools)
        ]
        listed = compiling.make(library, description, jobs, images)
    except subprocess.CalledProcessError as error:
        raise _failed(error.stdout) from error
    except CompilationError as error:
        raise _failed(str(error)) from error
    files = [f"{library.name}.json", *(image.file for image in listed.images)]
    compiling.write_manifest(images, [images / file for file in files])
    return images


def _describe(library: Library, tools: CudaTools, folder: Path) -> dict[str, Any]:
    if library.abi is None:
        return {}
    built = folder / f"{library.name}_abi{toolchain.SUFFIX}"
    function = f"styleforge_{library.name}_abi"
    command = toolchain.description_command(
        *(os.environ["CXX"], str(library.abi), str(built), tools.toolkit.headers, function)
    )
    return compiling.describe(library, command, built, folder=folder)


def _architectures(source: Source, tools: CudaTools) -> list[str]:
    found = (
        compiling.architecture_for(source.target, each, source.until) for each in tools.capabilities
    )
    return [architecture for architecture in found if architecture is not None]


def _failed(output: str) -> BuildError:
    """Print a compiler's output into the build's log, and return its first error."""
    print(output, flush=True)  # noqa: T201
    return BuildError(f"build failed: {toolchain.first_error(output)}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
