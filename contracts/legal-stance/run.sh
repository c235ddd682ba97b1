#!/usr/bin/env bash
# run.sh --index-dir DIR --queries queries.jsonl --output results.jsonl --top-k 10
set -euo pipefail
here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
source "$here/environment.sh"
exec "$python" -m sicetnon batch "$@"
