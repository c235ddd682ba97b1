#!/usr/bin/env bash
# Trains a model: train.sh --corpus corpus.jsonl --examples DIR --out MODEL
# DIR holds queries.jsonl and ground_truth.jsonl. Needs what `make install TRAIN=1` installs: torch above all.
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/environment.sh"
corpus='' examples='' rest=()
while (($#)); do
    case $1 in
        --corpus) corpus=${2:?--corpus needs a file}; shift 2 ;;
        --examples) examples=${2:?--examples needs a folder}; shift 2 ;;
        *) rest+=("$1"); shift ;;
    esac
done
exec "$python" -m sicetnon train "${corpus:?--corpus is missing}" "${examples:?--examples is missing}" "${rest[@]}"
