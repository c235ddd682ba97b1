# Sourced by the contracts' scripts. Nothing is written into the code's tree or the user's home, and a numpy.py or
# json.py in the caller's directory is not imported (PYTHONSAFEPATH). SICETNON_PYTHON names another interpreter.
repository=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
export PYTHONPATH="$repository/src" PYTHONDONTWRITEBYTECODE=1 PYTHONSAFEPATH=1
python=${SICETNON_PYTHON:-python3}
