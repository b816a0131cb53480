"""Mutants of films."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_READER = "tests/app/export/film/test_reader.py"
_PLANES = "tests/app/film_frames/test_planes.py"
_COPYING = "tests/app/export/film/test_copying.py"
_JOB = "tests/app/export/film/test_film_job.py"
_WINDOW = "tests/app/ui/window/test_film_export.py"
_DIALOG = "tests/app/ui/window/test_film_dialog.py"
_SELECTION = "tests/app/export/film/test_selection.py"
_SAMPLE = "tests/app/export/film/test_sample.py"
_COMMAND = "tests/app/commands/test_stylize_films.py"
_MIXED = "tests/app/commands/test_stylize_mixed.py"
_QUEUE = "tests/app/commands/test_queue.py"
_MOVING = "tests/utils/images/test_moving.py"
_ANIMATIONS = "tests/app/export/film/animation/test_animations.py"
_SHARED = "tests/app/export/film/test_shared_film.py"

_EXTENT = "tests/app/film_frames/test_extent.py"
_STREAMS = "tests/app/film_frames/test_streams.py"
_TRANSPARENCY = "tests/app/film_frames/test_transparency.py"

_GOING_ON = "tests/app/export/film/test_going_on.py"
_ONE_RUN = f"{_GOING_ON}::test_a_film_that_was_stopped_twice_is_that_of_one_run"

MUTANTS = (
    Mutant(
        "smoothing begins anew where a film goes on",
        "app/engine/engine/engine.py",
        '            self._post.restore(part_of(state, "post"))\n',
        "",
        (_ONE_RUN,),
    ),
    Mutant(
        "texture begins anew where a film goes on",
        "app/engine/engine/engine.py",
        '            self._texture.restore(part_of(state, "texture"))\n',
        "",
        (_ONE_RUN,),
    ),
    Mutant(
        "what is kept on a GPU is not what a film goes on with",
        "app/engine/display_path.py",
        "                    styler.restore(self._restored)\n",
        "                    pass\n",
        (
            f"{_GOING_ON}::test_on_a_gpu_a_film_that_was_stopped_twice_is_that_of_one_run",
            "tests/app/engine/test_display_path.py::test_a_stream_goes_on_with_what_was_restored",
        ),
    ),
    Mutant(
        "batches of a film that goes on are others",
        "app/export/film/job.py",
        "        return store.history.after\n",
        "        return store.last\n",
        (_ONE_RUN,),
    ),
    Mutant(
        "one history is kept, which may be damaged",
        "app/export/film/store.py",
        "_KEPT = 2 ",
        "_KEPT = 1 ",
        (
            f"{_GOING_ON}::"
            "test_where_the_newest_history_is_damaged_the_part_before_it_is_gone_on_from",
        ),
    ),
    Mutant(
        "a short film is done before its bar is shown",
        "app/commands/stylize/reporters/terminal.py",
        "refresh=first)",
        "refresh=False)",
        (f"{_MIXED}::test_the_bar_of_a_film_is_painted_with_its_first_frames",),
    ),
    Mutant(
        "every film that does not say is BT.601",
        "app/film_frames/color.py",
        "return BT709 if width >= 1280 or height > 576 else BT601",
        "return BT601",
        (f"{_READER}::test_a_film_that_does_not_say_its_matrix_has_the_one_of_its_size",),
    ),
    Mutant(
        "grays move with every copy of a film",
        "app/film_frames/planes.py",
        "        np.copyto(memory.wide, rgb)\n"
        "        cv2.transform(memory.wide, self._from_rgb, dst=memory.result)\n",
        "        memory.result[:] = cv2.transform(rgb, self._from_rgb)\n",
        (f"{_PLANES}::test_grays_survive_any_number_of_copies",),
    ),
    Mutant(
        "the matrix of a film is always BT.709",
        "app/film_frames/converter.py",
        "red, blue, self._number = MATRICES[colors.matrix]",
        "red, blue, self._number = MATRICES[1]",
        (f"{_READER}::test_colors_are_those_of_the_matrix",),
    ),
    Mutant(
        "frames of a part are decoded after they are shown",
        "app/export/film/segment.py",
        "packet.dts = self._given[late] if late >= 0 else late",
        "packet.dts = time + 1",
        (f"{_JOB}::test_every_frame_comes_out_at_its_time",),
    ),
    Mutant(
        "frames that are converted ahead are mixed up",
        "app/export/film/threads/ahead.py",
        "            if len(coming) > THREADS:\n                yield coming.popleft()",
        "            if len(coming) > THREADS:\n                yield coming.pop()",
        ("tests/app/export/film/test_threads.py::test_results_keep_the_order_of_the_values",),
    ),
    Mutant(
        "the engine's thread limits though the network is busy",
        "app/export/film/report.py",
        'if self.shares["network"] >= BUSY:',
        "if False:",
        ("tests/app/export/film/test_report.py::test_the_stage_that_limits_is_named",),
    ),
    Mutant(
        "a film of full range is read as limited",
        "app/film_frames/color.py",
        "int(frame.color_range) == FULL or ",
        "",
        (f"{_READER}::test_a_gray_ramp_is_read_within_one_of_255",),
    ),
    Mutant(
        "films are turned the wrong way",
        "app/film_frames/orientation.py",
        "transposed=True, mirrored=c < 0, flipped=b < 0",
        "transposed=True, mirrored=b < 0, flipped=c < 0",
        (f"{_READER}::test_a_turned_film_is_read_upright",),
    ),
    Mutant(
        "the last finished frame is read again",
        "app/export/film/reader.py",
        "if after is None or pts > after:",
        "if after is None or pts >= after:",
        (f"{_READER}::test_reading_goes_on_behind_any_frame",),
    ),
    Mutant(
        "a damaged packet ends a film",
        "app/film_frames/decoding.py",
        "            damage.damaged += 1\n            continue\n",
        "            damage.damaged += 1\n            break\n",
        (f"{_JOB}::test_damaged_packets_are_passed_over_and_counted",),
    ),
    Mutant(
        "a later start of sound is rounded to milliseconds",
        "app/export/film/copying.py",
        'options["movie_timescale"] = str(clock)',
        "pass",
        (f"{_COPYING}::test_a_broadcast_begins_at_nought_with_its_sound_beside_it",),
    ),
    Mutant(
        "sound that a file refuses is found when the film is done",
        "app/export/film/copying.py",
        "        _try(stream, result.format.name)\n",
        "",
        (
            f"{_COPYING}::"
            "test_sound_that_is_refused_in_the_head_of_the_file_ends_the_film_before_it_is_made",
        ),
    ),
    Mutant(
        "a clock that goes back ends the copying of sound",
        "app/export/film/copying.py",
        "            or (before is not None and decoded < before)\n",
        "",
        (f"{_COPYING}::test_packets_of_sound_without_a_time_are_left_out_and_counted",),
    ),
    Mutant(
        "languages are lost",
        "app/export/film/copying.py",
        "    target.metadata.update(kept_metadata(stream.metadata))\n",
        "",
        (f"{_COPYING}::test_chapters_languages_and_metadata_are_kept",),
    ),
    Mutant(
        "metadata that MP4 has no place for is lost",
        "app/export/film/copying.py",
        'flags += "+use_metadata_tags"',
        'flags += ""',
        (f"{_COPYING}::test_chapters_languages_and_metadata_are_kept",),
    ),
    Mutant(
        "packets are decoded when they are shown",
        "app/export/film/assembly.py",
        "return before + ordered[: len(ordered) - late]",
        "return list(shown)",
        (f"{_JOB}::test_packets_are_decoded_in_time_and_in_order",),
    ),
    Mutant(
        "the last frame is shown as long as the one before",
        "app/export/film/assembly.py",
        "[*ordered[1:], ordered[-1] + last]",
        "[*ordered[1:], ordered[-1] + 1]",
        (f"{_JOB}::test_the_last_frame_is_shown_as_long_as_it_was",),
    ),
    Mutant(
        "parts of another look are used",
        "app/export/film/store.py",
        "if _json(about) != self._identity:",
        "if _json(about) is None:",
        (f"{_JOB}::test_parts_that_were_made_otherwise_are_not_used",),
    ),
    Mutant(
        "a part that was cut off counts",
        "app/export/film/store.py",
        "return path.is_file() and path.stat().st_size == segment.size",
        "return path.is_file()",
        (f"{_JOB}::test_a_part_that_was_cut_off_is_made_again",),
    ),
    Mutant(
        "two processes make one film",
        "app/export/film/store.py",
        "        _acquire(self._lock, self._target)\n",
        "",
        (f"{_JOB}::test_a_second_process_is_kept_out",),
    ),
    Mutant(
        "a film that is short of frames counts as whole",
        "app/export/film/parts/remarks.py",
        "if info.counted and frames < SHORT * info.count:",
        "if False:",
        (f"{_JOB}::test_a_film_that_was_cut_off_is_made_up_to_there_and_says_so",),
    ),
    Mutant(
        "the stream stays paused behind an export",
        "app/ui/film/exporter.py",
        "        self._session.paused = self._was_paused\n",
        "",
        (f"{_WINDOW}::test_a_film_is_exported_with_progress_and_a_preview",),
    ),
    Mutant(
        "the pause of an export does nothing",
        "app/ui/film/exporter.py",
        "(job.pause if paused else job.resume)()",
        "job.resume()",
        (f"{_WINDOW}::test_an_export_is_paused_and_goes_on",),
    ),
    Mutant(
        "an export goes on behind a closed window",
        "app/ui/main_window/closing.py",
        "            film.leave,\n",
        "            lambda: None,\n",
        (f"{_WINDOW}::test_closing_the_window_ends_an_export",),
    ),
    Mutant(
        "a film is written over itself",
        "app/batch/jobs/planning.py",
        "        if target in sources:\n",
        "        if False:\n",
        (f"{_COMMAND}::test_a_film_is_not_written_over_itself",),
    ),
    Mutant(
        "a batch that is not full gives more frames",
        "app/export/film/styling.py",
        "yield from self._engine.process_batch(batch, ProcessMode.SEQUENCE)[:count]",
        "yield from self._engine.process_batch(batch, ProcessMode.SEQUENCE)",
        (f"{_COMMAND}::test_a_batch_gives_the_same_film",),
    ),
    Mutant(
        "a Matroska film that was cut off counts as whole",
        "app/export/film/parts/remarks.py",
        "elif info.timed and not info.counted",
        "elif False and not info.counted",
        (f"{_MIXED}::test_a_film_that_ends_early_is_told_in_every_way",),
    ),
    Mutant(
        "films in a folder are passed over",
        "app/batch/folders.py",
        "pictures_in(here, films=True)",
        "pictures_in(here)",
        (f"{_MIXED}::test_a_folder_of_pictures_and_films_is_stylized",),
    ),
    Mutant(
        "a film that could not be read to its end is no failure",
        "app/batch/run.py",
        "tally.failed or tally.incomplete or plan.problems",
        "tally.failed or plan.problems",
        (f"{_MIXED}::test_a_film_that_ends_early_is_told_in_every_way",),
    ),
    Mutant(
        "smoothing is refused for shards of films",
        "app/batch/plan.py",
        "if pictures and request.shard is not None",
        "if request.shard is not None",
        (f"{_MIXED}::test_a_shard_of_films_alone_may_be_smoothed",),
    ),
    Mutant(
        "the events of frames end before the film does",
        "app/commands/stylize/reporters/json_lines.py",
        " and progress.done != progress.count:",
        ":",
        (f"{_MIXED}::test_json_lines_say_what_becomes_of_each_film",),
    ),
    Mutant(
        "how much of a film is done is not known",
        "app/batch/manifest.py",
        "(entry.share or 0.0) if entry.state",
        "0.0 if entry.state",
        (f"{_QUEUE}::test_how_much_of_a_film_is_done_is_listed",),
    ),
    Mutant(
        "films in a watched folder are passed over",
        "app/batch/queue/watched_folder.py",
        "pictures_in(self._folder, films=True)",
        "pictures_in(self._folder)",
        (f"{_QUEUE}::test_a_film_in_a_watched_folder_is_stylized",),
    ),
    Mutant(
        "a transport stream is known by its ending alone",
        "utils/files/signatures.py",
        "if len(packets) > 1 and set(packets) == {_SYNC}:",
        "if False:",
        (f"{_MOVING}::test_a_transport_stream_is_known_by_its_packets",),
    ),
    Mutant(
        "H.264 without a container is known by its ending alone",
        "utils/files/signatures.py",
        "    if any(head.startswith(code + unit) for code",
        "    if any(False for code",
        (f"{_MOVING}::test_films_are_known_by_their_first_bytes",),
    ),
    Mutant(
        "sound in a folder is taken for a film",
        "utils/images/moving.py",
        "if still or ending in _SOUNDS:",
        "if still:",
        (f"{_MOVING}::test_in_a_folder_sound_is_no_film_and_pictures_are_not_opened",),
    ),
    Mutant(
        "a GIF is played once less",
        "utils/images/animation.py",
        "again + 1 if again else 0",
        "again",
        (f"{_MOVING}::test_delays_and_plays_are_read",),
    ),
    Mutant(
        "the frame before shows through a transparent GIF",
        "app/export/film/animation/gif.py",
        "_CLEARED if following and following[0][0] else _STAYS",
        "_STAYS",
        (
            f"{_ANIMATIONS}::"
            "test_transparency_is_kept_and_nothing_of_the_frame_before_shows_through",
        ),
    ),
    Mutant(
        "frames that browsers slow down are kept",
        "app/export/film/animation/timing.py",
        "if tick - ticks[kept[-1]] >= least:",
        "if True:",
        (f"{_ANIMATIONS}::test_a_film_that_is_too_fast_loses_frames_and_no_time",),
    ),
    Mutant(
        "the transparent parts of a film become black",
        "app/export/film/animation/reading.py",
        "pixels, alpha = to_rgb(image), alpha_of(image)",
        "pixels, alpha = to_rgb(image.convert('RGB')), alpha_of(image)",
        (f"{_ANIMATIONS}::test_an_animation_becomes_a_film_over_white",),
    ),
    Mutant(
        "a frame of an export counts as one of the stream",
        "app/ui/main_window/session_display.py",
        "window.viewport.show_styled(shown.styled, timed=False)",
        "window.viewport.show_styled(shown.styled)",
        (f"{_WINDOW}::test_a_frame_of_an_export_is_no_frame_of_the_stream",),
    ),
    Mutant(
        "the options of an export are forgotten",
        "app/ui/film/exporter.py",
        "        self._keep(**options.settings)\n",
        "",
        (f"{_WINDOW}::test_the_action_asks_how_and_then_for_a_film_to_write",),
    ),
    Mutant(
        "graphics hardware is chosen where there is none",
        "app/ui/film/dialog.py",
        "self._where if self._where in usable else usable[0]",
        "self._where",
        (f"{_WINDOW}::test_hardware_that_is_missing_cannot_be_chosen_and_says_why",),
    ),
    Mutant(
        "a part of a shared film has the frames of the next one too",
        "app/export/film/reader.py",
        "if until is not None and pts >= until:",
        "if False:",
        (f"{_SHARED}::test_a_shared_film_is_that_of_one_process_bit_for_bit",),
    ),
    Mutant(
        "parts behind one that is missing are made again",
        "app/export/film/store.py",
        "if not self._gaps:",
        "if True:",
        (f"{_SHARED}::test_a_shared_film_that_was_stopped_goes_on_with_the_parts_that_are_left",),
    ),
    Mutant(
        "frames that an edit list hides are missed",
        "app/film_frames/extent.py",
        "if not entry.is_discard]",
        "]",
        (f"{_EXTENT}::test_frames_that_an_edit_list_hides_are_not_missed",),
    ),
    Mutant(
        "frames that an edit list hides are in parts",
        "app/export/film/parts/split.py",
        " or packet.is_discard",
        "",
        (f"{_EXTENT}::test_frames_that_an_edit_list_hides_are_in_no_part",),
    ),
    Mutant(
        "frames that a trimmed film lost are not missed",
        "app/film_frames/extent.py",
        "    return max(0, len(shown) - _before_the_first_key(container, stream))\n",
        "    return 0\n",
        (f"{_EXTENT}::test_a_trimmed_film_that_lost_frames_says_so",),
    ),
    Mutant(
        "the index of an AVI that was cut off counts as whole",
        "app/film_frames/extent.py",
        "or (_is_avi(container) and not _is_whole_riff(container.name))",
        "",
        (f"{_EXTENT}::test_an_avi_that_was_cut_off_says_so",),
    ),
    Mutant(
        "packets that repeat a frame count as frames",
        "app/film_frames/extent.py",
        "_MOST_REPEATING = 8",
        "_MOST_REPEATING = 0",
        (f"{_EXTENT}::test_packets_that_repeat_a_frame_are_no_frames",),
    ),
    Mutant(
        "frames before the first key frame are missed",
        "app/film_frames/extent.py",
        " - _before_the_first_key(container, stream)",
        "",
        (f"{_EXTENT}::test_frames_before_the_first_key_frame_are_not_missed",),
    ),
    Mutant(
        "the ticks of an AVI are its rate",
        "app/film_frames/extent.py",
        "        rate *= min(",
        "        min(",
        (f"{_EXTENT}::test_an_avi_of_fine_ticks_has_the_rate_and_the_length_of_its_frames",),
    ),
    Mutant(
        "the last frame of an AVI is shown for a tick",
        "app/export/film/reader.py",
        "known = 0 if info.ticking else frame.duration",
        "known = frame.duration",
        (f"{_EXTENT}::test_an_avi_of_fine_ticks_has_the_rate_and_the_length_of_its_frames",),
    ),
    Mutant(
        "the length of a Matroska film counts from nought",
        "app/film_frames/extent.py",
        "+ seconds - begins)",
        "+ seconds)",
        (f"{_EXTENT}::test_a_matroska_film_that_begins_late_is_whole",),
    ),
    Mutant(
        "the first picture is taken, not the default one",
        "app/film_frames/streams.py",
        "(each is not best, not each.disposition & default)",
        "(each.index, 0)",
        (
            f"{_STREAMS}::test_the_default_picture_is_taken",
            f"{_STREAMS}::test_the_default_sound_is_played",
        ),
    ),
    Mutant(
        "the transparency of WebM is not read",
        "app/film_frames/decoding.py",
        'if name is None or tags.get("alpha_mode") != "1":',
        "if True:",
        (f"{_TRANSPARENCY}::test_hidden_colors_become_white_and_the_transparency_is_remarked",),
    ),
    Mutant(
        "hidden colors of films are painted",
        "app/film_frames/converter.py",
        "        return over_white(pixels) if transparent else pixels\n",
        "        return pixels[..., :3]\n",
        (f"{_TRANSPARENCY}::test_hidden_colors_become_white_and_the_transparency_is_remarked",),
    ),
    Mutant(
        "a track of sound that cannot be kept refuses the film",
        "app/export/film/copying.py",
        "if silent and len(silent) == tracks:",
        "if silent:",
        (f"{_COPYING}::test_a_second_track_of_an_unknown_kind_is_left_out_with_a_remark",),
    ),
    Mutant(
        "a film loses its only sound",
        "app/export/film/copying.py",
        "if silent and len(silent) == tracks:",
        "if False:",
        (f"{_COPYING}::test_a_film_whose_only_sound_is_of_an_unknown_kind_is_refused",),
        breaks=("FilmError", "film exports"),
    ),
    Mutant(
        "sound that was trimmed off is heard in Matroska",
        "app/export/film/copying.py",
        "    return packet.is_discard or (begins",
        "    return False and (begins",
        (f"{_COPYING}::test_sound_that_was_trimmed_off_is_not_heard_again",),
    ),
    Mutant(
        "sound that prepares decoders in the middle counts as lost",
        "app/export/film/copying.py",
        "            if not packet.is_discard:  # one",
        "            if True:  # one",
        (f"{_COPYING}::test_sound_that_an_edit_list_cuts_out_of_the_middle_is_not_copied",),
    ),
    Mutant(
        "AV1 is encoded ahead of all other programs",
        "app/export/film/segment.py",
        "    with usual_scheduling():\n        context.open()",
        "    context.open()",
        ("tests/utils/test_scheduling.py::test_a_film_is_encoded_without_taking_priority",),
    ),
    Mutant(
        "the look at an encoder leaves the program with real-time priority",
        "app/export/film/encoder_words.py",
        "    with usual_scheduling():\n        context.open(strict=False)",
        "    context.open(strict=False)",
        (
            "tests/utils/test_scheduling.py::"
            "test_the_look_at_whether_an_encoder_works_takes_no_priority",
        ),
    ),
    Mutant(
        "a processor is estimated to encode while it paints",
        "app/export/film/sample.py",
        "    each = paint + encode if painted.on_cpu else max(paint, encode)\n",
        "    each = max(paint, encode)\n",
        (f"{_SAMPLE}::test_a_processor_paints_and_encodes_in_turn_and_a_gpu_meanwhile",),
    ),
    Mutant(
        "a small film is made larger",
        "app/export/film/selection.py",
        "    if not lines or lines >= shorter:\n",
        "    if not lines:\n",
        (f"{_SELECTION}::test_no_film_becomes_larger",),
    ),
    Mutant(
        "the sound of a part goes on behind its end",
        "app/export/film/copying.py",
        "            elif shown >= end:\n                continue\n",
        "",
        (f"{_SELECTION}::test_the_sound_of_a_part_is_that_of_its_moments",),
    ),
    Mutant(
        "an order of an earlier version is called damaged",
        "app/ui/film/order.py",
        "    kept = asdict(DEFAULTS) | stored\n",
        "    kept = dict(stored)\n",
        (f"{_DIALOG}::test_an_order_of_an_earlier_version_is_read",),
    ),
    Mutant(
        "a closed dialog goes on measuring",
        "app/ui/film/exporter.py",
        "        trial.close()\n        trial.deleteLater()\n",
        "        pass\n",
        (f"{_DIALOG}::test_a_closed_dialog_measures_nothing_and_the_film_plays_on",),
    ),
)
