"""Published data that experiments and trials need: loaders, the cases that the paper prints, and its toy problem."""

from __future__ import annotations

from paper.data.ava import Ava, fetch_ava, load_ava
from paper.data.chaosnli import ChaosNLI, fetch_chaosnli, load_chaosnli
from paper.data.cifar10h import Cifar10h, fetch_cifar10h, load_cifar10h
from paper.data.dermatology import Dermatology, fetch_dermatology, load_dermatology
from paper.data.dermxdb import DermXDB, fetch_dermxdb, load_dermxdb
from paper.data.ecg import Ecg, fetch_ecg, load_ecg
from paper.data.printed_cases import printed_cases
from paper.data.toy import ToyProblem, toy_problem
from paper.data.wikipedia_toxicity import WikipediaToxicity, fetch_wikipedia_toxicity, load_wikipedia_toxicity

__all__ = [
    "Ava",
    "ChaosNLI",
    "Cifar10h",
    "DermXDB",
    "Dermatology",
    "Ecg",
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
    "toy_problem",
]
