#!/usr/bin/env bash
# build.sh --corpus corpus.jsonl --index-dir DIR
# SICETNON_ENCODER names a local encoder directory to use; without it, one at /task/models/Qwen3-Embedding-0.6B is used
# where it is there and fast enough for the limits, and the embedded one otherwise.
set -euo pipefail
here=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")" && pwd)
source "$here/environment.sh"
exec "$python" -m sicetnon index build --try-encoder /task/models/Qwen3-Embedding-0.6B "$@"
