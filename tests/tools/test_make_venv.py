"""`make` uses the newest Python with a wheel of the PyTorch version that it installs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.errors import mentions

ROOT = Path(__file__).resolve().parents[2]
HERE = f"python3.{sys.version_info.minor}"

# A Python newer than every wheel: the pip in its virtual environment finds none.
TOO_NEW = """#!/bin/sh
if [ "$1" = -m ]; then
  mkdir -p "$4/bin"
  cat > "$4/bin/python" <<'END'
#!/bin/sh
echo "ERROR: No matching distribution found for torch" >&2
exit 1
END
  chmod +x "$4/bin/python"
elif [ "$1" = --version ]; then
  echo "Python 3.29.0"
fi
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a script of the shell")


@pytest.fixture
def make_venv(tmp_path):
    """Return a function that runs the script with only these Pythons on the PATH."""
    commands = tmp_path / "commands"
    commands.mkdir()
    for tool in ("sh", "sed", "grep", "seq", "rm", "cat", "mkdir", "chmod", "id"):
        found = shutil.which(tool)
        assert found
        (commands / tool).symlink_to(found)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    tag = f"cp3{sys.version_info.minor}-cp3{sys.version_info.minor}"
    (wheels / f"torch-2.13.0-{tag}-{_platform()}.whl").touch()
    shutil.copy(ROOT / "constraints.txt", tmp_path / "constraints.txt")

    def run(**pythons: str) -> subprocess.CompletedProcess[str]:
        for name, text in pythons.items():
            path = commands / name.replace("_", ".")
            path.write_text(text)
            path.chmod(0o755)
        environment = {"PATH": str(commands), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
        environment |= {"HOME": str(tmp_path)}
        return subprocess.run(
            ["sh", str(ROOT / "tools" / "make_venv.sh"), "environment"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def _platform() -> str:
    from packaging.tags import sys_tags

    return next(iter(sys_tags())).platform


def _this_python() -> str:
    return f'#!/bin/sh\nexec {sys.executable} "$@"\n'


@pytest.mark.full
def test_a_python_without_a_wheel_is_passed_over_for_an_older_one(make_venv, tmp_path):
    done = make_venv(python3_29=TOO_NEW, **{HERE.replace(".", "_"): _this_python()})
    assert done.returncode == 0, done.stderr
    assert mentions(done.stderr, "Python 3.29.0", "PyTorch 2.13")
    assert (tmp_path / "environment" / "pyvenv.cfg").exists()
    assert f"Python 3.{sys.version_info.minor}." in done.stdout


def test_where_no_python_has_a_wheel_the_reason_and_the_pythons_are_named(make_venv, tmp_path):
    done = make_venv(python3_29=TOO_NEW)
    assert done.returncode == 1
    assert "distribution found for torch" in done.stderr
    assert mentions(done.stderr, "PyTorch 2.13", "python3.29")
    assert not (tmp_path / "environment").exists()


def test_where_there_is_no_python_the_oldest_that_will_do_is_named(make_venv):
    old = "#!/bin/sh\nexit 1\n"
    done = make_venv(python3=old)
    assert done.returncode == 1
    assert "Python 3.11" in done.stderr


def test_no_package_refuses_a_newer_python():
    for project in ("pyproject.toml", "wheels/kernel_fusion/pyproject.toml"):
        assert 'requires-python = ">=3.11"\n' in (ROOT / project).read_text("utf-8")
