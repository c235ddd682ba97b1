#!/usr/bin/env bash
# Trains a model: train.sh --corpus corpus.jsonl --examples DIR --out MODEL
# DIR holds queries.jsonl and ground_truth.jsonl. Needs what `make install TRAIN=1` installs: torch above all.
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/environment.sh"
misuse() {
    echo "error: $1; expected --corpus FILE --examples DIR --out MODEL" >&2
    exit 2
}
corpus='' examples='' rest=()
while (($#)); do
    case $1 in
        --corpus | --examples)
            (($# > 1)) || misuse "$1 without a path"
            if [[ $1 == --corpus ]]; then corpus=$2; else examples=$2; fi
            shift 2 ;;
        --corpus=*) corpus=${1#*=}; shift ;;
        --examples=*) examples=${1#*=}; shift ;;
        *) rest+=("$1"); shift ;;
    esac
done
[[ -n $corpus ]] || misuse "no --corpus"
[[ -n $examples ]] || misuse "no --examples"
# The contract draws its queries from the collection that the examples are of; --fresh after this says otherwise.
exec "$python" -m sicetnon train "$corpus" "$examples" --from-pool "${rest[@]}"
