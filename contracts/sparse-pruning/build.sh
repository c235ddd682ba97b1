#!/usr/bin/env bash
# Builds a sparse index: build.sh --corpus corpus.jsonl --index-dir DIR
# Needs Python 3.11 or later with NumPy; SICETNON_PYTHON names another interpreter than python3.
set -euo pipefail
repository=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd -P)
# PYTHONSAFEPATH: a numpy.py or json.py in the caller's directory is not ours to import.
export PYTHONPATH="$repository/src" PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
exec "${SICETNON_PYTHON:-python3}" -m sicetnon.sparse build "$@"
