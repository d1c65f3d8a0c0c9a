"""Studies to try things on: simulated ones that ship as code."""
