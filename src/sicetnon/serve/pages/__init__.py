"""The web page: given a proposition in a browser, show the decisions for it and those against it.

Works without a script; no other host is asked for anything.
"""

from sicetnon.serve.pages.pages import Pages

__all__ = ["Pages"]
