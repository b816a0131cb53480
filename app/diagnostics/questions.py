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
    "Beginning": (
        Question(
            "How do I begin?",
            "Drop a photo, a film or a folder on the window, or press F6 for the camera and F9 for "
            "a demonstration. Then choose a style in the gallery, or press 1 to 9.",
        ),
        Question(
            "Where are my pictures and films?",
            "Snapshots (S) are in the folder *StyleForge* inside your pictures folder, recordings "
            "(R) in the one inside your videos folder. *Save as* (Ctrl+S) asks for a place.",
        ),
        Question(
            "How do I paint a whole film, with its sound?",
            "*Export film* (Ctrl+Shift+E) paints every frame, however long that takes, and keeps "
            "the sound. A recording (R) has what the screen shows.",
        ),
        Question(
            "How do I paint many pictures at once?",
            "Drop them together and choose the queue (Ctrl+J), which goes on while you do "
            "something else. Without the window: `styleforge stylize holiday/ -o painted/`.",
        ),
        Question(
            "How do I make a style of my own?",
            "Drop any picture on the gallery: it is a style at once. *Train a style* (Ctrl+T) "
            "makes a network of its own of it, which is faster and closer to the picture, and "
            "takes longer to make.",
        ),
        Question(
            "How do I show it in a video call?",
            "Switch the virtual camera on (W), and choose it as the camera in the program for the "
            "call. It needs the extra `camera`, and on Linux v4l2loopback, on Windows and macOS "
            "the virtual camera of OBS; the window says what is missing.",
        ),
        Question(
            "Is anything sent from my machine?",
            "No: there is no account, no telemetry and no check for updates. The network is used "
            "for a network camera that you open, and, after asking, for the weights that training "
            "needs.",
        ),
    ),
    "Speed and looks": (
        Question(
            "Why are there so few pictures a second?",
            "Styling every frame is a lot of arithmetic. Move the bar at the top of the panel to "
            "*smooth* (`[`). On a processor a few pictures a second are usual; a graphics card of "
            "NVIDIA is many times faster.",
        ),
        Question(
            "Why is my NVIDIA card not used?",
            "*Details* (Shift+D) and `styleforge doctor` say why. Usually PyTorch was installed "
            "without CUDA, which `styleforge gpu` mends, or the driver is older than PyTorch's "
            "CUDA.",
        ),
        Question(
            "Why does it become faster after a while?",
            "The program compiles what suits your machine, if nothing ready came with it, and says "
            "so in the status line. That happens once.",
        ),
        Question(
            "Why does it say that the fused kernels are not native?",
            "`styleforge doctor` says why. Only where it recommends a C++ compiler (`g++`, Xcode's "
            "command line tools, or Visual Studio's build tools), install one and start again.",
        ),
        Question(
            "The strokes are too coarse or too fine.",
            "*Strokes* under *Advanced* (Shift+P) makes them fine, medium or bold. A larger "
            "*Detail* makes them narrower still, and takes longer.",
        ),
        Question(
            "The picture flickers.",
            "Move *Less flicker* in the panel up. Half of it steadies what stands still nearly as "
            "much as all of it, and delays less.",
        ),
        Question(
            "Skies and walls stay empty.",
            "Move *Texture* up: it gives the style something to paint where the picture is flat. "
            "From about a half on it competes with what is in the picture.",
        ),
        Question(
            "The sound of a film is not heard.",
            "On Linux it needs PortAudio (`sudo apt-get install libportaudio2`). A gray button of "
            "the sound says the reason in its tooltip; U mutes, Ctrl+Up is louder.",
        ),
    ),
    "When something is wrong": (
        Question(
            "No camera is found, or it cannot be opened.",
            "Plug it in again, close other programs that use it, and look for cameras once more "
            "(Ctrl+K). The system may also forbid it: allow cameras in its settings of privacy; on "
            "Linux your account has to be in the group `video`.",
        ),
        Question(
            "The camera is slow.",
            "The status line says what the camera really delivers. Many cameras give 10 pictures a "
            "second at 1280x720 unless they can send MJPG, and fewer in the dark.",
        ),
        Question(
            "It says that memory ran out.",
            "Choose a smaller *Detail* or the fast *Style version* under *Advanced* (Shift+P), or "
            "close other programs. On the command line: `--size 1024` or less.",
        ),
        Question(
            "The window does not open.",
            "Run `styleforge doctor` in a terminal. It names system libraries that are missing, as "
            "for *could not load the Qt platform plugin*, and the line that installs them. Over a "
            "plain SSH connection there is no display; `styleforge stylize` needs none.",
        ),
        Question(
            "A style or the settings are damaged.",
            "A damaged setting has its default again. A damaged style can be installed again or "
            "removed; `styleforge doctor` lists both folders.",
        ),
        Question(
            "How do I ask for help?",
            "Copy a report (Ctrl+F1, or the button beside an error) and paste it where you ask. It "
            "has what the program knows of your machine, the settings and the last messages, and "
            "no names of your files. In a terminal: `styleforge doctor --report`.",
        ),
    ),
    "Seeing and hearing": (
        Question(
            "Can I use it without a mouse?",
            "Yes: Tab reaches every control, F10 opens the menu of all commands, and F1 lists "
            "their keys.",
        ),
        Question(
            "Can letters be larger?",
            "The window takes font and size from the system, at up to twice the usual size, and "
            "scrolls where it runs out of room. It has names for screen readers, and a light and a "
            "dark theme (Ctrl+Shift+T).",
        ),
    ),
}


def as_markdown(translate: Callable[[str], str] = str) -> str:
    """Return all questions and answers in Markdown, without a title; `translate` gets each text."""
    parts = []
    for topic, questions in QUESTIONS.items():
        parts.append(f"## {translate(topic)}")
        parts += [f"**{translate(each.asks)}**\n\n{translate(each.answer)}" for each in questions]
    return "\n\n".join(parts) + "\n"
