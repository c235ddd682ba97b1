# Sourced by build.sh, run.sh and train.sh: prefers the environment that `make install` made. No model is fetched.
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../environment.sh"
export HF_HUB_OFFLINE=1
if [[ -z ${SICETNON_PYTHON:-} && -x $repository/.venv/bin/python ]]; then
    python=$repository/.venv/bin/python
fi
