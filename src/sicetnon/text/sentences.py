"""Text -> sentence spans, by nupunkt, a segmenter made for legal text ("v.", "U.S.C.", "No. 12-345")."""

from __future__ import annotations

import re

from sicetnon.types import Span

PARAGRAPH_BREAK = re.compile(r"\n\s*\n")
# nupunkt's time grows with the square of a run of marks that may end a sentence, which scanned pages hold: a leader of
# dots, a line of exclamation marks. Such a run is read as one word of the same length.
LONG_RUN = re.compile(r"[^\w\s]{16,}")


def split_sentences(text: str) -> list[Span]:
    """The sentences of ``text`` in order, without the white space around them; none crosses a blank line.

    Together they cover every character that is not white space.
    """
    import nupunkt  # here, so that importing the package loads no model

    spans = []
    start = 0
    for end in [match.end() for match in PARAGRAPH_BREAK.finditer(text)] + [len(text)]:
        paragraph = text[start:end]
        if paragraph.strip():
            tamed = LONG_RUN.sub(lambda run: "x" * len(run[0]), paragraph)
            spans += [Span(start + a, start + b) for a, b in nupunkt.sent_spans(tamed)]
        start = end
    return [trimmed for span in spans if (trimmed := _trim(text, span)) is not None]


def _trim(text: str, span: Span) -> Span | None:
    body = span.of(text)
    stripped = body.strip()
    if not stripped:
        return None
    start = span.start + len(body) - len(body.lstrip())
    return Span(start, start + len(stripped))
