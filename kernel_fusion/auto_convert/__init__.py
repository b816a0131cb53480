"""Converts other people's models to fused operations, and verifies their results and speed."""

from __future__ import annotations

from kernel_fusion.auto_convert.comparison import Validation as Validation
from kernel_fusion.auto_convert.comparison import validate_optimization as validate_optimization
from kernel_fusion.auto_convert.converter import ModelConverter as ModelConverter
from kernel_fusion.auto_convert.converter import auto_convert_model as auto_convert_model
from kernel_fusion.auto_convert.stats import ConversionStats as ConversionStats
from kernel_fusion.auto_convert.stats import Skipped as Skipped
