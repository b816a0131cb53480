"""A Ray cluster of two nodes on this machine.

It prints its address, kills the second node with SIGKILL when a line arrives on stdin, and shuts
down at the end of stdin.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


def main() -> None:
    """Run the nodes, each with one processor."""
    cluster = import_module("ray.cluster_utils").Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    other = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    sys.stdout.write(f"{cluster.address}\n")
    sys.stdout.flush()
    if sys.stdin.readline():
        cluster.remove_node(other, allow_graceful=False)
        sys.stdout.write("killed\n")
        sys.stdout.flush()
        sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
