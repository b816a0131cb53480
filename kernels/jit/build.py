"""The only access to native code: it finds or builds, caches and loads every library.

It uses an image that came with the program if the sources are unchanged. Otherwise it compiles the
library, if there is a compiler. STYLEFORGE_BUILD=1 compiles in any case.

A child process compiles a library into its own folder, and tests it there against its references.
Only then is it moved into the cache, under a name that encodes its sources and target. For CUDA
sources it is a folder of images, like the images that come with the program. A killed build leaves
nothing that disturbs the next one.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import logging
import os
import shutil
import stat
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import platformdirs
import torch
from filelock import FileLock, Timeout

from kernels.jit import nvrtc, prebuilt, subprocesses
from kernels.jit.cuda_tools import cuda_tools
from kernels.jit.errors import BuildError as BuildError
from kernels.jit.errors import CachedFailure, Damaged, Exposed, Unsupported
from kernels.jit.libraries import LIBRARIES, Library, is_exact
from kernels.jit.openmp import use_openmp
from kernels.jit.permissions import refuse_writable_by_others
from kernels.jit.subprocesses import stop as stop
from kernels.jit.toolchain import (
    SUFFIX,
    Toolchain,
    compile_flags,
    load_error,
)
from kernels.jit.toolchain import toolchain as toolchain
from utils.files import small_json
from utils.files.atomic import atomic_write, sync
from utils.files.regular import read_regular
from utils.translation.joints import clauses
from utils.translation.texts import mark, tr

log = logging.getLogger("styleforge.kernels")

ROOT = Path(__file__).resolve().parents[__name__.count(".")]  # where `-m` finds this package
WORKER = f"{__name__.removesuffix('jit.build')}self_test.compile_worker"
_MAX_NOTE = 1 << 16  # bytes of a verdict, a failure or a digest
LOCK_LIMIT = 330.0  # seconds to wait for another process that is building the same library

# Callers compare these with `reason`, so they are translated only for display.
NOT_BUILT = mark("not built yet")
NOT_TESTED = mark("not tested on this machine yet")
BUILDING = mark("building")

_handles: dict[str, Any] = {}  # libraries in use, by name
_origins: dict[str, str] = {}  # by library in use: its origin, in words
_reasons: dict[str, str] = {}  # by library: why it is not in use; empty once it is
_looked: set[str] = set()  # libraries that `load_built` has looked for
_loading = threading.RLock()


def reason(name: str) -> str:
    """Return why the library `name` is not in use; "" if it is.

    Display it with `tr`, because NOT_BUILT, NOT_TESTED and BUILDING are in English.
    """
    return _reasons.get(name, NOT_BUILT)


def reasons() -> dict[str, str]:
    return dict(_reasons)


def origin(name: str) -> str:
    """Return where the library `name` comes from; "" if it is not in use."""
    return _origins.get(name, "") if reason(name) == "" else ""


def load(name: str, *, force: bool = False) -> bool:
    """Build `name` if the cache has no build of it, and load it; return whether it is in use.

    Blocks while the compiler runs. `reason` says why it fails; `force` ignores a stored failure.
    """
    with _loading:
        if reason(name) == "":
            return True
        _reasons[name] = BUILDING
        return _attempt(name, force=force, compiles=True, tests=True)


def load_built(name: str, *, tests: bool = False) -> bool:
    """Load `name` if it came with the program or the cache has a build; return if in use.

    It compiles nothing and waits for no build. It looks only once; `load` loads later builds.
    `tests` first tests an image that was never used on this machine, which takes seconds.
    """
    if reason(name) == "":
        return True
    if name in _looked or not _loading.acquire(blocking=False):
        return False  # not built, or another thread is building it
    try:
        untried = NOT_TESTED if tests else NOT_BUILT
        if reason(name) not in (NOT_BUILT, untried) or name in _looked:
            return reason(name) == ""
        loaded = _attempt(name, force=False, compiles=False, tests=tests)
        if reason(name) != NOT_TESTED:
            _looked.add(name)
        return loaded
    finally:
        _loading.release()


def handle(name: str) -> Any:
    """Return the loaded library `name`, to call its C functions.

    The result is a ctypes.CDLL for the CPU, and a `PerDevice` of kernels.driver.prebuilt for GPUs.

    Raises:
        KeyError: If the library is not in use.
    """
    return _handles[name]


def adopt(name: str, library: Any) -> None:
    """Use a loaded library as `name`.

    Raises:
        BuildError: If a CPU library has no threads to run on.
    """
    if LIBRARIES[name].cpu:
        use_openmp(library)
    _handles[name] = library
    _reasons[name] = ""


def cache() -> Path:
    """Return the folder of built libraries: per user, or under STYLEFORGE_CACHE."""
    root = os.environ.get("STYLEFORGE_CACHE")
    base = Path(root) if root else platformdirs.user_cache_path("styleforge", appauthor=False)
    return base.absolute() / "kernels"


def _attempt(name: str, *, force: bool, compiles: bool, tests: bool) -> bool:
    try:
        if name not in LIBRARIES:
            raise BuildError(f"there is no library '{name}'")
        _load(LIBRARIES[name], force, compiles, tests)
    except BuildError as error:
        log.info("%s: %s", name, error)
        _reasons[name] = str(error)
    except OSError as error:
        _reasons[name] = tr(
            "cannot use the kernel cache {folder}: {error}",
            folder=cache(),
            error=error.strerror or error,
        )
    except BaseException:
        _reasons[name] = NOT_BUILT
        raise
    else:
        _reasons[name] = ""
    return _reasons[name] == ""


def _load(library: Library, force: bool, compiles: bool, tests: bool) -> None:
    if os.environ.get("STYLEFORGE_BUILD"):
        return _load_build(library, force, compiles)
    try:
        return _load_image(library, force, tests)
    except (NotTested, Unsupported):
        raise
    except prebuilt.NoImage:
        return _load_build(library, force, compiles)
    except BuildError as error:
        log.info("%s: %s", library.name, error)
        try:
            return _load_build(library, force, compiles)
        except BuildError as second:
            if str(second) == NOT_BUILT:
                raise BuildError(str(error)) from error
            raise BuildError(clauses((tr(str(error)), tr(str(second))))) from second


class NotTested(BuildError):
    """Raised for an image that was never used on this machine."""


def _load_image(library: Library, force: bool, tests: bool) -> None:
    image = prebuilt.find(library)
    key = hashlib.sha256(image.identity.encode()).hexdigest()
    record = cache() / f"{library.name}.tested.json"
    verdict = None if force else _recall(record, key)
    if verdict is None:
        if not tests:
            raise NotTested(NOT_TESTED)
        verdict = _test_image(library, image)
        try:
            _make_folder(record.parent)
            _note(record, key, verdict)
        except OSError as error:  # the next load tests it again
            log.info("%s: cannot store that it passed the self-test: %s", library.name, error)
    if verdict:
        raise BuildError(verdict)
    adopt(library.name, image.load())
    _origins[library.name] = f"image {image.made_for}"


def _test_image(library: Library, image: prebuilt.Image) -> str:
    with tempfile.TemporaryDirectory(prefix=f"{library.name}.test-") as folder:
        arguments = [library.name, folder, "--images", str(prebuilt.IMAGES)]
        try:
            outcome = _run_worker(arguments, dict(os.environ), Path(folder), Path(folder) / "log")
        except CachedFailure as error:
            return f"the image {image.name} cannot be used: {error}"
        return outcome["reason"]


def _load_build(library: Library, force: bool, compiles: bool) -> None:
    tools = toolchain()
    key = _key_of_cuda(library, tools) if library.cuda else _key(library, tools)
    folder = cache()
    built = folder / f"{library.name}-{key[:16]}{'' if library.cuda else SUFFIX}"
    if folder.exists():  # a build in a folder that others can write to would not be loaded either
        refuse_writable_by_others(folder)
    fresh = not built.exists()
    if fresh and not compiles:
        raise BuildError(_recall(folder / f"{library.name}.failed.json", key) or NOT_BUILT)
    if fresh:
        _build_locked(library, tools, key, built, force)
    try:
        refuse_writable_by_others(built)
        if library.cpu:
            _check_digest(built)
        adopt(library.name, load_built_file(library, built))
        _origins[library.name] = "compiled on this machine"
    except (Damaged, Exposed, prebuilt.NoImage) as error:
        # The child loaded it once; since then it was changed, or could have been.
        log.info("%s: %s", library.name, error)
        _remove(built)
        if fresh:
            raise
        _load_build(library, force, compiles)


def _digest_of(built: Path) -> Path:
    return built.with_name(f"{built.name}.sha256")


def _check_digest(built: Path) -> None:
    """Compare a shared library with the digest stored when it passed its test.

    Raises:
        Damaged: If the library is another file.
        Exposed: If other users can write to the digest.
    """
    noted = _digest_of(built)
    refuse_writable_by_others(noted)
    try:
        expected = read_regular(noted, _MAX_NOTE).decode("ascii", "replace")
        same = hashlib.sha256(built.read_bytes()).hexdigest() == expected
    except OSError as error:
        raise Damaged(
            tr("{path} cannot be read: {error}", path=built, error=error.strerror)
        ) from error
    if not same:
        raise Damaged(tr("{path} is damaged: it differs from the compiled file", path=built))


def load_built_file(library: Library, built: Path) -> Any:
    """Load a build, which the caller has checked, as `handle` returns it.

    `built` is a shared library or, for CUDA sources, a folder of images.

    Raises:
        Damaged: If the file differs from the build.
        BuildError: If the build cannot be used for another reason.
    """
    if library.cuda:
        return prebuilt.find(library, built).load()
    try:
        return ctypes.CDLL(str(built))
    except OSError as error:
        raise Damaged(load_error(error)) from error


def _remove(built: Path) -> None:
    if built.is_dir() and not built.is_symlink():
        shutil.rmtree(built)
    else:
        built.unlink(missing_ok=True)
        _digest_of(built).unlink(missing_ok=True)


def _close_to_others(path: Path) -> None:
    """Remove others' write permission, which a permissive umask grants."""
    path.chmod(path.stat().st_mode & ~(stat.S_IWGRP | stat.S_IWOTH))


def _make_folder(folder: Path) -> None:
    for each in reversed((folder, *folder.parents)):
        if not each.exists():
            each.mkdir(mode=0o755, exist_ok=True)
            _close_to_others(each)


def _keep(library: Path, built: Path) -> None:
    """Move a build to `built`, with its digest; a power failure leaves all of it or none."""
    inside = sorted(library.rglob("*")) if library.is_dir() else []
    for each in (*inside, library):
        _close_to_others(each)
        sync(each)
    if library.is_file():
        digest = hashlib.sha256(library.read_bytes()).hexdigest()
        atomic_write(_digest_of(built), digest.encode())
        _close_to_others(_digest_of(built))
    library.replace(built)
    sync(built.parent)


def _build_locked(library: Library, tools: Toolchain, key: str, built: Path, force: bool) -> None:
    folder = built.parent
    _make_folder(folder)
    refuse_writable_by_others(folder)
    failure = folder / f"{library.name}.failed.json"
    lock = FileLock(folder / f"{library.name}.lock", timeout=LOCK_LIMIT)
    try:
        lock.acquire()
    except Timeout as error:
        raise BuildError(tr("another process has been building it for too long")) from error
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
            _note(failure, key, str(error))
            raise
        failure.unlink(missing_ok=True)
    finally:
        lock.release()


def _build(library: Library, tools: Toolchain, built: Path) -> None:
    temporary = Path(tempfile.mkdtemp(prefix=f"{library.name}.build-", dir=built.parent))
    logfile = built.parent / f"{library.name}.log"
    arguments = [library.name, str(temporary), *map(str, library.sources)]
    environment = dict(os.environ, CXX=tools.compiler)
    try:
        outcome = _run_worker(arguments, environment, temporary, logfile)
        if outcome["reason"]:
            raise CachedFailure(outcome["reason"])
        _keep(Path(outcome["library"]), built)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _run_worker(
    arguments: list[str], environment: dict[str, str], folder: Path, logfile: Path
) -> dict[str, str]:
    """Run the compile worker; return the result that it stored in `folder`.

    Raises:
        CachedFailure: If the worker ended without a result.
    """
    # The child imports the same `kernels` as this process, wherever either was started.
    paths = [str(ROOT), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    command = [sys.executable, "-m", WORKER, *arguments]
    code = subprocesses.run(command, environment, ROOT, logfile)
    result = folder / "result.json"
    if not result.exists():
        doing = "testing" if "--images" in arguments else "compiling"
        failed = "test" if doing == "testing" else "build"
        raise CachedFailure(f"{failed} failed: the {doing} process ended with code {code}")
    return small_json.load(result)


def _recall(note: Path, key: str) -> str | None:
    """Return the reason noted for this key; None without a note that can be trusted."""
    try:
        refuse_writable_by_others(note)
        told = small_json.load(note, _MAX_NOTE)
        return str(told["reason"]) if told["key"] == key else None
    except (BuildError, OSError, ValueError, KeyError, TypeError):
        return None


def _note(note: Path, key: str, reason: str) -> None:
    atomic_write(note, json.dumps({"key": key, "reason": reason}).encode())
    _close_to_others(note)


def _key(library: Library, tools: Toolchain) -> str:
    exact = any(map(is_exact, library.sources))
    parts = [tools.digest, torch.__version__, *compile_flags(exact=exact)]
    digest = hashlib.sha256("\0".join(parts).encode())
    for source in [*library.sources, *library.headers]:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _key_of_cuda(library: Library, tools: Toolchain) -> str:
    found = cuda_tools()
    capabilities = (f"{major}.{minor}" for major, minor in found.capabilities)
    parts = [tools.digest, torch.__version__, found.release, *map(str, found.toolkit.headers)]
    parts += [*capabilities, *nvrtc.OPTIONS, *found.defines, library.digest]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
