"""Worker processes of a crew that only answer; some of them die."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection

from app.batch.devices.member import Member, Stopped


def answers(pipe: Connection, how: str) -> None:
    """Answer every item with `how`.

    A process named "dies" dies at its second item; one named "slow" waits 50 ms per item.
    """
    member = Member(pipe)
    if how == "refuses":
        member.failed("this device is not there")
        return
    member.ready(how)
    try:
        for _ in member.requests():
            count = 0
            for items in member.tasks(ahead=1):
                for item in items:
                    count += 1
                    if how == "dies" and count == 2:
                        os.kill(os.getpid(), signal.SIGKILL)
                    if how == "slow":
                        time.sleep(0.05)
                    member.answer(item, how)
            member.ended(count)
    except Stopped:
        member.ended(0)
