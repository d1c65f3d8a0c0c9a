"""Compiling all kernels before they are needed."""

from __future__ import annotations

from dissensus.compilation.ahead import can_be_kept, compile_kernels, compile_missing, is_compiled

__all__ = ["can_be_kept", "compile_kernels", "compile_missing", "is_compiled"]
