"""Runs code that may use too much memory in a process with a limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOM_MB = 2000  # address space the code may use beyond its imports before a MemoryError

_FRAME = """
import resource, sys

def memory(what):
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines[what].split()[0]) // 1024

{imports}
before = memory("VmRSS")
most = (memory("VmSize") + {room}) << 20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
{code}
except Exception as exc:
    print(f"{{type(exc).__name__}}: {{exc}}")
print(memory("VmHWM") - before)
"""


def limited(imports: str, code: str, *arguments: str, seconds: float = 100) -> tuple[str, int]:
    """Return the output of `code`, exceptions included, and its peak memory in megabytes.

    `imports` run first and do not count; `arguments` become its sys.argv[1:]. Linux only.
    """
    indented = "".join(f"    {line}\n" for line in code.strip().splitlines())
    script = _FRAME.format(imports=imports, code=indented, room=ROOM_MB)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *lines, megabytes = done.stdout.splitlines()
    return "\n".join(lines), int(megabytes)
