"""Errors as values that the window and the command line can show, with advice for each."""

from __future__ import annotations

import errno
import traceback
from dataclasses import dataclass

from utils.text import printable
from utils.translation.joints import labeled
from utils.translation.texts import tr

MAX_MESSAGE_LENGTH = 4000  # characters; a message may contain two whole paths
_DETAILS = "_details"  # attribute of an exception with its formatted traceback


class StyleForgeError(Exception):
    """Base class of the application's errors: faults that the user can act on.

    The message is one sentence that names the object and its fault. The program shows it unchanged.
    """


def format_details(exc: BaseException) -> str:
    """Return a traceback as text; the first call reads source files: not on the GUI thread."""
    details: str | None = getattr(exc, _DETAILS, None)
    if details is None:
        details = "".join(traceback.format_exception(exc))
        setattr(exc, _DETAILS, details)
    return details


@dataclass(frozen=True, slots=True)
class Problem:
    """An error to show.

    Attributes:
        summary: One line for the user.
        advice: What to do next, as a sentence; empty only if the summary says it.
    """

    summary: str
    details: str = ""
    advice: str = ""

    @classmethod
    def of(cls, exc: BaseException, *, failure: str) -> Problem:
        """Make a problem in the window's language; `failure` says what failed."""
        said = labeled(tr(failure), str(exc))
        summary = printable(said, MAX_MESSAGE_LENGTH)
        return cls(summary, format_details(exc), tr(advice_for(exc)))


def advice_for(exc: BaseException) -> str:
    """Return what to do about `exc`: ADVICE for the class, its nearest base, or else the cause."""
    cause: BaseException | None = exc
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            return DISK_FULL
        for base in type(cause).__mro__:
            if base.__name__ in ADVICE:
                return ADVICE[base.__name__]
        cause = cause.__cause__
    return CORRECT if isinstance(exc, StyleForgeError) else ASK_FOR_HELP


DISK_FULL = "Free some space on the disk, or choose a folder on another one."
CORRECT = (
    "Correct what is named; `styleforge doctor` tells what this machine lacks, and --help what "
    "can be chosen."
)
ASK_FOR_HELP = (
    "Try again. If it fails again, ask for help with a report: Ctrl+F1 in the window, or "
    "`styleforge doctor --report`."
)

# Advice by the name of an error's class; the nearest base with an entry counts. The keys are names
# because this module is below the ones that define the classes. A test walks all classes.
ADVICE = {
    # The window and the commands
    "EngineError": "Choose another style, precision or engine; `styleforge doctor` tells what "
    "runs on this machine.",
    "StyleError": "Choose another style. One that is damaged can be installed again, or removed "
    "(`styleforge styles`).",
    "FeedLost": "Check the camera or the address, close other programs that use it, or open "
    "another source.",
    "SoundError": "Choose another device for sound in the system's settings, or mute the film.",
    "FilmError": "Choose another codec, encoder or kind of file; `styleforge doctor` lists under "
    "Films what can be encoded here.",
    "FilmCancelled": "Start the export again: it goes on with the parts that are complete.",
    "ColorError": "Convert the film to ordinary colors (BT.709) with another program first.",
    "RecordingError": "What was recorded until then is kept. Check the disk, then record again.",
    "VirtualCameraError": "Check that the driver of the virtual camera is installed, and that no "
    "other program sends to it.",
    "LookError": "Choose the values by hand, and save the look again (Ctrl+D).",
    "WipeError": "Choose another folder or kind of file, then save it again.",
    "RunError": "Close other windows of StyleForge, check the free space of the disk, then resume "
    "the training.",
    "DamagedRunError": "Delete this run and train again; complete weights can be installed.",
    "ExportError": "Choose another name, size or format; `styleforge export --help` lists them.",
    "QueueError": "`styleforge queue list` shows the jobs and why one failed.",
    "ManifestError": "The folder must hold the manifests of one run, all of the same version.",
    "ShardError": "Write the shard as 2/8, or start this with torchrun, SLURM or Kubernetes.",
    "StylistError": "The message names the values that are allowed; see Stylist in the reference.",
    "StylizeError": "Correct the flag or the file that is named; `styleforge stylize --help` "
    "describes all flags.",
    "Stopped": "Run the same command again: what is done already is kept.",
    "CrewError": "Run the command again with --device naming one device, and see whether it fails "
    "there too.",
    "ClusterError": "Check with `ray status` that the cluster answers, then run the command again.",
    "StreamError": "Check with `styleforge camera --help` the size, rate and device of the camera.",
    "ServeError": "Check port and packages that are named, then start the server again.",
    "AddressError": "Choose a free port with --port 0, or end the program that uses this one.",
    "TokenError": "Correct the file that is named, or leave it out: a new token is made then.",
    "OptionError": "The message names the options that are allowed; /docs describes all.",
    "Refused": "Send less at a time, or wait; the limits are flags of `styleforge serve`.",
    "QualityError": "Correct the photographs, films or weights that are named, then measure again.",
    "BenchError": "Choose another size, style or device; `styleforge bench --help` describes them.",
    "TuneError": "Tuning is needed on NVIDIA cards only, and writes into the folder of the user.",
    "CardRatesError": "Measure on a machine with an NVIDIA card; `styleforge doctor --cards` "
    "predicts for others.",
    "DoctorError": "`styleforge doctor --cards` lists the cards that are known.",
    "ReportError": "Run `styleforge doctor --report` in a terminal, which shows more.",
    # Networks, kernels and files
    "TrainingError": "Correct the setting or the file that is named, then resume: the last "
    "checkpoint is kept.",
    "LayoutError": "Choose the whole file of VGG-19, or one of your own.",
    "NoRangesError": "Download the whole file of VGG-19, or choose one of your own.",
    "CheckpointError": "Download or copy the file again; weights are .pth or .safetensors files of "
    "a style network.",
    "UnsafeFileError": "Use a .safetensors file from a source that you trust.",
    "RuntimeFault": "Choose another engine: StyleForge's own runs every style.",
    "ImageError": "Open the picture in another program and save it again as PNG or JPEG.",
    "LockedError": "Wait for the other process, or end it, then try again.",
    "BuildError": "`styleforge doctor` tells why, and what to install; until then PyTorch's "
    "kernels run instead.",
    "KernelUnavailable": "`styleforge doctor` tells which kernels run on this machine, and why.",
    "CompilationError": "Run `styleforge doctor`, and report its text: the compiler refused the "
    "program's own code.",
    "TuningError": "Choose a network and a card that run on the general path, or leave tuning out.",
    "DoesNotFit": "Choose a smaller tile or network.",
    "StateError": "Start the film or the stream again.",
    "HubError": "Install the package that is named, or pass --random-weights.",
    # Python, PyTorch and the system
    "FileNotFoundError": "Check the name: the file may have been moved, or its disk removed.",
    "FileExistsError": "Choose another name, or delete what is there.",
    "PermissionError": "Choose another folder, or ask its owner for permission.",
    "ConnectionError": "Check the address and the network, then try again.",
    "TimeoutError": "Check the address and the network, then try again.",
    "ImportError": "`styleforge doctor` tells which package or system library is missing.",
    "MemoryError": "Choose a smaller size, or close other programs.",
    "OutOfMemoryError": "Choose a smaller size or the fast version of the style, or close other "
    "programs that use the graphics card.",
    "OSError": "Check that the disk or device is still there and has space, then try again.",
}
