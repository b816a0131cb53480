"""Mutants of films that play with sound, and of recordings."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SOUND = "tests/app/sound/test_soundtrack.py"
_READ = "tests/app/sound/test_film_sound.py"
_TALKIES = "tests/app/sources/test_talkies.py"
_RECORDER = "tests/app/export/test_video_recorder.py"
_PLAYER = "tests/app/ui/player/test_player.py"
_RECORDING = "tests/app/ui/player/test_recording.py"

_VIDEOS = "tests/app/sources/test_videos.py"
_BY_FRAME = f"{_VIDEOS}::test_an_animation_has_the_duration_of_its_delays_and_steps_by_frame"

MUTANTS = (
    Mutant(
        "an animation has no duration, and with that no player",
        "app/sources/video_decoder.py",
        "        self._count, self.duration = count, self._times[count]\n",
        "        self._count = count\n",
        (_BY_FRAME, f"{_PLAYER}::test_an_animation_has_the_player_of_films"),
    ),
    Mutant(
        "a short last frame of an animation is not reached",
        "app/sources/video.py",
        "self._reader.last if",
        "self.info.duration - self._interval if",
        (_BY_FRAME,),
    ),
    Mutant(
        "the last frame of an animation is shown as long as the others",
        "app/sources/video_decoder.py",
        "        return self._times[min(following, len(self._times) - 1)]\n",
        "        return seconds + 1 / self.fps\n",
        (f"{_VIDEOS}::test_the_last_frame_of_an_animation_is_shown_as_long_as_it_says",),
    ),
    Mutant(
        "the clock of a film does not follow the device",
        "app/sound/clock.py",
        "self._offset = offset + (error if abs(error) > JUMP_S else GAIN * error)",
        "self._offset = offset",
        (f"{_SOUND}::test_the_clock_follows_a_device_that_is_faster_or_slower_than_told",),
    ),
    Mutant(
        "sound that is decoded late is played late",
        "app/sound/soundtrack.py",
        "while chunks and chunks[0].position + len(chunks[0].samples) / rate <= due:",
        "while False:",
        (f"{_SOUND}::test_what_is_decoded_too_late_is_left_out_and_not_delayed",),
    ),
    Mutant(
        "sound decoded beyond the end of a loop is played",
        "app/sound/soundtrack.py",
        "while self._chunks and self._chunks[-1].position >= jump.position:",
        "while False:",
        (f"{_SOUND}::test_a_jump_that_is_told_late_takes_back_what_was_decoded_beyond",),
    ),
    Mutant(
        "muting a film mutes its recording",
        "app/sound/soundtrack.py",
        "listener(Heard(out.copy(), self._rate, begins_at))",
        "listener(Heard(out * np.float32(self._volume), self._rate, begins_at))",
        (f"{_SOUND}::test_the_volume_changes_what_is_heard_and_not_what_is_listened_to",),
    ),
    Mutant(
        "the first stream of sound is played, not the default",
        "app/film_frames/streams.py",
        "(each is not best, not each.disposition & default)",
        "(each is best, 0)",
        (f"{_READ}::test_of_several_streams_the_default_is_heard",),
    ),
    Mutant(
        "a gap in the sound of a film brings what follows forward",
        "app/sound/film_sound.py",
        "return gap if abs(gap) > tolerance else 0.0",
        "return 0.0",
        (
            f"{_READ}::test_a_gap_in_the_sound_is_silence_and_what_follows_stays_in_place",
            f"{_READ}::test_reading_begins_at_the_time_that_is_sought",
        ),
    ),
    Mutant(
        "the time that painting takes is not counted in",
        "app/sources/video.py",
        "self._delay = seconds",
        "pass",
        (f"{_TALKIES}::test_a_painted_frame_is_within_40_ms_of_what_is_heard",),
    ),
    Mutant(
        "a step back assumes an even rate",
        "app/sources/video.py",
        "self._go_to(max(shown - BACK_S, 0.0))",
        "self._go_to(max(shown - self._interval, 0.0))",
        (f"{_TALKIES}::test_every_frame_is_found_by_its_time_and_stepped_to",),
    ),
    Mutant(
        "a seek shows the key frame before",
        "app/sources/video_decoder.py",
        "if found[0] > seconds + SAME_S:",
        "if found[0] > -1.0:",
        (f"{_TALKIES}::test_every_frame_is_found_by_its_time_and_stepped_to",),
    ),
    Mutant(
        "a loop does not end with its last frame",
        "app/sources/video.py",
        "return loop is not None and self._last <= loop[1] + SAME_S < seconds",
        "return False",
        (f"{_TALKIES}::test_a_part_is_looped_with_its_sound_from_its_first_frame_to_its_last",),
    ),
    Mutant(
        "films are not told how long painting takes",
        "app/live/frame_loop.py",
        "self._source.set_delay(self._metrics.delay_s(now))",
        "pass",
        (f"{_PLAYER}::test_films_are_told_how_long_it_takes_to_paint_a_frame",),
    ),
    Mutant(
        "nothing says why a film is silent",
        "app/ui/player/player.py",
        'self._say(tr("{silence}. The video plays without sound.", silence=silence))',
        "pass",
        (f"{_PLAYER}::test_where_nothing_can_be_heard_the_bar_and_a_notice_say_why",),
    ),
    Mutant(
        "a recording has no sound though it was asked for",
        "app/ui/controllers/exporter.py",
        "self._session.listen(self._recording.hear)",
        "pass",
        (f"{_RECORDING}::test_a_recording_has_the_sound_of_the_film_though_it_is_muted",),
    ),
    Mutant(
        "sound of a device that is not exact drifts away in a recording",
        "app/export/recording_file.py",
        "if off > STEP_S * RATE:",
        "if False:",
        (f"{_RECORDER}::test_sound_of_a_device_that_is_not_exact_stays_in_step",),
    ),
    Mutant(
        "a recording shows every frame for the same time",
        "app/export/recording_file.py",
        "self._last = max(self._last + 1, round(seconds / BASE))",
        "self._last += 3000",
        (f"{_RECORDER}::test_a_film_shows_every_frame_at_its_time",),
    ),
    Mutant(
        "a full disk makes a recording unreadable",
        "app/export/recording_file.py",
        "while rest and self.failed is None:",
        "while rest:",
        (f"{_RECORDER}::test_a_full_disk_is_told_and_keeps_what_was_recorded_until_then",),
    ),
    Mutant(
        "a recording on a full disk is taken for whole",
        "app/export/recording_file.py",
        "raise self._disk.failed",
        "return",
        (f"{_RECORDER}::test_a_full_disk_is_told_and_keeps_what_was_recorded_until_then",),
    ),
)
