#!/usr/bin/env bash
# Builds a sparse index: build.sh --corpus corpus.jsonl --index-dir DIR
# Needs Python 3.11 or later with NumPy, nothing else. One process, one thread.
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../environment.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
exec "$python" -m sicetnon.sparse build "$@"
