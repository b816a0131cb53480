"""Mutants of readers: each kind of file of `tests/fuzz` that no other table names."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SMALL_JSON = "tests/utils/files/test_small_json.py"
_HOSTILE_JSON = "tests/integration/test_hostile_json.py"
_VIDEOS = "tests/app/sources/test_videos.py"

MUTANTS = (
    Mutant(
        "one damaged look costs the looks beside it",
        "app/looks/look_file.py",
        "            except LookError as exc:\n",
        "            except KeyError as exc:\n",
        (f"{_HOSTILE_JSON}::test_a_hostile_look_leaves_the_good_one_beside_it",),
        breaks=("records",),
    ),
    Mutant(
        "one damaged rate costs the rates beside it",
        "app/measured_rates.py",
        "    except (ValueError, TypeError, LookupError):\n",
        "    except AttributeError:\n",
        (f"{_HOSTILE_JSON}::test_a_hostile_rate_leaves_the_good_one",),
        breaks=("records",),
    ),
    Mutant(
        "deeply nested JSON ends in Python's own error",
        "utils/files/small_json.py",
        "    except RecursionError:\n        raise SmallJsonError(tr(TOO_DEEP)) from None\n"
        "    except json.JSONDecodeError as error:\n        raise _malformed() from error\n"
        "    if _depth(text[start:end]) > DEPTH:\n",
        "    except json.JSONDecodeError as error:\n        raise _malformed() from error\n"
        "    if False:\n",
        (f"{_SMALL_JSON}::test_a_value_is_read_out_of_damaged_text",),
        breaks=("records",),
    ),
    Mutant(
        "TOML may hold numbers that no field can have",
        "utils/files/toml.py",
        "    if not small_json.is_bounded(table):\n",
        "    if False:\n",
        (f"{_SMALL_JSON}::test_toml_has_the_same_bounds",),
        breaks=("styles", "records"),
    ),
    Mutant(
        "a film that ends early stops the player",
        "app/sources/video.py",
        "            if seconds is None and not self._skip_damage():\n"
        "                if rewinds == 2:\n",
        "            if seconds is None:\n                if rewinds == 0:\n",
        (f"{_VIDEOS}::test_a_video_that_ends_early_says_so_and_goes_on",),
        breaks=("films",),
    ),
    Mutant(
        "a damaged photograph ends the training",
        "models/training/data.py",
        "        except (ImageError, OSError) as exc:\n            return str(exc)\n",
        "        except KeyError as exc:\n            return str(exc)\n",
        (
            "tests/models/training/test_photographs.py::"
            "test_a_corrupt_photograph_is_skipped_and_named",
        ),
        breaks=("photographs",),
    ),
)
