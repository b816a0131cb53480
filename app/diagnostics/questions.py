"""Questions that people ask, with their answers: one table for the window and the manual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

TITLE = "Questions and answers"


@dataclass(frozen=True, slots=True)
class Question:
    """One question; the answer is one paragraph of Markdown without links."""

    asks: str
    answer: str


QUESTIONS: dict[str, tuple[Question, ...]] = {
    "Getting started": (
        Question(
            "How do I start?",
            "Drop a photo, a film or a folder on the window, or press F6 for the camera and F9 for "
            "a demonstration. Then choose a style in the gallery, or press 1 to 9.",
        ),
        Question(
            "Where are my pictures and films?",
            "Snapshots (S) are in the folder *StyleForge* inside your pictures folder, and "
            "recordings (R) are in *StyleForge* inside your videos folder. *Save as* (Ctrl+S) "
            "asks for a place.",
        ),
        Question(
            "How do I paint a whole film, with its sound?",
            "*Export film* (Ctrl+Shift+E) paints every frame, however long that takes, and keeps "
            "the sound. A recording (R) contains what the screen shows.",
        ),
        Question(
            "How do I paint many pictures at once?",
            "Drop them together and choose the queue (Ctrl+J), which continues while you do "
            "something else. Without the window: `styleforge stylize holiday/ -o painted/`.",
        ),
        Question(
            "How do I make a style of my own?",
            "Drop any picture on the gallery: it becomes a style at once. *Train a style* "
            "(Ctrl+T) trains a network for it. That takes longer, but the style is then faster "
            "and closer to the picture.",
        ),
        Question(
            "How do I show it in a video call?",
            "Switch the virtual camera on (W), and choose it as the camera in the program for "
            "the call. It needs the extra `camera`. On Linux, it also needs v4l2loopback; on "
            "Windows and macOS, it needs the virtual camera of OBS. The window says what is "
            "missing.",
        ),
        Question(
            "Is anything sent from my machine?",
            "No: there is no account, no telemetry and no check for updates. StyleForge uses the "
            "network only for a network camera that you open and, after asking, to download the "
            "weights for training.",
        ),
    ),
    "Speed and looks": (
        Question(
            "Why are there so few pictures a second?",
            "Styling every frame takes a lot of arithmetic. Move the bar at the top of the panel "
            "to *smooth* (`[`). A processor usually styles a few pictures a second; an NVIDIA "
            "graphics card is many times faster.",
        ),
        Question(
            "Why is my NVIDIA card not used?",
            "*Details* (Shift+D) and `styleforge doctor` say why. Usually PyTorch was installed "
            "without CUDA, which `styleforge gpu` fixes, or the driver is older than PyTorch's "
            "CUDA.",
        ),
        Question(
            "Does it use my AMD, Apple or Intel graphics?",
            "Yes, if the system has a driver for Vulkan, Metal or Direct3D 12. The window measures "
            "at its first start whether the graphics are faster than the processor, and uses the "
            "faster one. *Device* in the speed test (Shift+P) chooses by hand, and `styleforge "
            "doctor` says what it found.",
        ),
        Question(
            "Why does it become faster after a while?",
            "If StyleForge has no ready kernels for your machine, it compiles them once. The "
            "status line says so.",
        ),
        Question(
            "Why does it say that the fused kernels are not native?",
            "`styleforge doctor` says why. If it recommends a C++ compiler (`g++`, Xcode's "
            "command line tools, or Visual Studio's build tools), install one and start again.",
        ),
        Question(
            "The strokes are too coarse or too fine.",
            "*Stroke width* in the panel makes them fine, medium or bold. On *Auto*, a larger "
            "*Detail* makes them narrower, and takes longer.",
        ),
        Question(
            "The picture flickers.",
            "Move *Less flicker* in the panel up. At half, still parts are nearly as steady as "
            "at the maximum, with less delay.",
        ),
        Question(
            "Skies and walls stay empty.",
            "Move *Texture* up: it gives the style something to paint where the picture is flat. "
            "Above about half, it competes with the content of the picture.",
        ),
        Question(
            "A film plays without sound.",
            "On Linux, sound needs PortAudio (`sudo apt-get install libportaudio2`). If the "
            "sound button is gray, its tooltip gives the reason. U mutes the sound, and Ctrl+Up "
            "makes it louder.",
        ),
    ),
    "When something is wrong": (
        Question(
            "No camera is found, or it cannot be opened.",
            "Plug it in again, close other programs that use it, and look for cameras once more "
            "(Ctrl+Shift+K). Also allow cameras in the privacy settings of the system. On Linux, "
            "your account must be in the group `video`.",
        ),
        Question(
            "The camera is slow.",
            "The status line shows what the camera actually delivers. Many cameras deliver 10 "
            "pictures a second at 1280x720 unless they can send MJPG, and fewer in the dark.",
        ),
        Question(
            "StyleForge reports that memory ran out.",
            "Choose a smaller *Detail* in the panel or the fast *Style version* in the speed test "
            "(Shift+P), or close other programs. On the command line: `--size 1024` or less.",
        ),
        Question(
            "The window does not open.",
            "Run `styleforge doctor` in a terminal. It names missing system libraries, for "
            "example after *could not load the Qt platform plugin*, and the command that "
            "installs them. Over a plain SSH connection there is no display; `styleforge "
            "stylize` needs none.",
        ),
        Question(
            "A style or the settings are damaged.",
            "StyleForge resets a damaged setting to its default. Install a damaged style again, "
            "or remove it. `styleforge doctor` lists both folders.",
        ),
        Question(
            "How do I ask for help?",
            "Copy a report (Ctrl+F1, or the button beside an error) and paste it where you ask. "
            "It contains details of your machine, the settings and the last messages, but no "
            "names of your files. In a terminal: `styleforge doctor --report`.",
        ),
    ),
    "Accessibility": (
        Question(
            "Can I use it without a mouse?",
            "Yes: Tab reaches every control, F10 opens the menu of all commands, and F1 lists "
            "their keys.",
        ),
        Question(
            "Can I make the text larger?",
            "The window takes the font and its size from the system, up to twice the usual size, "
            "and scrolls if it runs out of room. It supports screen readers, and has a light and "
            "a dark theme (Ctrl+Shift+T).",
        ),
    ),
}


def as_markdown(
    translate: Callable[[str], str] = str, wanted: Callable[[Question], bool] | None = None
) -> str:
    """Return questions and answers in Markdown, without a title.

    Args:
        translate: Gets each text.
        wanted: Decides on each question; None for all.
    """
    parts: list[str] = []
    for topic, questions in QUESTIONS.items():
        kept = [each for each in questions if wanted is None or wanted(each)]
        if kept:
            parts.append(f"## {translate(topic)}")
        parts += [f"**{translate(each.asks)}**\n\n{translate(each.answer)}" for each in kept]
    return "\n\n".join(parts) + "\n"
