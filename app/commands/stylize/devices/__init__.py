"""Runs that several devices of one machine share: a process per device takes work from one list."""

from __future__ import annotations

from app.commands.stylize.devices.choice import devices_of as devices_of
from app.commands.stylize.devices.requests import Setup as Setup
from app.commands.stylize.devices.team import Team as Team
