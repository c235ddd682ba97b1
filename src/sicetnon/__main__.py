"""``python3 -m sicetnon``: the command line, also from a checkout that is not installed."""

import sys

try:
    from sicetnon.cli import main
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("sicetnon"):
        raise
    sys.stderr.write(
        f"error: {error.name} is not installed for {sys.executable}; expected the packages that Sicetnon needs; "
        "run make install in its folder, or name a Python that has them in SICETNON_PYTHON\n"
    )
    sys.exit(1)

main()
