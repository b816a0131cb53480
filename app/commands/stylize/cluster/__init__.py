"""Runs shared by the machines of a Ray cluster. Ray Data distributes the work to actors."""

from __future__ import annotations

from app.commands.stylize.cluster.places import existing as existing
from app.commands.stylize.cluster.places import place_of as place_of
from app.commands.stylize.cluster.places import remote_jobs as remote_jobs
from app.commands.stylize.cluster.team import Cluster as Cluster
