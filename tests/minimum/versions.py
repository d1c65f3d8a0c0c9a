"""Install the oldest versions that pyproject.toml declares, all at once and in a place of their own, and try them.

Exits with 0 when everything works, and when the index does not offer a version, which is said.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOWER_BOUND = re.compile(r"(?P<name>[\w.-]+)\s*>=\s*(?P<version>[\w.]+)")
IS_MISSING = re.compile(r"No matching distribution found for (?P<what>\S+)")
NOTHING_OFFERED = "(from versions: none)"
"""What pip says when it did not reach the index; that is a failure."""

OTHERS = {"PIP_CONSTRAINT", "PYTHONPATH", "PYTHONHOME", "NUMBA_CACHE_DIR", "VIRTUAL_ENV"}
"""Settings that would bring in other versions, or kernels compiled by them."""


def declared_minima(pyproject: str) -> dict[str, str]:
    """Give the lower bound of every dependency; one without is an error, because it cannot be true.

    >>> declared_minima('[project]\\ndependencies = ["numba>=0.61,<0.69", "numpy>=2.1"]')
    {'numba': '0.61', 'numpy': '2.1'}
    """
    minima = {}
    for requirement in tomllib.loads(pyproject)["project"]["dependencies"]:
        bound = LOWER_BOUND.match(requirement)
        if bound is None:
            raise SystemExit(f"{requirement!r} declares no minimum version")
        minima[bound["name"]] = bound["version"]
    return minima


def missing_version(said: str) -> str | None:
    """Name what the index does not offer, or give None when pip failed for another reason.

    >>> missing_version("ERROR: No matching distribution found for polars==1.36.0")
    'polars==1.36.0'
    >>> missing_version("ERROR: ResolutionImpossible")
    """
    found = IS_MISSING.search(said)
    return found["what"] if found and NOTHING_OFFERED not in said else None


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command away from everything that is installed elsewhere."""
    environment = {name: value for name, value in os.environ.items() if name not in OTHERS}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def install(python: Path, minima: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Install the package and exactly these versions; what they need themselves is as new as possible."""
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--quiet")
    pinned = (f"{name}=={version}" for name, version in minima.items())
    # Python would compile much that is never imported, and building from source takes minutes.
    return run(*pip, "--no-compile", "--only-binary", ":all:", *pinned, ROOT)


def outcome(minima: dict[str, str], place: Path) -> tuple[int, str]:
    """Install and try; return the exit code and what to say."""
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    installed = install(python, minima)
    if installed.returncode:
        missing = missing_version(installed.stderr)
        return (0, f"skipped, the index lacks {missing}") if missing else (1, f"not installed\n{installed.stderr}")
    tried = run(python, "-P", Path(__file__).with_name("smoke.py"))
    listed = ", ".join(f"{name} {version}" for name, version in minima.items())
    return tried.returncode, f"{listed}: {'ok' if tried.returncode == 0 else 'failed'}\n{tried.stderr}".rstrip()


def main() -> int:
    """Say what was tried, and return the exit code."""
    minima = declared_minima((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        code, said = outcome(minima, Path(place))
    print(f"minimum versions: {said}")
    return code


if __name__ == "__main__":
    sys.exit(main())
