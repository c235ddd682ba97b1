#!/usr/bin/env bash
# Answers a file of queries: run.sh --index-dir DIR --queries queries.jsonl --output results.jsonl --top-k 10
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/environment.sh"
exec "$python" -m sicetnon batch "$@"
