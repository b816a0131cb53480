"""`styleforge doctor`: reports what this machine can do, and the reasons for any limits."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import app
from app.commands.findings import FAULT, NOTE, OK, Finding
from app.diagnostics.log_file import last_lines, log_path
from app.diagnostics.report import LOG_LINES, report
from app.errors import StyleForgeError
from app.exit_status import DONE
from app.settings import Settings, settings_path
from app.styles.catalog import Catalog, user_folder
from app.unused_gpu import SENTENCE, has_unused_gpu, mending_command
from app.version import styleforge_version
from models.network_config import CONFIGS
from models.precision import Precision
from utils.devices import cuda_unavailable_reason, devices, resolve, title
from utils.files.writable import write_error
from utils.system import WINDOW, has_display, missing, sentence

# Only functions import `kernels`: a foreign package of that name is a finding, not a crash.
if TYPE_CHECKING:
    from kernels.jit.libraries import Library
    from kernels.time_model.cards import Card

ROOT = Path(__file__).parents[2]

STYLES = {OK: "green", NOTE: "yellow", FAULT: "bold red"}
PACKAGES = ("PySide6-Essentials", "opencv-python", "av", "numpy", "pillow", "safetensors")
PROBE_TIMEOUT_S = 60

# Loads Qt's X11 platform plug-in as Qt does, without a display.
PLUGIN_TEST = """
import ctypes, sys
from PySide6 import QtGui
from PySide6.QtCore import QLibraryInfo
folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)
ctypes.CDLL(folder + "/platforms/libqxcb.so")
"""

# Starts Qt on its default platform; a broken platform aborts the process.
PLATFORM_TEST = """
from PySide6.QtGui import QGuiApplication
print(QGuiApplication([]).platformName())
"""


class DoctorError(StyleForgeError):
    """Raised if the doctor cannot answer a request."""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="report what this machine can do, and what is missing",
        description="Checks everything StyleForge depends on. Compiles the native kernels if "
        "necessary. The exit status is 1 if something cannot work.",
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print JSON, for programs")
    forms.add_argument(
        "--report",
        action="store_true",
        help="print a report for a help request: the checks, the settings and the window's last "
        "messages, without the names of your files",
    )
    parser.add_argument(
        "--no-build", action="store_true", help="only report what is ready, without compiling"
    )
    parser.add_argument(
        "--measure",
        action="store_true",
        help="first measure this GPU's frame rates, and store them in place of the predicted ones",
    )
    others = parser.add_mutually_exclusive_group()
    others.add_argument(
        "--card", metavar="NAME", help='only predict the frame rates of a card, such as "RTX 3060"'
    )
    others.add_argument(
        "--cards", action="store_true", help="only predict the frame rates of all known cards"
    )


def run(args: argparse.Namespace) -> int:
    """Run all checks and print them; return 1 if something cannot work, 0 otherwise."""
    if args.card is not None or args.cards:
        return _predict(args)
    if args.measure:
        _measure(resolve("auto"), in_json=args.json)
    checks: dict[str, Callable[[], Iterator[Finding]]] = {
        "Program": check_program,
        "PyTorch": check_torch,
        "Packages": check_packages,
        "Kernels": lambda: check_kernels(build=not args.no_build),
        "Precisions": check_precisions,
        "Compiler": check_compiler,
        "WebGPU": check_webgpu,
        "Speed": check_speed,
        "Cameras": check_cameras,
        "Films": check_films,
        "Window": check_window,
        "Folders": check_folders,
        "Styles": check_styles,
    }
    findings = {topic: run_check(check) for topic, check in checks.items()}
    if args.report:
        _print_report(findings)
    else:
        _print(findings, in_json=args.json)
    faults = any(finding.state == FAULT for found in findings.values() for finding in found)
    return 1 if faults else 0


def _measure(device: torch.device, *, in_json: bool) -> None:
    """Measure the frame rates of a CUDA device, and of the first hardware GPU that WebGPU reaches.

    Raises:
        CardRatesError: If there is neither, or measuring fails.
    """
    from app.commands import webgpu_findings, webgpu_rates
    from app.commands.card_rates import CardRatesError, measure_rates
    from kernels.network.webgpu.library import WebGpuError

    output = sys.stderr if in_json else sys.stdout
    if device.type == "cuda":
        measure_rates(device)
    try:
        adapter = webgpu_rates.first_adapter()
    except WebGpuError as exc:
        if device.type != "cuda":
            raise CardRatesError(
                f"measuring frame rates needs a GPU: PyTorch uses no NVIDIA GPU here, and {exc}"
            ) from exc
        output.write(f"WebGPU was not measured: {exc}\n")
        return
    output.write("WebGPU, for a report of this GPU:\n\n")
    webgpu_rates.measure_webgpu(adapter, tell=lambda line: output.write(f"    {line}\n"))
    output.write(f"    {webgpu_findings.measure_gain()}\n\n")


def _predict(args: argparse.Namespace) -> int:
    """Print predictions for cards that need not be in this machine."""
    from kernels.time_model.cards import cards, find

    try:
        chosen = cards() if args.cards else (find(args.card),)
    except ValueError as exc:
        raise DoctorError(str(exc)) from exc
    _print({card.name: list(check_card(card)) for card in chosen}, in_json=args.json)
    return DONE


def _print(findings: dict[str, list[Finding]], *, in_json: bool) -> None:
    if not in_json:
        Console().print(verdict(findings), markup=False, highlight=False, soft_wrap=True)
        print_findings(findings)
        return
    report = {topic: [asdict(finding) for finding in found] for topic, found in findings.items()}
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


def verdict(findings: dict[str, list[Finding]]) -> str:
    """Return whether StyleForge works on this machine, and where PyTorch computes, as sentences."""
    faulty = [topic for topic, found in findings.items() if any(f.state == FAULT for f in found)]
    if faulty:
        return f"StyleForge cannot do everything here. Look for 'fault' under {', '.join(faulty)}."
    noted = sum(finding.state == NOTE for found in findings.values() for finding in found)
    device = resolve("auto")
    where = "the processor" if device.type == "cpu" else title(device)
    return (
        f"StyleForge works here; PyTorch computes on {where}. "
        f"{'1 note says' if noted == 1 else f'{noted} notes say'} what this machine cannot do."
    )


def _print_report(findings: dict[str, list[Finding]]) -> None:
    settings = Settings.load(settings_path(), lambda sentence: sys.stderr.write(f"{sentence}\n"))
    told = {topic: [(each.state, each.says) for each in found] for topic, found in findings.items()}
    sys.stdout.write(report(told, settings, last_lines(log_path(), LOG_LINES)))


def run_check(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Return all findings of `check`; an ImportError is a fault."""
    found = []
    try:
        for finding in check():
            found.append(finding)  # one by one, to keep findings made before an ImportError
    except ImportError as exc:
        found.append(Finding(FAULT, f"cannot be imported: {exc}"))
    return found


def print_findings(findings: dict[str, list[Finding]]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")  # paths must not be truncated
    for topic, found in findings.items():
        for n, finding in enumerate(found):
            mark = f"[{STYLES[finding.state]}]{finding.state}[/]"
            table.add_row("" if n else topic, mark, escape(finding.says))
    # Lines in a file or a pipe are not wrapped.
    width = None if sys.stdout.isatty() else 400
    Console(highlight=False, emoji=False, width=width).print(table)


def check_program() -> Iterator[Finding]:
    yield Finding(OK, f"StyleForge {styleforge_version()} in {ROOT}")
    yield Finding(OK, f"Python {platform.python_version()}: {sys.executable}")
    yield Finding(OK, platform.platform())


def check_torch() -> Iterator[Finding]:
    """Report PyTorch and its devices."""
    build = f"CUDA {torch.version.cuda}" if torch.version.cuda else "a CPU build"
    yield Finding(OK, f"PyTorch {torch.__version__}, {build}, {torch.get_num_threads()} threads")
    for choice in devices()[1:]:
        yield Finding(OK, f"{choice.key}: {choice.title}")
    if has_unused_gpu():
        yield Finding(NOTE, f"{SENTENCE}. To install the right one: {mending_command()}")
    elif why := cuda_unavailable_reason():
        yield Finding(NOTE, f"PyTorch uses no GPU: {why}")


def check_webgpu() -> Iterator[Finding]:
    """Report the GPUs that WebGPU reaches, see app.commands.webgpu_findings."""
    from app.commands import webgpu_findings

    yield from webgpu_findings.check_webgpu()


def check_packages() -> Iterator[Finding]:
    for name in PACKAGES:
        try:
            yield Finding(OK, f"{name} {version(name)}")
        except PackageNotFoundError:
            yield Finding(FAULT, f"{name} is not installed")


def check_compiler() -> Iterator[Finding]:
    """Report the compilers, for libraries without an image. Runs after check_kernels."""
    from kernels.jit.cuda_tools import find_toolkit
    from kernels.jit.errors import BuildError
    from kernels.jit.libraries import LIBRARIES
    from kernels.jit.toolchain import toolchain

    lacking = _libraries_to_compile()
    try:
        yield Finding(OK, toolchain().compiler)
    except BuildError as exc:
        if lacking:
            yield Finding(NOTE, f"{', '.join(lacking)} cannot be compiled: {exc}")
        else:
            yield Finding(OK, "no C++ compiler is needed")
    try:
        toolkit, release = find_toolkit()
        yield Finding(OK, f"NVRTC {release}: {toolkit.library}")
    except BuildError as exc:
        if cuda := [name for name in lacking if LIBRARIES[name].cuda]:
            yield Finding(NOTE, f"{', '.join(cuda)} cannot be compiled: {exc}")


def check_precisions() -> Iterator[Finding]:
    """Report the precisions that suit each family of networks on the default device, and why.

    On a CPU it may measure, with our kernels if check_kernels has loaded them.
    """
    from app.engine.painting_devices import painting_device, painting_title
    from models.families.table import FAMILIES

    device = painting_device("auto")
    reasons: dict[str, list[str]] = {}
    for family in FAMILIES.values():
        good: list[str] = []
        for each in Precision:
            absent = family.unavailable_options.get("precision", {}).get(each.name, "")
            reason = family.refusal("fused", each, device) or absent or each.remark(device)
            if reason:
                reasons.setdefault(reason, []).append(family.title)
            else:
                good.append(each.title)
        networks = f"{family.title} networks on {painting_title(device)}"
        yield Finding(OK, f"good precisions of {networks}: {', '.join(good)}")
    for reason, titles in reasons.items():
        everywhere = len(titles) == len(FAMILIES)
        yield Finding(NOTE, reason if everywhere else f"{', '.join(titles)}: {reason}")


def _libraries_of_the_program() -> list[Library]:
    """Return all libraries but the operations for any model, without images in the wheel."""
    from kernels.jit.libraries import LIBRARIES
    from kernels.table.registry import GENERAL, OPS

    for_any_model = [op for op in OPS.values() if op.family == GENERAL]
    others = {op.library_on(device) for op in for_any_model for device in ("cpu", "cuda")}
    return [library for name, library in LIBRARIES.items() if name not in others]


def _libraries_to_compile() -> list[str]:
    """Return the program's libraries that need a compiler on this machine."""
    from kernels.jit import build, prebuilt
    from kernels.jit.errors import BuildError, Unsupported

    found = []
    for library in _libraries_of_the_program():
        of_this_machine = library.cpu or torch.cuda.is_available()
        if not of_this_machine or build.reason(library.name) in ("", build.NOT_TESTED):
            continue
        try:
            prebuilt.find(library)
        except Unsupported:  # once compiled, it would not run either
            continue
        except BuildError:
            pass  # no image is usable
        found.append(library.name)
    return found


def check_kernels(*, build: bool) -> Iterator[Finding]:
    """Report which kernels can run on each device; with `build`, compile them first."""
    spec = find_spec(f"{app.__name__.removesuffix('app')}kernels")
    imported = Path(spec.origin).parent if spec and spec.origin else None
    if imported != ROOT / "kernels":
        yield Finding(
            FAULT,
            f"'kernels' is imported from {imported}: another package has the same name; uninstall "
            "it (pip uninstall kernels)",
        )
        return
    yield Finding(OK, f"imported from {imported}")
    from kernels.table.registry import STYLE, TRANSFORMER, prepare, statuses

    families = STYLE, TRANSFORMER  # the program's own operations
    if build:
        with Console(stderr=True).status("Preparing the native kernels ..."):
            for family in families:
                prepare(family=family)
    yield from _libraries()
    for device in dict.fromkeys((torch.device("cpu"), resolve("auto"))):
        for status in (row for family in families for row in statuses(device, family)):
            why = f" ({status.reason})" if status.reason else ""
            says = f"{status.name} on {device.type} runs on {status.runs}{why}"
            yield Finding(OK if status.ready or status.by_choice else NOTE, says)
    yield from _backends(resolve("auto"))
    yield from _tuning(resolve("auto"))


def _libraries() -> Iterator[Finding]:
    """Report the origin of each library in use, and why one has no image."""
    from kernels.jit import build, prebuilt

    for library in _libraries_of_the_program():
        if origin := build.origin(library.name):
            yield Finding(OK, f"library {library.name}: {origin}")
        if library.cpu:
            try:
                prebuilt.find(library)
            except build.BuildError as error:
                severity = OK if isinstance(error, prebuilt.NoImage) else NOTE
                yield Finding(severity, f"library {library.name}: cannot use an image: {error}")


def _backends(device: torch.device) -> Iterator[Finding]:
    """Report the backend of the whole network on a GPU, for each network and dtype."""
    from kernels.network.dispatch import BACKENDS, available

    if device.type != "cuda":
        return
    dtypes = dict.fromkeys(dtype for backend in BACKENDS for dtype in backend.dtypes)
    for (name, network), dtype in itertools.product(CONFIGS.items(), dtypes):
        names = [backend.name for backend in available(network, device, dtype)]
        kind = str(dtype).removeprefix("torch.")
        yield Finding(
            OK if names else NOTE,
            f"{name} network in {kind}: {f'backend {names[0]}' if names else 'layer by layer'}",
        )


def _tuning(device: torch.device) -> Iterator[Finding]:
    """Report the layers tuned for this GPU, or why they are not used."""
    from kernels.jit import build
    from kernels.network.dispatch import tuning
    from kernels.table.registry import NETWORK

    if device.type == "cuda" and not build.reason(NETWORK):
        said = tuning(device) or "no layer is tuned for this card; `styleforge tune` does it"
        yield Finding(NOTE if "not used" in said else OK, said)


def check_speed() -> Iterator[Finding]:
    """Report the frame rates of this machine's GPUs: measured, or predicted until then."""
    device = resolve("auto")
    if device.type == "cuda":
        from app.commands.card_rates import rates_of

        for told in rates_of(device):
            yield Finding(NOTE if isinstance(told, str) else OK, str(told))
    else:
        yield Finding(
            OK,
            "no NVIDIA GPU in use; `styleforge doctor --cards` predicts the frame "
            "rates of known cards",
        )
    yield from _webgpu_speed(only_measured=device.type == "cuda")


def _webgpu_speed(*, only_measured: bool) -> Iterator[Finding]:
    """Report the frame rates of the first hardware GPU through WebGPU, or why there is none.

    With `only_measured`, predictions and remarks are left out: CUDA is faster there.
    """
    from app.commands import webgpu_rates
    from app.commands.card_rates import MEASURED, Rate
    from kernels.network.webgpu.library import WebGpuError

    try:
        adapter = webgpu_rates.first_adapter()
    except WebGpuError as exc:
        if not only_measured:
            yield Finding(OK, f"no GPU through WebGPU: {exc}")
        return
    for told in webgpu_rates.webgpu_rates_of(adapter):
        measured = isinstance(told, Rate) and told.origin == MEASURED
        if measured or not only_measured:
            yield Finding(NOTE if isinstance(told, str) else OK, f"{adapter.name}: {told}")


def check_card(card: Card) -> Iterator[Finding]:
    from app.commands.card_rates import predicted_rates

    try:
        for rate in predicted_rates(card):
            yield Finding(OK, str(rate))
    except ValueError as exc:
        yield Finding(NOTE, f"no prediction: {exc}")


def check_cameras() -> Iterator[Finding]:
    from app.sources.camera import list_cameras

    cameras = list_cameras()
    for camera in cameras:
        yield Finding(OK, f"camera:{camera.index}: {camera.name}")
    if not cameras:
        yield Finding(NOTE, "none found; the window opens with the built-in scene")


def check_films() -> Iterator[Finding]:
    """Report the encoders for films, and why hardware encoders are unusable."""
    from app.export.film.codecs import CODECS, encoder_fault

    works: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for codec in CODECS.values():
        for encoder in codec.encoders:
            titles = works.setdefault(encoder.device, [])
            if fault := encoder_fault(encoder, (1280, 720)):
                reasons.setdefault(encoder.device, fault)
            else:
                titles.append(codec.title)
    for device, titles in sorted(works.items(), key=lambda row: not row[1]):
        if titles:
            yield Finding(OK, f"{device}: encodes {', '.join(titles)}")
        else:
            yield Finding(NOTE, f"no encoder of {reasons[device]}")


def check_window() -> Iterator[Finding]:
    """Check in child processes whether Qt can open a window, because a broken platform aborts."""
    if absent := missing(sound=True):
        broken = any(item.purpose == WINDOW for item in absent)
        yield Finding(FAULT if broken else NOTE, sentence(absent))
    if sys.platform.startswith("linux"):
        _, fault = _run_python(PLUGIN_TEST)
        says = f"Qt's X11 plug-in cannot be loaded: {fault}" if fault else "the X11 plug-in loads"
        yield Finding(FAULT if fault else OK, says)
    if not has_display():
        name = os.environ.get("DISPLAY")
        why = f"the display '{name}' does not answer" if name else "there is no display"
        yield Finding(NOTE, f"{why}; `styleforge stylize` works without one")
        return
    name, fault = _run_python(PLATFORM_TEST)
    says = f"Qt cannot open the display: {fault}" if fault else f"Qt runs on '{name}'"
    yield Finding(FAULT if fault else OK, says)


def check_folders() -> Iterator[Finding]:
    """Check whether the user's folders are writable."""
    from kernels.jit.build import cache

    folders = {
        "settings": settings_path().parent,
        "log": log_path().parent,
        "styles": user_folder(),
        "compiled kernels": cache(),
    }
    for name, folder in folders.items():
        why = write_error(folder)
        says = f"{name}: {folder} is not writable: {why}" if why else f"{name}: {folder}"
        yield Finding(FAULT if why else OK, says)


def check_styles() -> Iterator[Finding]:
    """Report the installed styles, and the unreadable packs."""
    catalog = Catalog.default()
    if catalog.styles:
        yield Finding(OK, ", ".join(style.key for style in catalog.styles))
    else:
        yield Finding(FAULT, "no style found; install StyleForge again")
    for broken in catalog.broken:
        yield Finding(NOTE, broken)


def _run_python(code: str) -> tuple[str, str]:
    """Run `code` in a separate Python process; return its last line of output, and the fault."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {PROBE_TIMEOUT_S} s"
    lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
    if done.returncode:
        return "", lines[-1] if lines else f"ended with status {done.returncode}"
    return lines[-1] if lines else "", ""
