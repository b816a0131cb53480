"""Tests of a GPU are left out and counted on machines without one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests import conftest


class Item:
    """A test with some marks."""

    def __init__(self, *names: str) -> None:
        self.marks: list[Any] = [getattr(pytest.mark, name) for name in names]

    def get_closest_marker(self, name: str) -> Any:
        return next((mark for mark in self.marks if mark.name == name), None)

    def add_marker(self, mark: Any) -> None:
        self.marks.append(mark)


class Run:
    """A run of tests, with what it says of tests that are left out."""

    def __init__(self, *items: Item) -> None:
        self.items, self.deselected, self.lines = list(items), [], []
        hook = SimpleNamespace(pytest_deselected=lambda items: self.deselected.extend(items))
        self.config: Any = SimpleNamespace(hook=hook, stash=pytest.Stash())
        reporter: Any = SimpleNamespace(write_line=self.lines.append)
        items_: Any = self.items
        conftest.pytest_collection_modifyitems(self.config, items_)
        conftest.pytest_terminal_summary(reporter, self.config)


@pytest.fixture(params=[False, True])
def has_gpu(request, monkeypatch) -> bool:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: request.param)
    return request.param


def test_tests_of_a_gpu_are_left_out_and_counted_unless_there_is_one(has_gpu):
    plain, gpu, cuda = Item("slow"), Item("gpu"), Item("slow", "cuda")
    run = Run(plain, gpu, cuda)
    assert run.items == ([plain, gpu, cuda] if has_gpu else [plain])
    assert run.deselected == ([] if has_gpu else [gpu, cuda])
    assert [line.split()[0] for line in run.lines] == ([] if has_gpu else ["2"])


def test_tests_of_a_gpu_alone_are_skipped_unless_there_is_one(has_gpu):
    gpu = Item("gpu")
    run = Run(gpu)
    assert run.items == [gpu]
    assert run.lines == run.deselected == []
    assert (gpu.get_closest_marker("skip") is None) == has_gpu


def test_the_first_process_knows_what_the_others_left_out():
    worker, first = Run(Item()), Run(Item())
    worker.config.workeroutput = {}
    worker.config.stash[conftest._left_out] = 3
    session: Any = SimpleNamespace(config=worker.config)
    conftest.pytest_sessionfinish(session)
    told = worker.config.workeroutput
    for node in (SimpleNamespace(config=first.config, workeroutput=told), SimpleNamespace()):
        node.config = first.config
        conftest.pytest_testnodedown(node)  # pyright: ignore[reportArgumentType]
    assert first.config.stash[conftest._left_out] == 3
