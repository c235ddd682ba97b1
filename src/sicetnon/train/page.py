"""A retrieval report as one HTML file that needs nothing else: tables, and plots drawn as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sicetnon.train.measuring import Estimate
from sicetnon.train.report import CalibrationBin, RetrievalReport, word_cross_encoder, word_unknown

STYLE = """
:root { color-scheme: light dark; --line: light-dark(#1d4e89, #8ab8ee); --soft: light-dark(#c9d6e6, #3a4a5e); }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem .2rem 0; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
svg text { font-size: 12px; fill: currentColor; } .axis { stroke: currentColor; opacity: .4; }
.range { stroke: var(--line); stroke-width: 2; } .mean { fill: var(--line); } .even { stroke: var(--soft); }
"""
WIDTH, LEFT, ROW = 640, 190, 26
SIDE = 280  # of the calibration plot


def write_page(report: RetrievalReport) -> str:
    """The page."""
    slices = [(name, held.ndcg) for name, held in report.slices.items()]
    gains = [(name, left.gain) for name, left in report.ablation.items()]
    rows = [
        (name, f"{held.queries:,}", f"{held.ndcg:.3f}", f"{held.recall:.3f}") for name, held in report.slices.items()
    ]
    left_out = [(name, f"{left.ndcg:.3f}", f"{left.gain:+.3f}") for name, left in report.ablation.items()]
    doubts = [(held.proposition, str(held.stance), held.doc_id, f"{held.other:.2f}") for held in report.doubts]
    bins = [(f"{held.probability:.3f}", f"{held.relevant:.3f}", f"{held.candidates:,}") for held in report.calibration]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Training report</title><style>{STYLE}</style></head><body>
<h1>Training report</h1>
<p>{report.propositions:,} propositions, each scored by an encoder, a memory and a ranker that had not seen it.
Intervals hold the mean with a chance of 95 in 100, by resampling propositions. {report.seconds / 60:.0f} minutes.
{_tell_unknown(report)}</p>
<h2>Quality</h2>
{_plot_estimates("nDCG at 10", slices, low=0.0, high=1.0)}
{_table(("queries", "number", "nDCG@10", "R@100"), rows)}
<h2>What each part adds</h2>
<p>By rankers that are not told of it. The sum by which candidates are picked stays as it is.</p>
{_plot_estimates("gain in nDCG at 10", gains, *_reach([gain for _, gain in gains]))}
{_table(("without", "nDCG@10", "it adds"), left_out)}
{_tell_cross_encoder(report)}
<h2>Calibration</h2>
<p>Of documents said to be on point with a probability, the share that is; by curves fitted on other propositions.
Expected calibration error {report.calibration_error:.3f}.</p>
{_plot_calibration(report.calibration)}
{_table(("probability", "on point", "candidates"), bins)}
<h2>Sides</h2>
<p>Where a side is asked for, the probability of that side counts with the exponent {report.stance_weight:g}. What the
side gains in nDCG@10, with exponents that were chosen on other propositions: {report.stance_gain:+.3f}. Labels that
the stance model doubts, the surest first:</p>
{_table(("proposition", "labelled", "document", "probability of the other side"), doubts)}
</body></html>
"""


def _tell_unknown(report: RetrievalReport) -> str:
    return f"{escape(word_unknown(report.unknown))}." if report.unknown else ""


def _tell_cross_encoder(report: RetrievalReport) -> str:
    if report.cross_encoder is None:
        return ""
    return f"<p>Beside the ranker, {word_cross_encoder(report.cross_encoder)}.</p>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        f"<tr><td>{escape(row[0])}</td>{''.join(f'<td class=number>{escape(cell)}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _reach(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """An axis that holds 0 and every interval."""
    low = min([0.0, *(estimate.low for estimate in estimates)])
    high = max([0.0, *(estimate.high for estimate in estimates)])
    return low, max(high, low + 0.01)


def _plot_estimates(title: str, estimates: Sequence[tuple[str, Estimate]], low: float, high: float) -> str:
    def place(value: float) -> float:
        return LEFT + (WIDTH - LEFT - 20) * (value - low) / (high - low)

    height = ROW * len(estimates) + 24
    marks = [f'<line class="axis" x1="{place(0):.1f}" x2="{place(0):.1f}" y1="0" y2="{height - 20}"/>']
    for number, (name, held) in enumerate(estimates):
        y = ROW * number + ROW / 2
        marks.append(
            f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(name)}</text>'
            f'<line class="range" x1="{place(held.low):.1f}" x2="{place(held.high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="mean" cx="{place(held.mean):.1f}" cy="{y}" r="4"/>'
        )
    marks += [
        f'<text x="{place(value):.1f}" y="{height - 4}" text-anchor="middle">{value:.2f}</text>'
        for value in (low, high)
    ]
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {WIDTH} {height}" width="100%">'
        f"{''.join(marks)}</svg>"
    )


def _plot_calibration(bins: Sequence[CalibrationBin]) -> str:
    def place(value: float) -> float:
        return 30 + (SIDE - 50) * value

    marks = [
        f'<line class="even" x1="{place(0)}" y1="{SIDE - place(0)}" x2="{place(1)}" y2="{SIDE - place(1)}"/>',
        f'<line class="axis" x1="{place(0)}" y1="{SIDE - place(0)}" x2="{place(1)}" y2="{SIDE - place(0)}"/>',
        f'<line class="axis" x1="{place(0)}" y1="{SIDE - place(0)}" x2="{place(0)}" y2="{SIDE - place(1)}"/>',
        f'<text x="{place(1)}" y="{SIDE - 10}" text-anchor="end">probability</text>',
        f'<text x="{place(0) + 4}" y="{SIDE - place(1) + 10}">on point</text>',
    ]
    marks += [
        f'<circle class="mean" cx="{place(held.probability):.1f}" cy="{SIDE - place(held.relevant):.1f}" r="4"/>'
        for held in bins
    ]
    return (
        f'<svg role="img" aria-label="Share on point by probability" viewBox="0 0 {SIDE} {SIDE}" width="{SIDE}">'
        f"{''.join(marks)}</svg>"
    )
