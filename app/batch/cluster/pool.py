"""A pool of Ray Data actors that answers every item once, even if nodes die."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from app.batch.cluster.painter import Painter, PainterSetup
from app.batch.cluster.rows import Item, Said, answered, rows_of, said_in
from app.errors import StyleForgeError

AUTO = "auto"  # the cluster in Ray's environment variable, else this machine alone
LOCAL = "local"  # Ray's name for this machine alone
THREADS = 4  # processor threads of an actor without a GPU, if every node has that number
MOST_BLOCKS = 2000  # per dataset
IDLE_ROUNDS = 2  # rounds without an answer before the run fails


class ClusterError(StyleForgeError):
    """Raised if there is no cluster, or it cannot do the work."""


class Pool:
    """The nodes of a cluster. Use it as a context, which leaves the cluster at its end.

    Args:
        address: "auto" for the cluster in RAY_ADDRESS or, without one, a Ray on this machine alone
            that ends with the context; "ray://..." or "host:port" for a running cluster.

    Raises:
        ClusterError: If Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(self, address: str) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # send no usage statistics
        try:
            ray: Any = import_module("ray")
            import_module("ray.data")
        except ImportError as exc:
            raise ClusterError(
                f'--cluster needs Ray (pip install "styleforge[cluster]"): {exc}'
            ) from exc
        self._ray = ray
        # Without an address, Ray would join any cluster it finds on this machine.
        given = (os.environ.get("RAY_ADDRESS") or LOCAL) if address == AUTO else address
        alone = {"include_dashboard": False} if given == LOCAL else {}
        try:
            ray.init(given, logging_level=logging.ERROR, log_to_driver=False, **alone)
        except (ConnectionError, OSError, RuntimeError, ValueError) as exc:
            raise ClusterError(f"the cluster '{address}' cannot be reached: {exc}") from exc
        # Ray's own debugger does the same. Otherwise the messages of dying nodes would go to
        # stdout.
        worker: Any = import_module("ray._private.worker")
        worker._worker_logs_enabled = False
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        # blocks of a dead node fail, and the pool hands out their items again
        context.max_errored_blocks = -1
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    @property
    def has_gpus(self) -> bool:
        """Whether a node has a GPU."""
        return self._ray.cluster_resources().get("GPU", 0) >= 1

    def run(
        self,
        setup: PainterSetup,
        items: Sequence[Item],
        together: int,
        on_loss: Callable[[str], object],
    ) -> Iterator[Said]:
        """Have actors answer items: one actor per GPU or, without GPUs, one per few cores.

        Actors that die are replaced if there is room.

        Args:
            items: Jobs or parts, all different.
            together: How many items an actor gets at a time.
            on_loss: Called with a sentence when the pool hands out items again.

        Yields:
            The actors' messages, without a second answer to an item.

        Raises:
            ClusterError: If the remaining items get no more answers.
        """
        left = dict.fromkeys(items)
        idle = 0
        while left:
            before = len(left)
            fault = ""
            try:
                for said in self._round(setup, list(left), together):
                    item = answered(said)
                    if item is not None:
                        if item not in left:
                            continue
                        del left[item]
                    yield said
            except self._ray.exceptions.RayError as exc:
                fault = str(exc).strip().splitlines()[-1]
            idle = idle + 1 if len(left) == before else 0
            if left and idle == IDLE_ROUNDS:
                raise ClusterError(f"the cluster left {len(left)} of its tasks unfinished; {fault}")
            if left:
                on_loss(f"{len(left)} tasks start again, because the workers that had them died")

    def _round(self, setup: PainterSetup, items: Sequence[Item], together: int) -> Iterator[Said]:
        data = self._ray.data
        blocks = min(MOST_BLOCKS, -(-len(items) // together))
        size, resources, threads = self._actors()
        device = "cuda" if "num_gpus" in resources else "cpu"
        config = replace(setup.config, device=device)
        setup = replace(setup, config=config, threads=threads)
        with warnings.catch_warnings():
            # About the two options for which Ray has no named parameters yet.
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            answers = data.from_items(rows_of(items), override_num_blocks=blocks).map_batches(
                Painter,
                fn_constructor_args=(setup,),
                batch_size=together,
                compute=data.ActorPoolStrategy(min_size=1, max_size=min(size, blocks)),
                max_restarts=0,  # waiting for a lost node could take forever
                max_task_retries=0,
                **resources,
            )
        for batch in answers.iter_batches(batch_size=None, batch_format="numpy"):
            yield from said_in(batch)

    def _actors(self) -> tuple[int, dict[str, float], int]:
        """Return the maximum number of actors, the resources of each, and its threads."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        gpus = int(sum(node.get("GPU", 0) for node in nodes))
        cores = [int(node["CPU"]) for node in nodes if node.get("CPU", 0) >= 1]
        if not cores:
            raise ClusterError("no node of the cluster has a free processor")
        if gpus:
            threads = max(1, sum(cores) // gpus - 1)
            return gpus, {"num_gpus": 1, "num_cpus": 1}, threads
        threads = min(THREADS, *cores)
        return sum(each // threads for each in cores), {"num_cpus": threads}, threads
