"""The command line: one file a group of commands. Data goes to standard output, talk to standard error.

Imports the rest of the package inside each command, so that ``--help`` is quick and needs no model.
"""

from sicetnon.cli.app import main

__all__ = ["main"]
