#!/usr/bin/env bash
# Answers a file of queries: run.sh --index-dir DIR --queries queries.jsonl --output results.jsonl --top-k 10
# SICETNON_DEADLINE is when results are to be there, counted from the start: 18s if unset; if empty, whenever all is done.
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/environment.sh"
deadline=${SICETNON_DEADLINE-18s}
exec "$python" -m sicetnon batch ${deadline:+--deadline "$deadline"} "$@"
