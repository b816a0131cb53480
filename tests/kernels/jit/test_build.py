from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from kernels.jit import build, subprocesses, toolchain
from kernels.jit.errors import BuildError
from kernels.jit.libraries import LIBRARIES, Library
from kernels.self_test import compile_worker
from kernels.table.operation import OPS, Operation
from kernels.table.parts import Cpu

LIBRARY = "instance_norm"  # a name with operations; its sources are replaced below

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the compilers here are scripts")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache, with a registry that has loaded nothing."""
    monkeypatch.setenv("STYLEFORGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "_reasons", {})
    monkeypatch.setattr(subprocesses, "_stopped", threading.Event())
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the library's one source, for the test to write; it needs no PyTorch header."""
    path = tmp_path / "kernel.cpp"
    monkeypatch.setitem(LIBRARIES, LIBRARY, Library(LIBRARY, (str(path),)))
    return path


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a compiler that answers queries at once and fails to compile."""
    return script(tmp_path, monkeypatch, 'echo "kernel.cpp:7:3: error: no such thing" >&2; exit 1')


def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiling: str) -> Path:
    path = tmp_path / "c++"
    trace = tmp_path / "compilations"
    path.write_text(
        "#!/bin/sh\n"
        # A query for its macros. The spaces matter: the name of a folder may contain "-v" too.
        "case \"$*\" in *' -dM '*) echo '#define __VERSION__ 1'; exit 0;; esac\n"
        f"echo compile >> '{trace}'\n"
        f"{compiling}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CXX", str(path))
    return path


def compilations(tmp_path: Path) -> int:
    trace = tmp_path / "compilations"
    return len(trace.read_text().splitlines()) if trace.exists() else 0


def test_without_a_compiler_the_reason_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert build.reason(LIBRARY) == "not built yet"
    assert not build.load(LIBRARY)
    assert build.reason(LIBRARY) == "no C++ compiler found: install g++"


def test_a_library_without_a_source_is_named():
    assert not build.load("typo")
    assert build.reason("typo") == "there is no library 'typo'"


def test_a_compiler_that_does_not_run_is_named(monkeypatch, tmp_path):
    path = tmp_path / "c++"
    path.write_text("#!/bin/sh\necho 'no licence' >&2; exit 3\n")
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))
    assert not build.load(LIBRARY)
    assert build.reason(LIBRARY) == f"the C++ compiler {path} does not run: no licence"


@pytest.mark.full
def test_a_failed_build_is_remembered_until_something_changes(
    tmp_path, source, compiler, monkeypatch
):
    source.write_text("int broken")
    reason = "build failed: no such thing"
    assert not build.load(LIBRARY)
    assert build.reason(LIBRARY) == reason
    assert compilations(tmp_path) == 1
    # The same again, also in a process without memory of it: not compiled.
    monkeypatch.setattr(build, "_reasons", {})
    assert not build.load(LIBRARY)
    assert (build.reason(LIBRARY), compilations(tmp_path)) == (reason, 1)
    assert not build.load(LIBRARY, force=True)
    assert compilations(tmp_path) == 2
    # Another source: compiled. Another compiler: compiled.
    source.write_text("int broken_otherwise")
    assert not build.load(LIBRARY)
    assert compilations(tmp_path) == 3
    compiler.write_text(compiler.read_text().replace("__VERSION__ 1", "__VERSION__ 2"))
    assert not build.load(LIBRARY)
    assert compilations(tmp_path) == 4


@pytest.mark.full
def test_a_damaged_note_of_a_failure_is_ignored(tmp_path, source, compiler, empty_cache):
    source.write_text("int broken")
    build.load(LIBRARY)
    (empty_cache / f"{LIBRARY}.failed.json").write_text("{")
    build.load(LIBRARY)
    assert compilations(tmp_path) == 2


@pytest.mark.full
def test_the_log_of_a_failed_build_is_kept_and_nothing_else(source, compiler, empty_cache):
    source.write_text("int broken")
    build.load(LIBRARY)
    assert "no such thing" in (empty_cache / f"{LIBRARY}.log").read_text()
    left = {path.name for path in empty_cache.iterdir()} - {f"{LIBRARY}.lock"}
    assert left == {f"{LIBRARY}.log", f"{LIBRARY}.failed.json"}


def test_a_build_has_a_time_limit(source, compiler, monkeypatch, empty_cache):
    source.write_text("int slow;")
    monkeypatch.setattr(subprocesses, "TIME_LIMIT", 0.1)  # Python alone takes longer to start
    assert not build.load(LIBRARY)
    assert build.reason(LIBRARY) == "build took longer than 0 seconds"
    assert not list(empty_cache.glob("*.build-*"))


@pytest.mark.full
def test_at_the_time_limit_nothing_that_was_started_survives(tmp_path, monkeypatch):
    pid = tmp_path / "pid"
    monkeypatch.setattr(subprocesses, "TIME_LIMIT", 1.0)
    command = ["sh", "-c", f"sleep 600 & echo $! > '{pid}'; wait"]
    with pytest.raises(BuildError, match="took longer than 1 seconds"):
        subprocesses.run(command, dict(os.environ), tmp_path, tmp_path / "log")
    assert gone(int(pid.read_text()))


@pytest.mark.full
def test_closing_the_program_ends_a_running_build(tmp_path, source, monkeypatch, empty_cache):
    source.write_text("int slow;")
    pid = tmp_path / "pid"
    script(tmp_path, monkeypatch, f"echo $$ > '{pid}'; sleep 600")
    thread = threading.Thread(target=build.load, args=(LIBRARY,))
    thread.start()
    wait_for(pid.exists)
    assert build.reason(LIBRARY) == "building"
    build.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert build.reason(LIBRARY) == "stopped, because the program is closing"
    assert not (empty_cache / f"{LIBRARY}.failed.json").exists()
    assert gone(int(pid.read_text()))


@pytest.mark.full
def test_a_killed_build_does_not_hinder_the_next(source, compiler, empty_cache):
    source.write_text("int broken")
    leftover = empty_cache / f"{LIBRARY}.build-killed"
    leftover.mkdir(parents=True)
    (leftover / "lock").touch()  # PyTorch's own lock file, which would block it forever
    (empty_cache / f"{LIBRARY}.lock").touch()  # ours; the lock died with its process
    started = time.monotonic()
    assert not build.load(LIBRARY)
    assert build.reason(LIBRARY) == "build failed: no such thing"
    assert time.monotonic() - started < 60
    assert not leftover.exists()


def test_another_process_that_builds_for_too_long_is_not_waited_for(
    source, monkeypatch, empty_cache
):
    source.write_text("int x;")
    empty_cache.mkdir(parents=True)
    monkeypatch.setattr(build, "LOCK_LIMIT", 0.2)
    with FileLock(empty_cache / f"{LIBRARY}.lock"):
        holder = threading.Thread(target=build.load, args=(LIBRARY,))
        holder.start()
        holder.join(20)
    assert build.reason(LIBRARY) == "another process has been building it for too long"


def test_a_cache_that_cannot_be_written_is_named(source, tmp_path):
    source.write_text("int x;")
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert not build.load(LIBRARY)
    assert build.reason(LIBRARY).startswith(f"cannot use the kernel cache {tmp_path}")


@pytest.fixture
def real_compiler() -> None:
    try:
        toolchain.toolchain()
    except BuildError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("real_compiler")
def test_the_first_error_of_the_compiler_is_the_reason(source):
    source.write_text("int f() { return undeclared_name; }\n")
    assert not build.load(LIBRARY)
    assert build.reason(LIBRARY).startswith("build failed: ")
    assert "undeclared_name" in build.reason(LIBRARY)


@pytest.mark.full
@pytest.mark.usefixtures("real_compiler")
def test_a_library_that_does_not_load_is_no_kernel(source):
    source.write_text('extern "C" int missing(); struct S { S() { missing(); } } s;\n')
    assert not build.load(LIBRARY)
    assert build.reason(LIBRARY).startswith("the built library does not load: ")
    assert "missing" in build.reason(LIBRARY)


@pytest.mark.full
@pytest.mark.usefixtures("real_compiler")
def test_a_library_that_crashes_ends_its_own_process_only(source):
    source.write_text("#include <cstdlib>\nstruct S { S() { abort(); } } s;\n")
    assert not build.load(LIBRARY)
    assert "the compiling process ended with code" in build.reason(LIBRARY)


@pytest.mark.full
@pytest.mark.usefixtures("real_compiler")
def test_a_library_without_its_kernels_fails_the_self_test(source, empty_cache):
    source.write_text("int x;\n")
    assert not build.load(LIBRARY)
    reason = build.reason(LIBRARY)
    assert reason.startswith("self-test failed: no kernel for fused_instance_norm: ")
    assert "styleforge_instance_norm_float32" in reason
    assert not list(empty_cache.glob(f"*{toolchain.SUFFIX}"))


def self_tested(name: str, native: float) -> Operation:
    """Return a doubling operation whose native kernel multiplies by `native`."""

    def reference(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def signature(x: torch.Tensor) -> torch.Tensor: ...

    signature.__name__ = name
    Operation(
        reference=reference,
        samples=lambda: [(torch.ones(3),)],
        cpu=Cpu("doubling", lambda _, x: x * native),
    )(signature)
    return OPS.pop(name)


def test_the_self_test_accepts_rounding_and_nothing_more(monkeypatch):
    with pytest.raises(BuildError, match="self-test failed: the library has no kernel for doubles"):
        compile_worker.self_test([self_tested("doubles", 2.0)])
    monkeypatch.setitem(build._reasons, "doubling", "")
    monkeypatch.setitem(build._handles, "doubling", object())
    compile_worker.self_test([self_tested("rounds", 2 * (1 + 1e-7))])
    with pytest.raises(BuildError, match=r"self-test failed: triples is .* further from"):
        compile_worker.self_test([self_tested("triples", 3.0)])
    with pytest.raises(BuildError, match="self-test failed: spoils is inf times"):
        compile_worker.self_test([self_tested("spoils", float("nan"))])


def test_a_cached_library_is_loaded_without_building(native_kernels, monkeypatch):
    if not native_kernels[0].ready:
        pytest.skip(native_kernels[0].reason)
    monkeypatch.delenv("STYLEFORGE_CACHE")
    monkeypatch.setenv("STYLEFORGE_CACHE", str(SHARED))
    monkeypatch.setattr(build, "_build", lambda *_: pytest.fail("built again"))
    assert build.load(LIBRARY)
    assert build.reason(LIBRARY) == ""


@pytest.mark.full
def test_importing_and_calling_never_builds(tmp_path):
    code = (
        "import sys, torch, kernel_fusion as kf\n"
        "assert not kf.EXTENSION_LOADED\n"
        "kf.ops.fused_instance_norm(torch.randn(1, 3, 8, 8))\n"
        "assert not kf.EXTENSION_LOADED\n"
        "assert 'torch.utils.cpp_extension' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
    assert not (tmp_path / "cache").exists()


@pytest.mark.full
@pytest.mark.usefixtures("native_kernels")
def test_a_damaged_library_in_the_cache_is_built_again(source, compiler, empty_cache):
    source.write_text("int x;")
    key = build._key(LIBRARIES[LIBRARY], toolchain.toolchain())
    damaged = empty_cache / f"{LIBRARY}-{key[:16]}{toolchain.SUFFIX}"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"not a library")
    assert not build.load(LIBRARY)
    assert build.reason(LIBRARY) == "build failed: no such thing"
    assert not damaged.exists()
    assert json.loads((empty_cache / f"{LIBRARY}.failed.json").read_text())["key"] == key


SHARED = os.environ["STYLEFORGE_CACHE"]  # set by conftest, before a test changes it


def gone(pid: int) -> bool:
    """Return whether the process ends within a moment."""

    def ended() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        # An orphan that has ended may still be a zombie.
        state = Path(f"/proc/{pid}/stat")
        return state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z"

    return wait_for(ended)


def wait_for(condition) -> bool:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return True
