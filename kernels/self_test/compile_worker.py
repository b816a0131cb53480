"""Compiles one library and tests it; the child process behind kernels.jit.build.

`python -m kernels.self_test.compile_worker NAME FOLDER SOURCE...` writes the library and
`result.json` into FOLDER: the path of the library, and the reason it cannot be used, empty if it
can. With `--images IMAGES` in place of sources it only tests the image of that folder. A crash of
the compiler or of the new kernel ends this process, never the application.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kernels.driver.prebuilt import present
from kernels.jit import build, prebuilt, toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES
from kernels.network import dispatch
from kernels.ops.registry import NETWORK, OPS, Op
from kernels.self_test.network import self_test as self_test_network

ENOUGH_DB = 50.0  # FP16 reaches 60 on the small network of the self-test


def main(name: str, folder: Path, *sources: str) -> None:
    """Leave `result.json` in `folder`; `sources` may be "--images" and their folder."""
    torch.backends.cudnn.allow_tf32 = False  # references and kernels are compared in FP32
    built = ""
    try:
        if sources[:1] == ("--images",):
            build.adopt(name, prebuilt.find(LIBRARIES[name], Path(sources[1])).load())
            gpus = _one_of_each_kind()
        else:
            built = str(_compile(name, folder, list(sources)))
            _adopt(name, built)
            gpus = ["cuda"]  # compiled for that one
        self_test([op for op in OPS.values() if op.library == name and not op.is_composite])
        for gpu in gpus if LIBRARIES[name].cuda else ():
            if name == NETWORK:
                _test_network(torch.device(gpu))
            self_test([op for op in OPS.values() if op.cuda == name], gpu)
        result = {"reason": "", "library": built}
    except BuildError as error:
        result = {"reason": str(error), "library": ""}
    (folder / "result.json").write_text(json.dumps(result), "utf-8")


def self_test(ops: Iterable[Op], device: str = "cpu") -> None:
    """Compare each native kernel with its reference; BuildError if one is absent or differs."""
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
    """The first GPU of each kind that this machine has."""
    first: dict[str, str] = {}
    for index, gpu in enumerate(present()):
        first.setdefault(gpu.name, f"cuda:{index}")
    return list(first.values())


def _test_network(device: torch.device) -> None:
    psnr = self_test_network(dispatch.loaded(device), device)
    if not psnr > ENOUGH_DB:
        raise BuildError(f"self-test failed: the network is right to {psnr:.0f} dB only")


def _difference(op: Op, arguments: tuple[Any, ...]) -> float:
    """The largest difference in units of what rounding explains (NaN counts as infinite)."""
    copies = [tuple(_copy(x) for x in arguments) for _ in range(2)]
    results = [run(*copy) for run, copy in zip((op.overload, op.reference), copies, strict=True)]
    if op.mutates:
        names = [argument.name for argument in op.overload._schema.arguments]
        at = names.index(op.mutates[0])
        results = [copy[at] for copy in copies]
    got, expected = (result.double() for result in results)
    # The reference rounds in a different order, so the last bit may differ either way.
    allowed = 4 * op.tolerance_scale * torch.finfo(results[0].dtype).eps * (expected.abs() + 8)
    worst = ((got - expected).abs() / allowed).nan_to_num(nan=float("inf")).max()
    return float(worst)


def _on(device: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x.to(device) if isinstance(x, Tensor) else x for x in arguments)


def _copy(x: Any) -> Any:
    return x.clone() if isinstance(x, Tensor) else x


def _adopt(name: str, built: str) -> None:
    try:
        build.adopt(name, ctypes.CDLL(built))
    except OSError as error:
        raise BuildError(toolchain.load_error(error)) from error


def _compile(name: str, folder: Path, sources: list[str]) -> Path:
    library = folder / f"{name}{toolchain.SUFFIX}"
    if LIBRARIES[name].cuda:
        _compile_cuda(name, folder, sources)
    else:
        (source,) = sources
        command = toolchain.cpu_command(os.environ["CXX"], source, str(library))
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        output = done.stdout + done.stderr
        if done.returncode:
            print(output, flush=True)  # noqa: T201  (into the log of the build)
            raise BuildError(f"build failed: {toolchain.first_error(output)}")
    return library


def _compile_cuda(name: str, folder: Path, sources: list[str]) -> None:
    from torch.utils import cpp_extension

    try:
        cpp_extension.load(  # pyright: ignore[reportUnknownMemberType]
            name=name,
            sources=sources,
            extra_cuda_cflags=toolchain.cuda_flags(),
            build_directory=str(folder),
            with_cuda=True,
            is_python_module=False,
            verbose=False,
        )
    except OSError as error:
        raise BuildError(toolchain.load_error(error)) from error
    except RuntimeError as error:
        print(error, flush=True)  # noqa: T201  (into the log of the build)
        raise BuildError(f"build failed: {toolchain.first_error(str(error))}") from error


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
