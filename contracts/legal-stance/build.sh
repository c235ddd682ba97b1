#!/usr/bin/env bash
# Builds a legal index: build.sh --corpus corpus.jsonl --index-dir DIR
# SICETNON_MODEL names a model that train.sh wrote; without it, `model` beside this file is used if it is there.
# SICETNON_ENCODER names a local encoder directory to use where there is no model. Without either, the one below is used
# where it is there and fast enough for the limits, and the embedded one otherwise.
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
source "$here/environment.sh"
if [[ -z ${SICETNON_MODEL:-} && -e $here/model ]]; then
    export SICETNON_MODEL=$here/model
fi
exec "$python" -m sicetnon index build --try-encoder /task/models/Qwen3-Embedding-0.6B "$@"
