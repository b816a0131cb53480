"""A manifest records which result came from which source, and is never half written."""

from __future__ import annotations

import hashlib
import json
import os

import pytest

from app.batch.manifest import (
    Manifest,
    ManifestError,
    Record,
    State,
    plan_digest,
    planned,
    read_manifest,
)
from app.batch.shard import Shard


@pytest.fixture
def pairs(tmp_path):
    """Return three existing sources with the paths of their results."""
    made = []
    for name in ("a", "b", "c"):
        source = tmp_path / f"{name}.png"
        source.write_bytes(name.encode())
        made.append((source, tmp_path / "out" / source.name))
    (tmp_path / "out").mkdir()
    return made


def manifest(pairs) -> Manifest:
    digest = plan_digest(result.name for _, result in pairs)
    return Manifest(Shard(2, 3), 9, digest, "candy", planned(pairs), ("a problem",))


def states(path) -> list[State]:
    return [entry.state for entry in read_manifest(path).entries]


def test_what_is_written_is_read_again(pairs, tmp_path):
    path = tmp_path / "new" / "m.json"
    written = manifest(pairs)
    written.write(path)
    assert read_manifest(path) == written


def test_each_picture_is_recorded_with_its_sizes_times_and_digest(pairs, tmp_path):
    path = tmp_path / "m.json"
    record = Record(path, manifest(pairs))
    assert states(path) == [State.PENDING] * 3
    (_, made), (_, broken), (_, there) = pairs
    made.write_bytes(b"picture")
    there.write_bytes(b"older")
    record.done(made)
    record.failed(broken, "it is broken")
    record.kept(there)
    assert not read_manifest(path).finished
    record.finish()
    kept = read_manifest(path)
    assert kept.finished
    one, two, three = kept.entries
    assert (one.state, two.state, three.state) == (State.DONE, State.FAILED, State.KEPT)
    assert one.source_bytes == 1
    assert one.source_mtime_ns == pairs[0][0].stat().st_mtime_ns
    assert one.result_bytes == 7
    assert one.result_sha256 == hashlib.sha256(b"picture").hexdigest()
    assert two.error == "it is broken"
    assert (three.result_bytes, three.result_sha256) == (5, None)
    assert one.intact
    assert three.intact
    made.write_bytes(b"changed")
    os.utime(made, ns=(1, 1))
    assert not one.intact


def test_records_are_written_every_few_seconds_and_not_with_every_picture(pairs, tmp_path):
    now = [0.0]
    path = tmp_path / "m.json"
    record = Record(path, manifest(pairs), clock=lambda: now[0])
    record.failed(pairs[0][1], "one")
    assert states(path) == [State.PENDING] * 3
    now[0] = 10.0
    record.failed(pairs[1][1], "two")
    assert states(path) == [State.FAILED, State.FAILED, State.PENDING]


def test_a_run_that_goes_on_keeps_what_it_made_unless_a_file_has_changed(pairs, tmp_path):
    path = tmp_path / "m.json"
    first = Record(path, manifest(pairs))
    for _, result in pairs:
        result.write_bytes(b"picture")
        first.done(result)
    first.save()
    os.utime(pairs[1][1], ns=(1, 1))  # a result
    os.utime(pairs[2][0], ns=(1, 1))  # a source
    again = Record(path, manifest(pairs))
    assert [again.made(result) for _, result in pairs] == [True, False, False]
    for _, result in pairs:
        again.kept(result)
    again.finish()
    assert states(path) == [State.DONE, State.KEPT, State.KEPT]


def test_writing_the_manifest_takes_a_small_share_of_the_time(pairs, tmp_path, monkeypatch):
    now = [0.0]
    writes = []

    def slow(manifest, path):
        writes.append(now[0])
        now[0] += 4.0

    record = Record(tmp_path / "m.json", manifest(pairs), clock=lambda: now[0])
    monkeypatch.setattr(Manifest, "write", slow)
    for _ in range(1000):
        now[0] += 1.0
        record.failed(pairs[0][1], "it is broken")
    assert 2 <= len(writes) <= 6
    assert 4.0 * len(writes) <= 0.03 * now[0]


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"null", b"{}", b"\xff", b'{"format": 1}', b"[" * 100_000,
        b'{"format": 1, "shard": 2, "shards": 1}',
    ],
)  # fmt: skip
def test_another_file_is_no_manifest_and_is_not_replaced(pairs, tmp_path, data):
    path = tmp_path / "m.json"
    path.write_bytes(data)
    with pytest.raises(ManifestError, match=r"m\.json' is no manifest"):
        Record(path, manifest(pairs))
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("state", "lost"),
        ("source", 7),
        ("result_bytes", "7"),
        ("result_bytes", -1),
        ("state", None),
    ],
)
def test_a_damaged_entry_is_told(pairs, tmp_path, key, value):
    path = tmp_path / "m.json"
    manifest(pairs).write(path)
    values = json.loads(path.read_text())
    values["entries"][1][key] = value
    path.write_text(json.dumps(values))
    with pytest.raises(ManifestError, match="is no manifest"):
        read_manifest(path)
    path.write_text(json.dumps(values | {"format": 99}))
    with pytest.raises(ManifestError, match="another version"):
        read_manifest(path)
