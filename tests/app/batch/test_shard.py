"""Shards are disjoint, cover everything, and are read from the environment."""

from __future__ import annotations

import pytest

from app.batch.shard import Shard, ShardError, local_index, parse_shard

NAMES = [f"{number}.png" for number in range(23)]


@pytest.mark.parametrize("count", [1, 2, 7, 23, 40])
def test_shards_are_disjoint_complete_and_of_one_size(count):
    parts = [Shard(index, count).of(NAMES, NAMES) for index in range(1, count + 1)]
    assert sorted(name for part in parts for name in part) == sorted(NAMES)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_order_in_which_a_folder_is_listed_changes_no_shard():
    backwards = NAMES[::-1]
    for index in (1, 2, 3):
        one, other = Shard(index, 3).of(NAMES, NAMES), Shard(index, 3).of(backwards, backwards)
        assert one == other[::-1]


@pytest.mark.parametrize(
    ("text", "environment", "shard"),
    [
        ("2/8", {}, Shard(2, 8)),
        ("auto", {"RANK": "0", "WORLD_SIZE": "4"}, Shard(1, 4)),
        ("auto", {"SLURM_PROCID": "3", "SLURM_NTASKS": "4"}, Shard(4, 4)),
        ("auto/5", {"JOB_COMPLETION_INDEX": "4"}, Shard(5, 5)),
        (
            "auto",  # torchrun inside a SLURM task
            {"RANK": "5", "WORLD_SIZE": "16", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"},
            Shard(6, 16),
        ),
        (
            "auto",
            {
                "SLURM_ARRAY_TASK_ID": "14",
                "SLURM_ARRAY_TASK_MIN": "10",
                "SLURM_ARRAY_TASK_COUNT": "4",
                "SLURM_ARRAY_TASK_STEP": "2",
            },
            Shard(3, 4),
        ),
        (
            "auto",  # two tasks per job of an array
            {
                "SLURM_ARRAY_TASK_ID": "1",
                "SLURM_ARRAY_TASK_MIN": "0",
                "SLURM_ARRAY_TASK_COUNT": "3",
                "SLURM_PROCID": "1",
                "SLURM_NTASKS": "2",
            },
            Shard(4, 6),
        ),
    ],
)
def test_a_shard_is_written_or_found_in_the_environment(text, environment, shard):
    assert parse_shard(text, environment) == shard


@pytest.mark.parametrize(
    ("text", "environment", "says"),
    [
        ("0/8", {}, "'0/8' names shard 0 of 8; they count from 1"),
        ("9/8", {}, "names shard 9 of 8"),
        ("two", {}, "a shard is written as 2/8"),
        ("2", {}, "a shard is written as 2/8"),
        ("auto", {}, "none of RANK, JOB_COMPLETION_INDEX, SLURM_PROCID"),
        ("auto", {"JOB_COMPLETION_INDEX": "1"}, "pass --shard auto/8"),
        ("auto", {"RANK": "one", "WORLD_SIZE": "2"}, "RANK should be a whole number, not 'one'"),
        ("auto", {"RANK": "2", "WORLD_SIZE": "2"}, "RANK names shard 3 of 2"),
        (
            "auto",
            {
                "SLURM_ARRAY_TASK_ID": "9",
                "SLURM_ARRAY_TASK_MIN": "3",
                "SLURM_ARRAY_TASK_COUNT": "2",
            },
            "the array is no range",
        ),
    ],
)
def test_what_is_no_shard_is_told_in_a_sentence(text, environment, says):
    with pytest.raises(ShardError) as caught:
        parse_shard(text, environment)
    assert says in str(caught.value)


def test_processes_of_one_machine_are_told_apart():
    assert local_index({"LOCAL_RANK": "3", "SLURM_LOCALID": "0"}) == 3
    assert local_index({"SLURM_LOCALID": "1"}) == 1
    assert local_index({}) is None
