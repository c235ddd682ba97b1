#!/usr/bin/env bash
# Builds a legal index: build.sh --corpus corpus.jsonl --index-dir DIR
# SICETNON_ENCODER names a local encoder directory to use. Without it, the one below is used where it is there and fast
# enough for the limits, and the embedded one otherwise.
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/environment.sh"
exec "$python" -m sicetnon index build --try-encoder /task/models/Qwen3-Embedding-0.6B "$@"
