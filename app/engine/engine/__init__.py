"""The engine, which turns a frame into a styled frame."""

from app.engine.engine.engine import SIZES, Engine
from app.engine.engine.faults import EngineError

__all__ = ["SIZES", "Engine", "EngineError"]
