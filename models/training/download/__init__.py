"""Downloads torchvision's VGG-19: the layers in use by range requests, or the whole file."""

from __future__ import annotations

from models.training.download.vgg import DOWNLOADS as DOWNLOADS
from models.training.download.vgg import cached_vgg as cached_vgg
from models.training.download.vgg import layers_proven as layers_proven
from models.training.download.vgg import present_vgg as present_vgg
