"""Mutants of the virtual camera."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SENDER = "tests/app/virtual_camera/test_sender.py"
_WINDOW = "tests/app/ui/window/test_virtual_camera.py"
_COMMAND = "tests/app/commands/test_camera.py"

MUTANTS = (
    Mutant(
        "a slow camera is sent the oldest picture that it has not been sent",
        "app/virtual_camera/sender.py",
        "            self._newest = pixels\n",
        "            self._newest = pixels if self._newest is None else self._newest\n",
        (f"{_SENDER}::test_a_slow_camera_is_sent_the_newest_picture_and_nobody_waits_for_it",),
    ),
    Mutant(
        "pictures that are late are made up for in a burst",
        "app/virtual_camera/sender.py",
        "due = max(due + interval, time.perf_counter())",
        "due = due + interval",
        (f"{_SENDER}::test_what_is_late_is_not_made_up_for_in_a_burst",),
    ),
    Mutant(
        "the time of sending is added to the interval",
        "app/virtual_camera/sender.py",
        "due = max(due + interval, time.perf_counter())",
        "due = time.perf_counter() + interval",
        (f"{_SENDER}::test_the_rate_is_kept_while_sending_takes_a_part_of_it",),
    ),
    Mutant(
        "pictures are sent although no program reads them",
        "app/virtual_camera/sender.py",
        "if self._nobody_reads(now):",
        "if False:",
        (f"{_SENDER}::test_nothing_is_sent_while_no_program_reads",),
    ),
    Mutant(
        "where it cannot be told who reads nothing is sent",
        "app/virtual_camera/sender.py",
        "self._readers.reading is not False:",
        "self._readers.reading:",
        (f"{_SENDER}::test_where_it_cannot_be_told_who_reads_pictures_are_always_sent",),
    ),
    Mutant(
        "a camera that failed stays open",
        "app/virtual_camera/sender.py",
        "            self._camera.close()\n",
        "            pass\n",
        (f"{_SENDER}::test_a_camera_that_fails_is_closed_and_says_why",),
    ),
    Mutant(
        "a picture is stretched to the camera's shape",
        "app/virtual_camera/fitting.py",
        "    inner = _inside(columns, rows, width, height)\n    if inner == (width, height):\n"
        "        return _scaled",
        "    inner = width, height\n    if inner == (width, height):\n        return _scaled",
        ("tests/app/virtual_camera/test_fitting.py::test_what_is_round_stays_round",),
    ),
    Mutant(
        "the colors of NV12 stand in two planes",
        "app/virtual_camera/formats.py",
        "chroma.reshape(2, -1).T.reshape(-1)",
        "chroma",
        ("tests/app/virtual_camera/test_formats.py::test_a_format_decodes_to_the_picture",),
    ),
    Mutant(
        "only the first event of a driver counts",
        "app/virtual_camera/loopback.py",
        "while (event := self._next_event()) is not None:",
        "if (event := self._next_event()) is not None:",
        ("tests/app/virtual_camera/test_loopback.py::test_programs_that_come_and_go_are_told",),
    ),
    Mutant(
        "without a virtual camera it is not said what to install",
        "app/virtual_camera/device.py",
        'return tr("there is no virtual camera: {advice}", advice=advice)',
        'return "there is no virtual camera"',
        (
            "tests/app/virtual_camera/test_device.py::"
            "test_on_linux_without_a_device_the_package_and_the_line_are_named",
        ),
    ),
    Mutant(
        "the source goes on although nobody sees the camera",
        "app/commands/camera/stream.py",
        "self._loop.pause(self._paused)",
        "self._loop.pause(False)",
        (f"{_COMMAND}::test_while_no_program_reads_the_source_stands_still",),
    ),
    Mutant(
        "the virtual camera is taken for its own source",
        "app/commands/camera/command.py",
        'if device in (source.name, f"/dev/video{source.index}"):',
        "if False:",
        (f"{_COMMAND}::test_the_virtual_camera_is_refused_as_its_own_source",),
    ),
    Mutant(
        "what looks like markup in a name is taken for it",
        "app/commands/camera/reporters.py",
        "self._console.status(Text(text))",
        "self._console.status(text)",
        (f"{_COMMAND}::test_names_that_look_like_markup_stay_as_they_are_on_a_terminal",),
    ),
    Mutant(
        "frames are styled in full size for a small camera",
        "app/commands/camera/stream.py",
        "self._loop.set_least_size(choice.width, choice.height)",
        "pass",
        (f"{_COMMAND}::test_large_frames_are_styled_in_about_the_cameras_size",),
    ),
    Mutant(
        "a small window makes the virtual camera's pictures small",
        "app/live/frame_loop.py",
        "shown = for_display(frame, needed, size)",
        "shown = for_display(frame, self._display, size)",
        (
            "tests/app/live/test_frame_loop.py::"
            "test_frames_are_as_large_as_the_display_or_another_taker_needs_them",
        ),
    ),
    Mutant(
        "mirroring the preview does nothing",
        "app/ui/viewport/frame_painter.py",
        "cv2.flip(pixels, 1)",
        "pixels",
        (f"{_WINDOW}::test_the_preview_is_mirrored_and_what_is_sent_is_not",),
    ),
    Mutant(
        "the virtual camera ends with the window without a question",
        "app/ui/main_window/closing.py",
        "lambda: camera.camera is not None,",
        "lambda: False,",
        (f"{_WINDOW}::test_closing_the_window_asks_first_and_then_closes_the_camera",),
    ),
    Mutant(
        "a camera that was switched off while it was opened stays open",
        "app/ui/virtual_camera/switch.py",
        "                camera.close()  # it was switched off meanwhile\n",
        "",
        (f"{_WINDOW}::test_a_camera_that_is_switched_off_while_it_is_opened_is_closed",),
    ),
    Mutant(
        "a stream takes the place of the test picture at once",
        "app/ui/virtual_camera/switch.py",
        " and not self._testing.isActive()",
        "",
        (f"{_WINDOW}::test_a_test_picture_stands_in_for_the_stream_for_a_while",),
    ),
    Mutant(
        "the dialog asks for a driver that is there",
        "app/virtual_camera/installing.py",
        '        if any(devices.glob("video*")):\n',
        "        if False:\n",
        (
            "tests/app/virtual_camera/test_installing.py::test_with_a_device_nothing_is_left_to_install",
        ),
    ),
)
