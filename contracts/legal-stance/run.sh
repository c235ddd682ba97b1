#!/usr/bin/env bash
# Answers a file of queries: run.sh --index-dir DIR --queries queries.jsonl --output results.jsonl --top-k 10
# SICETNON_DEADLINE is when results are to be there, counted from the start; empty: however long it takes.
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/environment.sh"
deadline=${SICETNON_DEADLINE-18s}
exec "$python" -m sicetnon batch ${deadline:+--deadline "$deadline"} "$@"
