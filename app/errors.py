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
    """Return a traceback as text.

    Call this on a worker thread, not on the GUI thread: the first call reads source files.
    """
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
        at_fault: Whether the program is at fault, so that a report helps.
        of_source: Whether a source could not be opened, so that another one helps.
    """

    summary: str
    details: str = ""
    advice: str = ""
    at_fault: bool = False
    of_source: bool = False

    @classmethod
    def of(cls, exc: BaseException, *, failure: str, of_source: bool = False) -> Problem:
        """Make a problem in the window's language; `failure` says what failed."""
        said = labeled(tr(failure), str(exc))
        summary, advice = printable(said, MAX_MESSAGE_LENGTH), advice_for(exc)
        at_fault = advice == ASK_FOR_HELP
        shown = tr(IN_WINDOW.get(advice, advice))
        return cls(summary, format_details(exc), shown, at_fault, of_source)


def advice_for(exc: BaseException) -> str:
    """Return what the user can do about `exc`.

    This is the row of ADVICE for its class or nearest base class, or for its cause. A full disk has
    its own advice.
    """
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
    "Correct the value in the message. `styleforge doctor` shows what this machine lacks, and "
    "--help lists the choices."
)
ASK_FOR_HELP = (
    "Try again. If it fails again, ask for help with a report: Ctrl+F1 in the window, or "
    "`styleforge doctor --report`."
)

# Advice by the name of an error's class; the nearest base with an entry counts. The keys are names
# because this module is below the ones that define the classes. A test walks all classes.
ADVICE = {
    # The window and the commands
    "EngineError": "Choose another style, precision or engine; `styleforge doctor` shows what "
    "runs on this machine.",
    "StyleError": "Choose another style. You can reinstall or remove a damaged style with "
    "`styleforge styles`.",
    "MatteError": "Choose a picture of the empty scene from the same camera, or another network "
    "that finds people.",
    "FeedLost": "Check the camera or the address, close other programs that use it, or open "
    "another source.",
    "SoundError": "Choose another sound device in the system's settings, or mute the film.",
    "FilmError": "Choose another codec, encoder or file type; `styleforge doctor` lists the "
    "available ones under Films.",
    "FilmCancelled": "Start the export again; it continues after the finished parts.",
    "ColorError": "Convert the film to ordinary colors (BT.709) with another program first.",
    "RecordingError": "StyleForge kept the recording up to that point. Check the disk, then "
    "record again.",
    "VirtualCameraError": "Check that the virtual camera's driver is installed, and that no "
    "other program sends to the camera.",
    "LookError": "Choose the values by hand, and save the look again (Ctrl+D).",
    "WipeError": "Choose another folder or file type, then save again.",
    "RunError": "Close other StyleForge windows, check the free disk space, then resume the "
    "training.",
    "DamagedRunError": "Delete this run and train again; you can still install its finished "
    "weights.",
    "ExportError": "Choose another name, size or format; `styleforge export --help` lists them.",
    "QueueError": "`styleforge queue list` shows the jobs and why one failed.",
    "ManifestError": "The folder must hold the manifests of one run, all of the same version.",
    "ShardError": "Write the shard in the form 2/8, or start the command with torchrun, SLURM "
    "or Kubernetes.",
    "StylistError": "The message lists the allowed values; see Stylist in the reference.",
    "StylizeError": "Correct the flag or file in the message; `styleforge stylize --help` "
    "describes all flags.",
    "Stopped": "Run the same command again; it keeps the finished work.",
    "CrewError": "Run the command again with --device and a single device, and see whether it "
    "fails there too.",
    "ClusterError": "Check with `ray status` that the cluster answers, then run the command again.",
    "StreamError": "Check the camera's size, rate and device; `styleforge camera --help` "
    "describes them.",
    "ServeError": "Check the port and packages in the message, then start the server again.",
    "AddressError": "Choose a free port with --port 0, or end the program that uses this one.",
    "TokenError": "Correct the file in the message, or leave it out; the server then creates a "
    "new token.",
    "OptionError": "The message lists the allowed options; /docs describes them all.",
    "Refused": "Send less at a time, or wait; flags of `styleforge serve` set the limits.",
    "QualityError": "Correct the photographs, films or weights in the message, then measure again.",
    "WebGpuBenchError": "Choose another GPU or precision; `styleforge doctor` lists the GPUs.",
    "BenchError": "Choose another size, style or device; `styleforge bench --help` describes them.",
    "TuneError": "Only NVIDIA cards need tuning, and the results go to your user folder.",
    "CardRatesError": "Measure on a machine with a GPU and its driver; `styleforge doctor --cards` "
    "predicts the speed of NVIDIA's cards.",
    "DoctorError": "`styleforge doctor --cards` lists the known cards.",
    "ReportError": "Run `styleforge doctor --report` in a terminal, which shows more.",
    # Networks, kernels and files
    "TrainingError": "Correct the setting or file in the message, then resume from the last "
    "checkpoint.",
    "LayoutError": "Choose the whole VGG-19 file, or a file of your own.",
    "NoRangesError": "Download the whole VGG-19 file, or choose a file of your own.",
    "CheckpointError": "Download or copy the file again; weights are .pth or .safetensors files of "
    "a style network.",
    "UnsafeFileError": "Use a .safetensors file from a source that you trust.",
    "RuntimeFault": "Choose another engine; StyleForge's own engine runs every style.",
    "ImageError": "Open the picture in another program and save it again as PNG or JPEG.",
    "LockedError": "Wait for the other process, or end it, then try again.",
    "BuildError": "`styleforge doctor` shows why, and what to install; until then, PyTorch's "
    "kernels run instead.",
    "KernelUnavailable": "`styleforge doctor` shows which kernels run on this machine, and why.",
    "WebGpuError": "Update the GPU's driver and start again, or choose another device.",
    "CompilationError": "Run `styleforge doctor` and report its output; the compiler rejected "
    "StyleForge's own code.",
    "TuningError": "Choose a network and a card that run on the general path, or skip the tuning.",
    "DoesNotFit": "Choose a smaller tile or network.",
    "StateError": "Start the film or the stream again.",
    "HubError": "Install the package in the message, or pass --random-weights.",
    # Python, PyTorch and the system
    "FileNotFoundError": "Check the name: the file may have been moved, or its disk removed.",
    "FileExistsError": "Choose another name, or delete the existing file or folder.",
    "PermissionError": "Choose another folder, or ask its owner for permission.",
    "ConnectionError": "Check the address and the network, then try again.",
    "TimeoutError": "Check the address and the network, then try again.",
    "ImportError": "`styleforge doctor` shows which package or system library is missing.",
    "MemoryError": "Choose a smaller size, or close other programs.",
    "OutOfMemoryError": "Choose a smaller size or the fast version of the style, or close other "
    "programs that use the graphics card.",
    "OSError": "Check that the disk or device is still there and has space, then try again.",
}

# The window's words for advice that names a command.
IN_WINDOW = {
    CORRECT: "Correct the value in the message, or choose another one.",
    ASK_FOR_HELP: "Try again. If it fails again, ask for help with a report (Ctrl+F1).",
    ADVICE["EngineError"]: "Choose another style, precision or engine.",
    ADVICE["StyleError"]: "Choose another style. Install a damaged style again, or remove it in "
    "the menu Style.",
    ADVICE["FilmError"]: "Choose another codec, encoder or file type.",
    ADVICE["ExportError"]: "Choose another name, size or format.",
    ADVICE["QueueError"]: "Look at the entries of the queue; each tells why it failed.",
    ADVICE["StylizeError"]: "Correct the file or the value in the message.",
    ADVICE["StreamError"]: "Check the size, rate and device of the virtual camera (Shift+W).",
    ADVICE["BuildError"]: "A report (Ctrl+F1) shows what to install; until then, PyTorch's kernels "
    "run instead.",
    ADVICE["KernelUnavailable"]: "A report (Ctrl+F1) shows which kernels run on this machine.",
    ADVICE["CompilationError"]: "Ask for help with a report (Ctrl+F1); the compiler rejected "
    "StyleForge's own code.",
    ADVICE["ImportError"]: "A report (Ctrl+F1) shows which package or library is missing.",
}
