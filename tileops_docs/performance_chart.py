"""One small chart an operator: each workload's share of the speed of light, and the strongest peer's.

SVG inside the page, in the page's own colours, so that it is right in light and in dark. The table above has
the same figures.
"""

from __future__ import annotations

from html import escape

from tileops_docs.performance import Performance, Row

__all__ = ["chart"]

LINE, BAR = 20, 10  # heights
LABELS, WIDTH, FIGURES = 262, 300, 48  # columns: names, bars, figures
TOP = 18


def chart(found: Performance) -> str:
    """The chart as an `svg` element; nothing where no row has a share."""
    rows = [row for row in found.measured if row.share is not None]
    if not rows:
        return ""
    height = TOP + LINE * len(rows) + 4
    total = LABELS + WIDTH + FIGURES
    title = f"{found.op}: share of the speed of light for each workload, with the strongest peer's as a mark"
    parts = [
        f'<svg class="op-chart" role="img" data-search-exclude viewBox="0 0 {total} {height}" '
        f'width="{total}" height="{height}" xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title>'
    ]
    for percent in (0, 25, 50, 75, 100):
        x = LABELS + WIDTH * percent / 100
        parts.append(f'<line class="op-chart__grid" x1="{x:g}" x2="{x:g}" y1="{TOP - 4}" y2="{height - 2}"/>')
        parts.append(
            f'<text class="op-chart__tick" x="{x:g}" y="{TOP - 8}" text-anchor="middle">{percent} %</text>'
        )
    parts += [_row(row, TOP + LINE * n) for n, row in enumerate(rows)]
    return "".join([*parts, "</svg>"])


def _row(row: Row, y: float) -> str:
    share = min(row.share or 0.0, 1.0)
    middle, top = y + LINE / 2, y + (LINE - BAR) / 2
    label = f"{row.label}, {_short(row.dtypes)}"
    out = [
        f'<text class="op-chart__label" x="{LABELS - 8}" y="{middle + 3.5:g}" text-anchor="end">'
        f"{escape(_cut(label))}<title>{escape(label)}</title></text>",
        f'<rect class="op-chart__bar op-chart__bar--{row.kind}" x="{LABELS}" y="{top:g}" '
        f'width="{WIDTH * share:.1f}" height="{BAR}"/>',
    ]
    if row.peer_us is not None:
        x = LABELS + WIDTH * min(row.data["floor_us"] / row.peer_us, 1.0)
        mark = f"M{x - 1.5:.1f} {top - 3:g}h3v{BAR + 6}h-3z"
        out.append(f'<path class="op-chart__peer" d="{mark}"><title>{escape(row.strongest)}</title></path>')
    figure = f"{row.percent} %"
    out.append(
        f'<text class="op-chart__figure" x="{LABELS + WIDTH + 8}" y="{middle + 3.5:g}">{figure}</text>'
    )
    return "".join(out)


def _short(dtypes: str) -> str:
    return dtypes.replace("bfloat16", "bf16").replace("float16", "fp16").replace("float32", "fp32")


def _cut(text: str, most: int = 44) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
