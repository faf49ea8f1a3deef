"""A Ray cluster of two nodes on this machine, small, and gone at the end without a trace."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

import psutil
import psycopg

__all__ = ["add_node", "cluster_of_two", "kill_node_at_work"]

# Nothing reads its logs, or makes it larger: no processes are started for that.
_SMALL = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_log_monitor": False, "no_monitor": True}
# No workers are started before there is work for them.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
}


@contextmanager
def cluster_of_two() -> Generator[Any]:
    """The cluster, as long as the block runs; its first node has the program, and the other one may be killed."""
    with patch.dict("os.environ", _ENVIRONMENT):
        ray: Any = import_module("ray")
        cluster: Any = import_module("ray.cluster_utils").Cluster(
            initialize_head=True, head_node_args={**_SMALL, "include_dashboard": False}
        )
        try:
            ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
            add_node(cluster)
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


def add_node(cluster: Any) -> None:
    """Add a node, and wait until something has run there: the other one learns of it in a moment."""
    ray: Any = import_module("ray")
    place: Any = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    node = cluster.add_node(**_SMALL)
    there = ray.remote(num_cpus=0, scheduling_strategy=place(node.node_id, soft=False))(lambda: None)
    while True:
        try:
            ray.get(there.remote())
        except ray.exceptions.TaskUnschedulableError:
            continue
        return


def kill_node_at_work(cluster: Any, url: str) -> None:
    """Kill the node that may be killed, once a process of it is at work on a run of a journal."""
    (node,) = cluster.worker_nodes
    (raylet,) = node.all_processes["raylet"]
    query = "SELECT split_part(owner, ':', 1)::int FROM trivium_run WHERE status = 'running'"
    end = time.monotonic() + 120
    while time.monotonic() < end:
        time.sleep(0.02)
        here = {each.pid for each in psutil.Process(raylet.process.pid).children(recursive=True)}
        with psycopg.connect(url) as database:
            if here & {row[0] for row in database.execute(query.encode())}:
                cluster.remove_node(node, allow_graceful=False)
                return
    raise AssertionError("no process of the node was at work")
