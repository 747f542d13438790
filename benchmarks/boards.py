"""`python -m benchmarks.boards NAME [DATA]`: run a public benchmark; prints its table of docs/public-benchmarks.md."""

import sys
from pathlib import Path

from benchmarks.markdown import markdown_table, results_folder
from lostsales.lab.benchmarks.board import BoardRow, run_board
from lostsales.lab.benchmarks.boards import open_board


def zipkin(rows: list[BoardRow]) -> str:
    """Means over the cases, and those of the published rules."""
    means = [row for row in rows if row.board == "mean of all cases"]
    poisson, geometric = (
        {row.case.partition(", ")[2]: row for row in means if row.case.startswith(law)} for law in ("Poisson", "Geom")
    )
    published = {row.published_by: row.published for row in means if row.published is not None}
    lines = [
        [f"planner, {how.replace('law', 'distribution')}", _figure(poisson[how]), _figure(geometric[how])]
        for how in poisson
    ]
    lines += [[f"{by}, distribution known, as published", f"{value:.2f}", ""] for by, value in published.items()]
    cut = [
        [row.case, f"{row.ours:.3f}", f"{row.std_error:.3f}", f"{row.published:.3f}"]
        for row in rows
        if row.board == "cut observations"
    ]
    above = markdown_table(
        ["average cost, per cent above the optimum", "16 Poisson cases", "12 geometric cases"], lines
    )
    return f"{above}\n\n{markdown_table(['average cost', 'planner', 'standard error', 'published'], cut)}"


def inventorybench(rows: list[BoardRow]) -> str:
    """Both boards side by side."""
    shown, sales_only = ({row.case: row for row in rows if row.board.startswith(name)} for name in ("demand", "only"))
    lines = []
    for case, row in shown.items():
        figures = (row.ours, row.std_error, row.published, sales_only[case].ours)
        lines.append([case.replace("lead time stochastic", "random lead time"), *(f"{each:.3f}" for each in figures)])
    return markdown_table(
        ["", "lookahead", "standard error", "best published", "lookahead, only sales observed"], lines
    )


def vn2(rows: list[BoardRow]) -> str:
    """All windows, and their range."""
    windows = [row for row in rows if row.case.startswith("from-")]
    (whole,) = (row for row in rows if row.case == "all windows")
    ratios, first = [row.ours for row in windows], windows[0].case.split(",")[0].removeprefix("from-")
    ours = f"{whole.ours:.3f} (standard error {whole.std_error:.3f})"
    line = [f"{whole.count}, from {first} on", ours, f"{min(ratios):.3f} to {max(ratios):.3f}"]
    official = [
        [f"official weeks, {row.case}", f"{row.ours:,.0f}", ""] for row in rows if row.board == "official weeks"
    ]
    return markdown_table(["windows", "cost relative to the official rule", "range over windows"], [line, *official])


def freshretail(rows: list[BoardRow]) -> str:
    """Bias and mean absolute error of every way, by cut."""
    cuts = list(dict.fromkeys(row.board for row in rows))
    found: dict[tuple[str, str], list[float]] = {}
    for cut in cuts:
        for figure in dict.fromkeys(row.figure for row in rows):
            of = [row for row in rows if (row.board, row.figure) == (cut, figure)]
            simple = {row.published_by.removesuffix(" (measured here)"): row.published for row in of}
            ours = {f"`impute`{row.case.removeprefix('impute')}": row.ours for row in of}
            for way, value in (simple | ours).items():
                found.setdefault((way, cut), []).append(float(value or 0))
    ways = list(dict.fromkeys(way for way, _ in found))
    lines = [[way, *("{:+.1f} %, {:.3f}".format(*found[way, cut]) for cut in cuts)] for way in ways]
    return markdown_table(["", *(" ".join(cut.split()[:3]) for cut in cuts)], lines)


def orange_juice(rows: list[BoardRow]) -> str:
    """Error and coverage of ours beside the published errors."""
    error, covered = rows[0].ours, rows[-1].ours
    lines = [["`forecast` with known prices", f"{error:.2f}", f"{covered:.1f} %"]]
    lines += [[row.published_by, f"{row.published:.2f}", ""] for row in rows if row.published is not None]
    return markdown_table(["", "mean absolute percentage error", "sales within the 80 % band"], lines)


def _figure(row: BoardRow) -> str:
    return f"{row.ours:.2f}" if row.std_error is None else f"{row.ours:.2f} (standard error {row.std_error:.2f})"


PRINTED = {
    "zipkin": zipkin,
    "inventorybench": inventorybench,
    "vn2": vn2,
    "freshretail": freshretail,
    "orange-juice": orange_juice,
}


if __name__ == "__main__":
    name = sys.argv[1]
    board = open_board(name, Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    print(PRINTED[name](run_board(board, results_folder(name))))
