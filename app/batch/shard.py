"""Shards: the parts of a job for several processes that share it without communicating."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.errors import StyleForgeError

T = TypeVar("T")

AUTO = "auto"
MOST = 1_000_000

# Pairs of variables with the index (from 0) and the count, most specific first: torchrun may run
# inside SLURM or a Kubernetes job.
_PAIRS = (("RANK", "WORLD_SIZE"), ("JOB_COMPLETION_INDEX", ""))
_TASK, _TASKS = "SLURM_PROCID", "SLURM_NTASKS"
_ARRAY = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT")
_ARRAY_STEP = "SLURM_ARRAY_TASK_STEP"
_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID")


class ShardError(StyleForgeError):
    """Raised if a shard is invalid, or the environment does not name one."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` shards; `index` counts from 1. str() gives "2/8"."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def of(self, items: Sequence[T], names: Sequence[str]) -> list[T]:
        """Return this shard's part of all items: every `count`-th by name, in the items' order.

        The shards of the same items are disjoint and complete; their sizes differ by at most one.

        Args:
            names: The items' names, all different and the same in every process.
        """
        by_name = sorted(range(len(items)), key=names.__getitem__)
        return [items[place] for place in sorted(by_name[self.index - 1 :: self.count])]


def parse_shard(text: str, environment: Mapping[str, str] | None = None) -> Shard:
    """Parse "2/8", the second of eight shards.

    "auto" reads both numbers from the environment, "auto/8" only the first.
    """
    if found := re.fullmatch(rf"({AUTO}|\d{{1,7}})(?:/(\d{{1,7}}))?", text):
        index, count = found.groups()
        if index == AUTO:
            return _of_environment(
                os.environ if environment is None else environment,
                None if count is None else int(count),
            )
        if count is not None:
            return _checked(int(index), int(count), f"'{text}'")
    raise ShardError(
        "a shard is written as 2/8, the second of eight, or as auto, where SLURM, torchrun or "
        "Kubernetes say it"
    )


def local_index(environment: Mapping[str, str] | None = None) -> int | None:
    """Return the index of this process on its machine, to share GPUs, from 0; None if unnamed."""
    environment = os.environ if environment is None else environment
    name = next((name for name in _LOCAL if name in environment), None)
    return None if name is None else _number(environment, name)


def _of_environment(environment: Mapping[str, str], count: int | None) -> Shard:
    for index_name, count_name in _PAIRS:
        if index_name in environment:
            index = _number(environment, index_name)
            if count is None and count_name in environment:
                count = _number(environment, count_name)
            if count is None:
                raise ShardError(
                    f"{index_name} says which shard this is, but nothing says of how many: pass "
                    f"--shard {AUTO}/8 for eight"
                )
            return _checked(index + 1, count, index_name)
    if _TASK in environment or _ARRAY[0] in environment:
        index, found = _of_slurm(environment)
        return _checked(index + 1, found if count is None else count, "SLURM")
    raise ShardError(
        "nothing says which shard this is: none of RANK, JOB_COMPLETION_INDEX, "
        f"{_TASK} and {_ARRAY[0]} is set"
    )


def _of_slurm(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the index (from 0) and the count of this task among the tasks of all array jobs."""
    index, count = 0, 1
    if _ARRAY[0] in environment:
        task, first, count = (_number(environment, name) for name in _ARRAY)
        step = _number(environment, _ARRAY_STEP) if _ARRAY_STEP in environment else 1
        index, rest = divmod(task - first, max(step, 1))
        if rest or not 0 <= index < count:
            raise ShardError(
                f"{_ARRAY[0]} is {task}, but the array is no range: run it as --array=0-7, or pass "
                "--shard with numbers"
            )
    if _TASK in environment and _TASKS in environment:
        tasks = _number(environment, _TASKS)
        index, count = index * tasks + _number(environment, _TASK), count * tasks
    return index, count


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment.get(name, "")
    if not re.fullmatch(r"\d{1,9}", text):
        raise ShardError(f"{name} should be a whole number, not '{text[:20]}'")
    return int(text)


def _checked(index: int, count: int, where: str) -> Shard:
    if not 1 <= index <= count <= MOST:
        raise ShardError(
            f"{where} names shard {index} of {count}; they count from 1, to {MOST:,} at most"
        )
    return Shard(index, count)
