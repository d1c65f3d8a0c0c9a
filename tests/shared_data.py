"""The published data beside the project; tests that need it are skipped where it is absent."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the published data is not beside the project")
