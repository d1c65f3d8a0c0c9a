"""Studies to try things on: simulated ones that ship as code, and loaders of published ones."""

from __future__ import annotations

from dissensus.datasets.ava import Ava, fetch_ava, load_ava
from dissensus.datasets.chaosnli import ChaosNLI, fetch_chaosnli, load_chaosnli
from dissensus.datasets.cifar10h import Cifar10h, fetch_cifar10h, load_cifar10h
from dissensus.datasets.dermatology import Dermatology, fetch_dermatology, load_dermatology
from dissensus.datasets.dermxdb import DermXDB, fetch_dermxdb, load_dermxdb
from dissensus.datasets.ecg import Ecg, fetch_ecg, load_ecg
from dissensus.datasets.findings import Skill, simulate_binary, simulate_checklists
from dissensus.datasets.printed_cases import printed_cases
from dissensus.datasets.simulation import Expertise, simulate_study
from dissensus.datasets.toy import ToyProblem, toy_problem
from dissensus.datasets.wikipedia_toxicity import (
    WikipediaToxicity,
    fetch_wikipedia_toxicity,
    load_wikipedia_toxicity,
)

__all__ = [
    "Ava",
    "ChaosNLI",
    "Cifar10h",
    "DermXDB",
    "Dermatology",
    "Ecg",
    "Expertise",
    "Skill",
    "ToyProblem",
    "WikipediaToxicity",
    "fetch_ava",
    "fetch_chaosnli",
    "fetch_cifar10h",
    "fetch_dermatology",
    "fetch_dermxdb",
    "fetch_ecg",
    "fetch_wikipedia_toxicity",
    "load_ava",
    "load_chaosnli",
    "load_cifar10h",
    "load_dermatology",
    "load_dermxdb",
    "load_ecg",
    "load_wikipedia_toxicity",
    "printed_cases",
    "simulate_binary",
    "simulate_checklists",
    "simulate_study",
    "toy_problem",
]
