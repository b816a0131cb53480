"""`install-menu` writes an entry that desktops accept, whatever the program's path."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from PIL import Image

from app.cli import main
from app.commands import install_menu
from app.commands.install_menu import MIME_TYPES, desktop_entry, entry_path, icon_paths
from tests.helpers.errors import mentions

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="entries of freedesktop.org are for Linux"
)

HARD = '/opt/My \\ "own" $HOME `dir` 100% Köln/bin/styleforge'


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return the user's data folder; the environment contains the program."""
    scripts = tmp_path / "my env" / "bin"
    scripts.mkdir(parents=True)
    (scripts / "styleforge").write_text("#!/bin/sh\n")
    (scripts / "styleforge").chmod(0o755)
    monkeypatch.setattr(sysconfig, "get_path", {"scripts": str(scripts)}.__getitem__)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def values(text: str) -> dict[str, str]:
    """Return the keys of an entry, unescaped, using an independent parser."""
    parser = configparser.RawConfigParser(delimiters="=", comment_prefixes="#")
    parser.optionxform = str  # pyright: ignore[reportAttributeAccessIssue]
    parser.read_string(text)
    (section,) = parser.sections()
    assert section == "Desktop Entry"
    return {key: value.replace("\\\\", "\\") for key, value in parser[section].items()}


def words(command: str) -> list[str]:
    """Return the arguments of a command in POSIX shell quoting, which Exec uses too."""
    script = f"printf '%s\\n' {command}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_entry_starts_the_program_of_this_environment(data, capsys):
    assert main(["install-menu"]) == 0
    assert str(entry_path(data)) in capsys.readouterr().out
    entry = values(entry_path(data).read_text("utf-8"))
    program = Path(sysconfig.get_path("scripts")) / "styleforge"
    assert words(entry["Exec"]) == [str(program), "--open", "%F"]
    assert entry["TryExec"] == str(program)
    assert set(entry["MimeType"].rstrip(";").split(";")) == set(MIME_TYPES)


def test_the_entry_is_named_as_the_window_says():
    window = (Path(install_menu.__file__).parents[1] / "ui" / "application.py").read_text("utf-8")
    assert f'setDesktopFileName("{install_menu.NAME}")' in window
    assert f'setApplicationName("{install_menu.WINDOW_CLASS}")' in window


@pytest.mark.parametrize("path", [HARD, "/opt/a b/styleforge", "/opt/%F/styleforge", "/o'p't/s"])
def test_every_path_reaches_the_program_whole(path):
    entry = values(desktop_entry(Path(path)))
    *_, program, flag, files = words(entry["Exec"])
    assert program.replace("%%", "%") == path
    assert (flag, files) == ("--open", "%F")
    assert entry["TryExec"] == path


@pytest.mark.skipif(not shutil.which("gio"), reason="gio is missing (Debian: libglib2.0-bin)")
def test_a_desktop_starts_the_program_whatever_its_path_and_names_the_files(tmp_path):
    program = tmp_path / HARD.removeprefix("/")
    program.parent.mkdir(parents=True)
    told = tmp_path / "told.txt"
    program.write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" > '{told}.part'\nmv '{told}.part' '{told}'\n"
    )
    program.chmod(0o755)
    install_menu.install(tmp_path / "data", program)
    picture = tmp_path / "a picture.png"
    picture.touch()
    entry = entry_path(tmp_path / "data")
    subprocess.run(["gio", "launch", entry, picture], check=True, timeout=30)
    end = time.monotonic() + 30
    while not told.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert told.read_text("utf-8").splitlines() == [str(program), "--open", str(picture)]


@pytest.mark.parametrize(
    ("path", "bad"), [("/a\nExec=b", "\\n"), ("/a=b/s", "="), ("/\udcff", "dcff")]
)
def test_a_path_that_no_entry_can_hold_is_refused_in_one_sentence(path, bad):
    with pytest.raises(install_menu.StyleForgeError, match="menu entry cannot start") as caught:
        desktop_entry(Path(path))
    assert bad in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(
    not shutil.which("desktop-file-validate"), reason="desktop-file-utils is missing"
)
@pytest.mark.parametrize("path", ["/usr/bin/styleforge", HARD])
def test_desktop_file_validate_has_nothing_to_say(path, tmp_path):
    file = tmp_path / "styleforge.desktop"
    file.write_text(desktop_entry(Path(path)), "utf-8")
    done = subprocess.run(
        ["desktop-file-validate", file], capture_output=True, text=True, check=True
    )
    assert done.stdout + done.stderr == ""


def test_an_entry_that_is_refused_is_not_installed(data, tmp_path, monkeypatch, capsys):
    validator = tmp_path / "tools" / "desktop-file-validate"
    validator.parent.mkdir()
    validator.write_text('#!/bin/sh\necho "$1: hint: well"; echo "$1: error: wrong"\nexit 1\n')
    validator.chmod(0o755)
    monkeypatch.setenv("PATH", str(validator.parent), prepend=os.pathsep)
    assert main(["install-menu"]) == 1
    said = capsys.readouterr().err
    assert mentions(said, "refuses", "error: wrong")
    assert not [path for path in data.rglob("*") if path.is_file()]


def test_without_update_desktop_database_the_user_is_told(data, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    assert main(["install-menu"]) == 0
    assert "desktop-file-utils" in capsys.readouterr().err
    assert entry_path(data).is_file()


def test_icons_are_the_drawing_and_pictures_of_the_size_of_their_folder(data):
    assert main(["install-menu"]) == 0
    for path in icon_paths(data):
        if path.suffix == ".png":
            with Image.open(path) as image:
                assert f"{image.width}x{image.height}" == path.parents[1].name
        else:
            assert path.read_text("utf-8").startswith("<svg")


def test_remove_leaves_nothing_of_it_and_what_others_have(data, capsys):
    assert main(["install-menu"]) == 0
    other = data / "applications" / "other.desktop"
    other.write_text("[Desktop Entry]\nType=Application\nName=Other\nExec=other\n")
    assert main(["install-menu", "--remove"]) == 0
    assert "Removed" in capsys.readouterr().out
    assert other.is_file()
    assert not list(data.rglob("*styleforge*"))
    assert main(["install-menu", "--remove"]) == 0
    assert "not in the menu" in capsys.readouterr().out


def test_installing_again_replaces_the_entry(data):
    assert main(["install-menu"]) == 0
    entry_path(data).write_text("old")
    assert main(["install-menu"]) == 0
    assert "Exec" in values(entry_path(data).read_text("utf-8"))
    assert not list(data.rglob(".*"))


def test_an_environment_without_the_program_is_told_so(data, capsys):
    program = Path(sysconfig.get_path("scripts")) / "styleforge"
    program.unlink()
    assert main(["install-menu"]) == 1
    assert f"'{program}' does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_other_systems_are_told_in_one_sentence(system, monkeypatch, capsys):
    monkeypatch.setattr(install_menu.sys, "platform", system)
    assert main(["install-menu"]) == 1
    said = capsys.readouterr().err
    assert "for Linux desktops only" in said
    assert len(said.splitlines()) == 2
