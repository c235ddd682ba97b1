# Sourced by the contracts' scripts. Nothing is written into the user's home, nor into the code's tree but Python's own
# __pycache__, and a numpy.py or json.py in the caller's directory is not imported (PYTHONSAFEPATH). SICETNON_PYTHON
# names another interpreter.
repository=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
export PYTHONPATH="$repository/src" PYTHONSAFEPATH=1
python=${SICETNON_PYTHON:-python3}
