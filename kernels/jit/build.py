"""The one door to the compiler: every native library is built, cached and loaded here.

A library is compiled by a child process into a folder of its own, tested there against its
references, and only then moved into the cache under a name that says what it was built from and
for. A build that is killed, at any point, leaves nothing that the next one trips over.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs
import torch
from filelock import FileLock, Timeout

log = logging.getLogger("styleforge.kernels")

HERE = Path(__file__).resolve().parent.parent  # where the sources are
ROOT = Path(__file__).resolve().parents[__name__.count(".")]  # where `-m` finds this package
WORKER = f"{__name__.removesuffix('jit.build')}self_test.compile_worker"
TIME_LIMIT = 300.0  # seconds for one build; the slowest machine we know needs 60
LOCK_LIMIT = 330.0  # seconds to wait for another process that is building the same library
SUFFIX = ".pyd" if sys.platform == "win32" else ".so"

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

NOT_BUILT = "not built yet"
BUILDING = "building"


class BuildError(RuntimeError):
    """A native library cannot be compiled or loaded; the message is the reason in words."""


class CachedFailure(BuildError):
    """A reason that holds until something in its key changes, so it is worth keeping."""


@dataclass(frozen=True, slots=True)
class Library:
    """Sources, relative to this folder, that compile into one shared library."""

    name: str
    cpu: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()  # plain CUDA behind C names; see `handle`
    binding: tuple[str, ...] = ()  # C++ that gives the CUDA kernels to PyTorch's dispatcher

    @property
    def sources(self) -> list[Path]:
        """The files that are compiled."""
        return [HERE / path for path in self.cpu + self.cuda + self.binding]

    @property
    def headers(self) -> list[Path]:
        """Every file of ours that the sources include, directly or through another, sorted."""
        found: set[Path] = set()
        waiting = list(self.sources)
        while waiting:
            source = waiting.pop()
            for name in _INCLUDE.findall(source.read_text("utf-8")):
                header = (source.parent / name).resolve()
                if header not in found:
                    found.add(header)
                    waiting.append(header)
        return sorted(found)


LIBRARIES = {
    library.name: library
    for library in (
        Library("instance_norm", cpu=("cpu/instance_norm.cpp",)),
        Library(
            "operations",
            cuda=("instance_norm.cu", "conv2d.cu", "conv_fusion.cu", "residual_block.cu"),
            binding=("torch_bindings.cpp",),
        ),
        Library("network", cuda=("network_sm80.cu", "network_sm90.cu", "network_abi.cu")),
    )
}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What compiles: `digest` covers everything about it, and this CPU, that changes the code."""

    compiler: str
    ninja: str
    digest: str
    environment: Mapping[str, str] = field(default_factory=dict)


_handles: dict[str, ctypes.CDLL] = {}  # of the CUDA libraries in use
_reasons: dict[str, str] = {}  # by library: why it is not in use; empty once it is
_looked: set[str] = set()  # of the libraries that `load_built` has looked for
_loading = threading.RLock()
_children: set[subprocess.Popen[bytes]] = set()
_stopped = threading.Event()


def reason(name: str) -> str:
    """Why the library `name` is not in use, in words; empty if it is."""
    return _reasons.get(name, NOT_BUILT)


def load(name: str, *, force: bool = False) -> bool:
    """Build `name` if the cache has no build of it, and load it; whether it is now in use.

    Blocks for as long as the compiler takes. `force` ignores a remembered failure.
    """
    with _loading:
        if reason(name) == "":
            return True
        _reasons[name] = BUILDING
        return _attempt(name, force=force, compiles=True)


def load_built(name: str) -> bool:
    """Load `name` if the cache has a build of it; whether it is now in use.

    Compiles nothing, and waits for no build. It looks once; what is built later, `load` loads.
    """
    if reason(name) == "":
        return True
    if name in _looked or not _loading.acquire(blocking=False):
        return False  # not built, or being built on another thread
    try:
        if reason(name) != NOT_BUILT or name in _looked:
            return reason(name) == ""
        _looked.add(name)
        return _attempt(name, force=False, compiles=False)
    finally:
        _loading.release()


def _attempt(name: str, *, force: bool, compiles: bool) -> bool:
    """Load `name` and note why it is not in use, if it is not."""
    try:
        _load(LIBRARIES[name], force, compiles)
    except BuildError as error:
        log.info("%s: %s", name, error)
        _reasons[name] = str(error)
    except OSError as error:
        _reasons[name] = f"cannot use the kernel cache {cache()}: {error.strerror or error}"
    except BaseException:
        _reasons[name] = NOT_BUILT
        raise
    else:
        _reasons[name] = ""
    return _reasons[name] == ""


def handle(name: str) -> ctypes.CDLL:
    """The loaded CUDA library `name`, to call through its C names; KeyError if it is not in use."""
    return _handles[name]


def stop() -> None:
    """End running builds and allow no others: the program is closing."""
    _stopped.set()
    for child in tuple(_children):
        _kill(child)


def cache() -> Path:
    """The folder of built libraries: per user, or under STYLEFORGE_CACHE."""
    root = os.environ.get("STYLEFORGE_CACHE")
    base = Path(root) if root else platformdirs.user_cache_path("styleforge", appauthor=False)
    return base.absolute() / "kernels"


def toolchain() -> Toolchain:
    """The compiler and ninja that would be used; BuildError says which is missing."""
    wanted = os.environ.get("CXX") or ("cl" if sys.platform == "win32" else "c++")
    compiler = shutil.which(wanted)
    if compiler is None:
        install = {
            "win32": "install the Visual Studio Build Tools and start from their prompt",
            "darwin": "run xcode-select --install",
        }.get(sys.platform, "install g++")
        raise BuildError(f"no C++ compiler found: {install}")
    ninja = shutil.which("ninja", path=_search_path())
    if ninja is None:
        raise BuildError("ninja not found: run pip install ninja")
    return Toolchain(compiler, ninja, _fingerprint(compiler))


def compile_flags() -> list[str]:
    """Flags for the compiler of this platform. No fast-math: results must not depend on it."""
    if sys.platform == "win32":
        arch = {"AVX512": ["/arch:AVX512"], "AVX2": ["/arch:AVX2"]}
        return ["/O2", "/openmp", *arch.get(torch.backends.cpu.get_cpu_capability(), [])]
    common = ["-O3", _architecture(), "-fno-math-errno", "-fno-trapping-math"]
    if sys.platform == "darwin":
        # Apple's clang has no OpenMP of its own; where PyTorch carries the header, use its.
        # Without it, the kernels run on one thread.
        bundled = Path(torch.__file__).parent / "include" / "omp.h"
        return [*common, "-Xpreprocessor", "-fopenmp"] if bundled.exists() else common
    return [*common, "-fopenmp"]


def link_flags() -> list[str]:
    """PyTorch's own OpenMP library, so that a process has one pool of threads, not two."""
    if sys.platform == "win32":
        return []
    folder = Path(torch.__file__).parent / "lib"
    pattern = "libomp*.dylib" if sys.platform == "darwin" else "libgomp*.so*"
    bundled = sorted(folder.glob(pattern))
    if bundled:
        return [str(bundled[0])]
    return [] if sys.platform == "darwin" else ["-fopenmp"]


def cuda_flags() -> list[str]:
    """Flags for nvcc. No fast-math here either; the architecture is that of the GPU present.

    STYLEFORGE_RACECHECK builds what compute-sanitizer's racecheck can follow, see
    tests/sanitizer/launch_all_kernels.py.
    """
    return ["-O3", *(["-DSTYLEFORGE_RACECHECK"] if "STYLEFORGE_RACECHECK" in os.environ else [])]


def cuda_environment() -> dict[str, str]:
    """What the child needs to compile for this GPU; BuildError says why it cannot."""
    if not torch.cuda.is_available():
        raise BuildError("no CUDA device")
    compiler = nvcc()
    if compiler is None:
        raise BuildError("no CUDA compiler found: install the CUDA toolkit (nvcc)")
    told = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    release = re.search(r"release (\d+)\.(\d+)", told.stdout)
    if release is None:
        raise BuildError(f"the CUDA compiler {compiler} does not run")
    theirs = str(torch.version.cuda).partition(".")[0]
    if release[1] != theirs:
        raise BuildError(f"nvcc is of CUDA {release[1]}, PyTorch of CUDA {theirs}: they must agree")
    major, minor = torch.cuda.get_device_capability()
    features = "a" if (major, minor) == (9, 0) else ""  # Hopper's own instructions
    return {
        "CUDA_HOME": str(Path(compiler).resolve().parent.parent),
        "TORCH_CUDA_ARCH_LIST": f"{major}.{minor}{features}",
        "STYLEFORGE_NVCC": f"{release[1]}.{release[2]}",
    }


def nvcc() -> str | None:
    """The CUDA compiler: on the PATH, in CUDA_HOME or where Linux packages put it."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("nvcc") or shutil.which("nvcc", path=str(Path(home) / "bin"))


def _load(library: Library, force: bool, compiles: bool) -> None:
    tools = toolchain()
    if library.cuda:
        extra = cuda_environment()
        added = hashlib.sha256(json.dumps([extra, tools.digest]).encode()).hexdigest()
        tools = Toolchain(tools.compiler, tools.ninja, added, extra)
    key = _key(library, tools)
    folder = cache()
    built = folder / f"{library.name}-{key[:16]}{SUFFIX}"
    fresh = not built.exists()
    if fresh and not compiles:
        raise BuildError(_recall(folder / f"{library.name}.failed.json", key) or NOT_BUILT)
    if fresh:
        _build_locked(library, tools, key, built, force)
    try:
        if library.cuda:
            _handles[library.name] = ctypes.CDLL(str(built))
        else:
            torch.ops.load_library(str(built))
    except OSError as error:
        # What was loaded once in the child cannot be loaded now: the file was damaged.
        built.unlink(missing_ok=True)
        if fresh:
            raise BuildError(load_error(error)) from error
        _load(library, force, compiles)


def _build_locked(library: Library, tools: Toolchain, key: str, built: Path, force: bool) -> None:
    folder = built.parent
    folder.mkdir(parents=True, exist_ok=True)
    failure = folder / f"{library.name}.failed.json"
    lock = FileLock(folder / f"{library.name}.lock", timeout=LOCK_LIMIT)
    try:
        lock.acquire()
    except Timeout as error:
        raise BuildError("another process has been building it for too long") from error
    try:
        if built.exists():
            return
        if not force and (remembered := _recall(failure, key)):
            raise BuildError(remembered)
        for leftover in folder.glob(f"{library.name}.build-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        try:
            _build(library, tools, built)
        except CachedFailure as error:
            _write(failure, json.dumps({"key": key, "reason": str(error)}))
            raise
        failure.unlink(missing_ok=True)
    finally:
        lock.release()


def _build(library: Library, tools: Toolchain, built: Path) -> None:
    """Compile and test in a child process, then move the library to `built`."""
    temporary = Path(tempfile.mkdtemp(prefix=f"{library.name}.build-", dir=built.parent))
    logfile = built.parent / f"{library.name}.log"
    command = [
        sys.executable,
        "-m",
        WORKER,
        library.name,
        str(temporary),
    ]
    command += [str(source) for source in library.sources]
    environment = dict(os.environ, PATH=_search_path(), CXX=tools.compiler)
    environment |= tools.environment
    # The child imports the same `kernels` as this process, wherever either was started.
    paths = [str(ROOT), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    try:
        code = _run(command, environment, logfile)
        result = temporary / "result.json"
        if not result.exists():
            raise CachedFailure(f"build failed: the compiling process ended with code {code}")
        outcome = json.loads(result.read_text("utf-8"))
        if outcome["reason"]:
            raise CachedFailure(outcome["reason"])
        Path(outcome["library"]).replace(built)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _run(command: list[str], environment: dict[str, str], logfile: Path) -> int:
    """Run `command` to its end or the time limit, its output in `logfile`; its exit code."""
    with logfile.open("wb") as output:
        child = subprocess.Popen(
            command,
            env=environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that the compiler can be ended with its parent
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        _children.add(child)
        try:
            if _stopped.is_set():
                raise BuildError("stopped, because the program is closing")
            code = child.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired as error:
            raise CachedFailure(f"build took longer than {TIME_LIMIT:.0f} seconds") from error
        finally:
            _children.discard(child)
            _kill(child)
    if _stopped.is_set():
        raise BuildError("stopped, because the program is closing")
    return code


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End `child` and everything it started."""
    if child.poll() is None:
        if sys.platform == "win32":
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(child.pid)], capture_output=True, check=False
            )
        else:
            _kill_group(child)
    child.wait()


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    # Asked first: ninja puts each compiler in a group of its own, and ends those only when it is
    # itself ended politely.
    try:
        os.killpg(child.pid, signal.SIGTERM)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            child.poll()  # or what has ended stays in the group
            os.killpg(child.pid, 0)
            time.sleep(0.01)
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # all gone


def load_error(error: OSError) -> str:
    """What the loader of this system says; PyTorch keeps it behind a sentence of its own."""
    return f"the built library does not load: {error.__cause__ or error}"


def _recall(failure: Path, key: str) -> str:
    """The reason an identical build failed before; empty if none did or the note is damaged."""
    try:
        note = json.loads(failure.read_text("utf-8"))
        return str(note["reason"]) if note["key"] == key else ""
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return ""


def _write(path: Path, text: str) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)


def _key(library: Library, tools: Toolchain) -> str:
    """Changes with everything that can change the outcome of a build."""
    parts = [tools.digest, torch.__version__, *compile_flags(), *cuda_flags()]
    digest = hashlib.sha256("\0".join(parts).encode())
    for source in [*library.sources, *library.headers]:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _fingerprint(compiler: str) -> str:
    """Identifies the compiler and, through the macros it defines for this CPU, the CPU."""
    if sys.platform == "win32":
        command = [compiler]  # prints its version and complains that there is nothing to do
    else:
        command = [compiler, _architecture(), "-dM", "-E", "-x", "c++", os.devnull]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"the C++ compiler {compiler} does not run: {error}") from error
    if sys.platform != "win32" and answer.returncode:
        line = answer.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise BuildError(f"the C++ compiler {compiler} does not run: {line}")
    cpu = platform.processor() + torch.backends.cpu.get_cpu_capability()
    return hashlib.sha256(answer.stdout + answer.stderr + cpu.encode()).hexdigest()


def _architecture() -> str:
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return "-mcpu=native"  # Apple's clang learned -march=native for ARM only recently
    return "-march=native"


def _search_path() -> str:
    """PATH, after the folders where pip puts ninja when its environment is not activated."""
    folders = [str(Path(sys.executable).parent), sysconfig.get_path("scripts")]
    return os.pathsep.join([*dict.fromkeys(folders), os.environ.get("PATH", os.defpath)])


def first_error(output: str) -> str:
    """The first line of a compiler's output that says what is wrong, without its place."""
    found = re.search(r"^.*?\b(?:fatal )?error\b(?: C\d+)?:?\s*(.+)$", output, re.MULTILINE)
    lines = [line for line in output.strip().splitlines() if line.strip()]
    line = found[1] if found else (lines[-1] if lines else "no output")
    return line.strip()[:200]
