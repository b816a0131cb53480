"""Untrusted JSON is limited in size, depth and numbers; a refusal is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from utils.files import small_json, toml
from utils.files.small_json import DEPTH, LARGEST, REFUSED, SmallJsonError

HOSTILE = {
    "brackets": "[" * 100_000,
    "objects": '{"a":' * 10_000,
    "closed brackets": "[" * 100_000 + "]" * 100_000,
    "digits": "1" + "0" * 400,
    "more digits than Python reads": "1" * 5000,
    "just too large": str(LARGEST + 1),
    "an exponent": "1e999",
    "no number": "NaN",
    "minus infinity": "-Infinity",
    "nothing": "",
    "half a text": '"[[',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("shape", ["{}", '{{"a": {}}}', "[1, {}]"])
def test_what_is_hostile_is_refused_in_one_sentence(text: str, shape: str):
    with pytest.raises(SmallJsonError, match=r"^it (is not valid JSON|is nested|has a number)"):
        small_json.loads(shape.format(text))


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(SmallJsonError, match="not UTF-8"):
        small_json.loads(b'"\xff"')


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(200 << 20)
    with pytest.raises(OSError, match="larger than 16 MB"):
        small_json.load(path)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, True, None, '[{"\\'], "b": {}},
        LARGEST,
        -LARGEST,
        "[" * 1000,
        'quote " and brackets ]]]]' * 50,
    ],
)
def test_what_is_within_the_bounds_is_read_as_the_standard_library_does(value: object):
    assert small_json.loads(json.dumps(value)) == value
    assert small_json.loads_parts(json.dumps(value).encode()) == value


def test_the_depth_is_exact():
    small_json.loads("[" * DEPTH + "]" * DEPTH)
    with pytest.raises(SmallJsonError, match="nested too deeply"):
        small_json.loads("[" * (DEPTH + 1) + "]" * (DEPTH + 1))


@pytest.mark.parametrize(
    "text",
    [
        text
        for name, text in HOSTILE.items()
        if name not in ("brackets", "objects", "nothing", "half a text", "closed brackets")
    ],
)
def test_a_part_beyond_the_bounds_leaves_the_others(text: str):
    assert small_json.loads_parts(f'[1, {text}, "good"]') == [1, REFUSED, "good"]


def test_a_part_that_nests_too_deeply_leaves_the_others():
    deep = "[" * 500 + "]" * 500
    bad, good = small_json.loads_parts(f'[{{"a": {deep}, "b": "]"}}, "g[ood"]')
    assert good == "g[ood"
    assert bad["b"] == "]"
    inside = bad["a"]
    while isinstance(inside, list):
        (inside,) = inside
    assert inside is REFUSED


def test_a_value_is_read_out_of_damaged_text():
    assert small_json.value_at('{"a": [1, 2], "b"', 6) == [1, 2]
    for text in HOSTILE.values():
        with pytest.raises(SmallJsonError):
            small_json.value_at(text, 0)


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, f"a = 1{'0' * 400}", "a = inf", "a = [{b = nan}]", "a = 1e999"]
)
def test_toml_has_the_same_bounds(text: str, tmp_path: Path):
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"^it (is nested|has a number)"):
        toml.load(path)


def test_no_reader_of_files_parses_json_or_toml_by_itself():
    """The exceptions read files of the program or the output of our own processes."""
    root = Path(__file__).parents[3]
    own = {
        "app/commands/gpu.py",
        "app/batch/cluster/rows.py",
        "app/export/network/scripts/run_pt2.py",
        "benchmarks/devices.py",
        "benchmarks/tables/pages.py",
        "benchmarks/time_model/files.py",
        "benchmarks/time_model/page.py",
        "benchmarks/time_model/webgpu.py",
        "kernels/driver/compiling.py",
        "kernels/time_model/cards.py",
        "kernels/time_model/prediction.py",
        "kernels/time_model/webgpu.py",
        "kernels/time_model/webgpu_cards.py",
        "models/training/download/published.py",
        "utils/files/small_json.py",
        "utils/files/toml.py",
        "utils/translation/files.py",
    }
    words = ("json.loads(", "json.load(", "tomllib.load", "JSONDecoder(")
    found = {
        str(path.relative_to(root).as_posix())
        for folder in ("app", "benchmarks", "kernels", "models", "utils", "kernel_fusion")
        for path in (root / folder).rglob("*.py")
        if any(
            word in line.replace("small_json.load", "")
            for line in path.read_text("utf-8").splitlines()
            for word in words
        )
    }
    assert found == own
