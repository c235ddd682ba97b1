# Sourced by build.sh and run.sh, with $here set: which Python, and nothing written into the code's tree or the home.
root=$(cd -- "$here/../.." && pwd)
# PYTHONSAFEPATH: a numpy.py or json.py in the caller's directory is not ours to import.
export PYTHONPATH="$root/src" PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1 HF_HUB_OFFLINE=1
python=${SICETNON_PYTHON:-python3}
if [[ -z ${SICETNON_PYTHON:-} && -x $root/.venv/bin/python ]]; then
    python=$root/.venv/bin/python
fi
