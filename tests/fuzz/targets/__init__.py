"""All targets; a new kind of file, stream or setting needs a row here."""

from __future__ import annotations

from tests.fuzz.case import Target
from tests.fuzz.targets.addresses import Addresses
from tests.fuzz.targets.any_style import AnyStyleFiles
from tests.fuzz.targets.checkpoints import Checkpoints
from tests.fuzz.targets.drops import Drops
from tests.fuzz.targets.film_exports import FilmExports
from tests.fuzz.targets.films import Films
from tests.fuzz.targets.folders import Folders
from tests.fuzz.targets.metadata import Metadata
from tests.fuzz.targets.photographs import PhotographFolders
from tests.fuzz.targets.pictures import PictureFiles
from tests.fuzz.targets.queues import Queues
from tests.fuzz.targets.records import Records
from tests.fuzz.targets.reports import Reports
from tests.fuzz.targets.resumes import Resumes
from tests.fuzz.targets.runs import TrainingRuns
from tests.fuzz.targets.scripts import Script
from tests.fuzz.targets.settings import SettingsFiles
from tests.fuzz.targets.streams import Streams
from tests.fuzz.targets.styles import StylePacks
from tests.fuzz.targets.vgg import VggFiles

TARGETS: tuple[Target, ...] = (
    Checkpoints(),
    AnyStyleFiles(),
    VggFiles(),
    StylePacks(),
    PictureFiles(),
    Metadata(),
    Folders(),
    Films(),
    FilmExports(),
    Streams(),
    Addresses(),
    Drops(),
    SettingsFiles(),
    Records(),
    TrainingRuns(),
    Queues(),
    Resumes(),
    PhotographFolders(),
    Reports(),
    Script("window", "tests.stress.random_actions", 200),
    Script("kills", "tests.stress.kill_training", 6),
)
