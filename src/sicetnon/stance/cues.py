"""The words that turn a meaning round, and those that tell whose view a sentence gives. Data, no logic."""

from __future__ import annotations

import re

_AUXILIARIES = "is are was were can could may might must shall should will would does do did has have had"
AUXILIARIES = _AUXILIARIES.split()
_CONTRACTIONS = """
    isn't aren't wasn't weren't couldn't mightn't mustn't shouldn't wouldn't doesn't don't didn't hasn't haven't hadn't
"""
# Contracted denial -> the auxiliary that it denies.
CONTRACTIONS = {word: word.removesuffix("n't") for word in _CONTRACTIONS.split()} | {
    "can't": "can",
    "cannot": "can",
    "shan't": "shall",
    "won't": "will",
    "needn't": "need",
}
_NEGATIONS = """
    not no never neither nor none without nothing nobody hardly lacks lack lacked lacking fails fail failed failing
"""
NEGATIONS = frozenset(_NEGATIONS.split()) | CONTRACTIONS.keys()

# Concept -> words that affirm it, words that deny it.
OPPOSITES: dict[str, tuple[str, str]] = {
    "permit": (
        "permit permitted allow allowed may can let authorize authorized entitled free empowered permissible",
        """prohibit prohibited forbid forbids forbidden ban banned bar barred barring preclude prevent disallow restrict
        block outlaw outlawed impermissible""",
    ),
    "valid": (
        """valid validity constitutional lawful legal uphold upheld proper legitimate survives survive satisfies satisfy
        sustain sustained affirm affirmed comply consistent comports stands enforce enforced accept accepted""",
        """invalid unconstitutional void violate violates violated violation unlawful illegal strike struck improper
        illegitimate infringe offend offended contravene breach exceeds exceeded inconsistent incompatible reverse
        reversed conflicts unenforceable reject rejected""",
    ),
    "require": (
        """require required requirement must need necessary obliged shall mandatory demand compel compelled essential
        duty""",
        "optional voluntary discretionary excused dispense exempt relieved unnecessary",
    ),
    "grant": (
        "grant granted give given award awarded recognize create extend confer guarantee",
        "deny denied refuse refused withhold withheld decline declined deprive deprived take taken strip stripped",
    ),
    "protect": (
        "protect protected protection shelter safeguard shield immune immunity secure preserve",
        "unprotected expose exposed liable punish punished punishment penalize vulnerable",
    ),
    "enough": ("enough sufficient suffice adequate reasonable", "insufficient inadequate unreasonable"),
    "broad": (
        "always all any every each whole entire absolute absolutely regardless whenever categorical automatically",
        "only some sometimes limited narrow except unless certain particular partial partly",
    ),
    "more": (
        "increase raise more greater higher broader stricter",
        "decrease lower reduce less fewer lessen lighter",
    ),
    "guilt": ("guilty convicted conviction", "innocent acquitted acquittal"),
}

# Words of OPPOSITES and NEGATIONS that are stop words elsewhere but carry meaning here.
KEPT_STOP_WORDS = frozenset({"may", "can", "must", "only", "any", "all", "each", "some", "more", "shall"})

HOLDING = re.compile(
    r"\b(held|holds?|holding|ruled|concluded|decided|declared|affirmed|reversed|upheld|struck|overruled)\b|^(yes|no)\b",
    re.IGNORECASE,
)
REPORTED = re.compile(
    r"\b(dissent\w*|lower court|court of appeals|district court|circuit|trial (?:court|judge)|argued|contended|claimed|"
    r"petitioner|respondent|appealed|sought|sued|believed|had (?:held|ruled|upheld|found))\b",
    re.IGNORECASE,
)
ANSWER = re.compile(r"^\W*(yes|no)\b", re.IGNORECASE)
