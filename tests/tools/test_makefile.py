"""`make` installs the versions of the constraints, and a compiler only if one is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from utils import system

ROOT = Path(__file__).resolve().parents[2]


def commands(folder: Path, target: str) -> list[str]:
    """Return the commands of `make target` in a folder with only the Makefile's inputs."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    listed = subprocess.run(
        ["make", "--dry-run", target], cwd=folder, capture_output=True, text=True, check=True
    )
    return listed.stdout.splitlines()


@pytest.mark.parametrize("target", ["run", "test", "lint", "docs", "prebuild", "wheel"])
def test_every_installation_follows_the_constraints(target, tmp_path):
    installed = [line for line in commands(tmp_path, target) if " install " in line]
    installed = [line for line in installed if " -m pip " in line]
    assert installed
    assert all("--constraint constraints.txt --editable" in line for line in installed)


def test_the_checks_follow_the_constraints():
    text = (ROOT / ".github" / "workflows" / "checks.yml").read_text("utf-8")
    installed = re.findall(r"pip install .*", text)
    assert installed
    assert all("--constraint constraints.txt" in line for line in installed)


def test_a_compiler_is_installed_only_where_there_are_no_images(tmp_path):
    asks = "utils.system --compiler"
    assert any(asks in line for line in commands(tmp_path, "run"))
    (tmp_path / "kernels" / "images").mkdir(parents=True)
    (tmp_path / "kernels" / "images" / "manifest.json").touch()
    assert not any(asks in line for line in commands(tmp_path, "run"))


def test_a_compiler_is_missing_only_where_it_is_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(system.sys, "platform", "linux")
    names = {
        asked: {item.name for item in system.missing(**dict.fromkeys(asked, True))}
        for asked in ((), ("compiler",), ("tests",))
    }
    assert "a C++ compiler" not in names[()]
    assert "a C++ compiler" in names[("compiler",)] & names[("tests",)]


def test_a_browser_is_missing_only_where_tests_are_to_run(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(system.sys, "platform", "linux")
    packages = {item.package for item in system.missing(tests=True)}
    assert {"chromium", "chromium-driver"} <= packages
    assert not {"chromium", "chromium-driver"} & {item.package for item in system.missing()}


def test_a_software_gpu_is_missing_only_where_tests_are_to_run(monkeypatch, tmp_path):
    monkeypatch.setattr(system.sys, "platform", "linux")
    monkeypatch.setattr(system, "VULKAN", "libno-such-vulkan.so.1")
    monkeypatch.setattr(system, "VULKAN_FOLDERS", (str(tmp_path / "none"), str(tmp_path)))
    gpu = {"libvulkan1", "mesa-vulkan-drivers"}
    found = [item for item in system.missing(tests=True) if item.purpose == system.SHADERS]
    assert {item.package for item in found} == gpu
    assert not gpu & {item.package for item in system.missing(compiler=True, sound=True)}
    (tmp_path / "lvp_icd.x86_64.json").touch()
    monkeypatch.setattr(system, "VULKAN", "libc.so.6")
    assert not gpu & {item.package for item in system.missing(tests=True)}


def test_a_package_that_a_system_does_not_have_keeps_no_other_from_being_installed(monkeypatch):
    asked: list[list[str]] = []

    def run(step: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(step)
        return subprocess.CompletedProcess(step, int("chromium" in step))

    monkeypatch.setattr(system.subprocess, "run", run)
    found = (
        system.Missing("Chromium", "chromium", system.PAGE),
        system.Missing("libGL.so.1", "libgl1", system.WINDOW),
        system.Missing("libEGL.so.1", "libegl1", system.WINDOW),
    )
    assert not system.install(found)
    assert [step[-2:] for step in asked[1:]] == [
        ["--no-install-recommends", "chromium"],
        ["libgl1", "libegl1"],
    ]
    assert system.install(found[1:])
