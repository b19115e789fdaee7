"""A small finished run, made by hand: what the book is built from, without running the workflow."""

import io
import json
import shutil
from pathlib import Path

import matplotlib
import nbformat
import yaml
from matplotlib.figure import Figure
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from reproduction.book.verdicts import verdicts_text

ROOT = Path(__file__).parents[2]

EXHIBITS = {
    "parts": [
        {"id": "foundations", "title": "Chapter 2: foundations"},
        {"id": "empirical_risk", "title": "Chapter 3: empirical risk"},
    ],
    "sections": [
        {
            "id": "structured_losses",
            "part": "foundations",
            "title": "Two convex bounds of one loss",
            "summary": "Margin and slack rescaling bound the step loss.",
            "notebook": "20_structured_losses",
            "experiments": ["structured_losses"],
        },
        {
            "id": "joint_kernel_support",
            "part": "empirical_risk",
            "title": "Joint kernel support estimation",
            "summary": "Detectors that bear wrong labels, at $r < 1$ & B* alike.",
        },
    ],
    "exhibits": [
        {
            "id": "T-fig-2.1",
            "section": "structured_losses",
            "kind": "figure",
            "title": "Margin- and slack-rescaled hinge above the step loss",
            "published": "curves",
        },
        {
            "id": "T-tab-2.9",
            "section": "structured_losses",
            "kind": "table",
            "title": "Values of both bounds",
            "published": "1 | 2 <b>",
        },
        {
            "id": "T-tab-3.1",
            "section": "joint_kernel_support",
            "kind": "table",
            "title": "Equal error rates with label noise",
            "published": "S-SVM .18 .16 .27; JKSE .36 .35 .43",
        },
    ],
}

#: What a claim has if nothing that it rests on was measured repeatedly.
CERTAIN = {
    "intervals": {},
    "published_spread": None,
    "control": False,
    "requires": [],
    "history": [],
    "probability": None,
    "units": {},
}

CLAIMS = [
    {
        "id": "T-fig-2.1.bounds",
        "exhibit": "T-fig-2.1",
        "text": "Both bound the step loss everywhere.",
        "source": "figure 2.1",
        "experiment": "structured_losses",
        "published": "yes",
        "ours": {"smallest_gap": 0.0123456},
        **CERTAIN,
        "intervals": {"smallest_gap": {"low": 0.01, "high": 0.0146912}},
        "probability": 0.98,
        "units": {"seed": 5},
        "status": "reproduced",
        "reason": None,
        "badge": "no data",
        "datasets": {},
        "basis": "as in the source, without data",
        "departures": [],
    },
    {
        "id": "T-fig-2.1.equal",
        "exhibit": "T-fig-2.1",
        "text": "They are equal at the margin point.",
        "source": "figure 2.1",
        "experiment": "structured_losses",
        "published": [1.0, 2.0],
        "ours": {"at_margin": [1.0, -2.5]},
        **CERTAIN,
        "status": "not reproduced",
        "reason": None,
        "badge": "simulated data",
        "datasets": {"uiuc_cars": "simulated"},
        "basis": "simulated data",
        "departures": [
            {"basis": "another size", "text": "scenes 12, published 170"},
            {"basis": "simulated data", "text": "uiuc_cars"},
        ],
    },
    {
        "id": "T-tab-3.1.chi2-beats-both",
        "exhibit": "T-tab-3.1",
        "text": "chi2 JKSE beats both for every r < 1; V D* V' and _B*_ too.",
        "source": "table 3.1",
        "experiment": "joint_kernel_support",
        "published": None,
        "ours": {},
        **CERTAIN,
        "status": "not tested",
        "reason": "section not built yet",
        "badge": None,
        "datasets": {},
        "basis": None,
        "departures": [],
    },
]

ERRATA = {
    "errata": [
        {
            "id": "T-laplacian",
            "where": "Thesis, section 4.1.3",
            "printed": "$D^{-1/2} (W-D) D^{-1/2}$",
            "correct": "$D^{-1/2} (D-W) D^{-1/2}$",
            "why": "The sign makes it negative semi-definite.",
            "test": None,
        }
    ]
}

REGISTRY = {
    name: {
        "title": title,
        "description": "Made of *stars*, $x^2$ and <b>tags</b>.",
        "used_for": ["T-tab-3.1", "T-fig-9.9"],
        "counts": {"images": 1700, "boxes": 200},
        "files": 1901,
        "bytes": 7_000_000,
        "tree_sha256": "fedcba9876543210" * 4,
        "licence": "free for research",
        "citation": "Agarwal, Awan and Roth (2004), https://example.org/cars?a=1&b=2",
        "homepage": "https://example.org/",
        "notes": None,
        "sources": {"mirror": None, "package": None, "address": None, "simulator": None},
    }
    for name, title in (("uiuc_cars", "UIUC cars"), ("flowers17", "Flowers"), ("graphs_tu", "TU graphs"))
}

RECEIPTS = [
    {
        "dataset": "uiuc_cars",
        "status": "available",
        "kind": "simulated",
        "source": "simulator",
        "folder": "data/raw/uiuc_cars",
        "tree_sha256": "0123456789abcdef" * 4,
        "files": 1234,
        "bytes": 5_600_000,
        "reason": None,
        "detail": "seed 0",
    },
    {
        "dataset": "flowers17",
        "status": "unavailable",
        "kind": None,
        "source": None,
        "folder": None,
        "tree_sha256": None,
        "files": None,
        "bytes": None,
        "reason": "No mirror holds flowers17: set `mirror` to a folder that does.",
        "detail": None,
    },
]

PROVENANCE = {
    "code": {
        "commit": "1234567890123456789012345678901234567890",
        "date": "2024-02-29T12:00:00+00:00",
        "subject": "A commit with *stars* and $dollars",
        "dirty": True,
        "changed_files": 2,
    },
    "python": "3.11.9",
    "implementation": "cpython",
    "packages": {"numpy": "2.4.6", "scipy": "1.17.1"},
    "config": {"scale": "demo", "seed": 0, "mirror": None, "sizes": {"samples": 100}},
    "seeds": [0, 1],
    "machine": {
        "cores": 2,
        "memory_bytes": 8_000_000_000,
        "processor": "A processor",
        "architecture": "x86_64",
        "system": "Linux",
        "release": "Debian 12",
    },
    "run": {
        "finished": "2024-02-29T13:00:00+00:00",
        "rules": [
            {"rule": "acquire", "jobs": 2, "seconds": 3.5, "max_memory_mb": None},
            {"rule": "evaluate", "jobs": 1, "seconds": 185.0, "max_memory_mb": 321.5},
        ],
    },
}

MATHS = r"""Inline $w \in \mathbb{R}^d$ and $\lVert w \rVert_2$, and apart:

$$\min_w \lambda\Omega(w) + R(w)$$

$$
\Delta(y, z) = \begin{cases} 0 & \text{if } y = z \\ 1 & \text{otherwise} \end{cases}
$$

\begin{align}
\mathcal{L}(w) &= \sum_{i=1}^n \max_{y \in \mathcal{Y}} \Delta(y_i, y) \\
\boldsymbol{\alpha} &\geq 0
\end{align}
"""


def picture() -> str:
    """Return a small SVG plot."""
    figure = Figure(figsize=(6, 3))
    axes = figure.subplots()
    axes.plot([-2, 1, 3], [3, 0, 0], label="hinge")
    axes.step([-2, 0, 3], [1, 1, 0], label="step loss")
    axes.legend()
    stream = io.BytesIO()
    # As in the project's style: without a salt of its own, each picture gets other ids.
    with matplotlib.rc_context({"svg.hashsalt": "small run"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue().decode()


def _shown_claims() -> list[dict]:
    """Return the claims of the executed notebook, and a control."""
    claims = [claim for claim in CLAIMS if claim["exhibit"] == "T-fig-2.1"]
    control = {**claims[0], "id": "T-fig-2.1.control", "text": "Noise bounds nothing.", "control": True}
    return [*claims, {**control, "status": "not reproduced"}]


#: The reference runs know one of the claims.
REFERENCES = {
    "demo": {
        "claims": {"T-fig-2.1.bounds": {**CLAIMS[0], "ours": {"smallest_gap": 0.0111}, "status": "undecided"}}
    },
    "paper": {"claims": {"T-fig-2.1.bounds": {**CLAIMS[0], "ours": {"smallest_gap": 0.0122}}}},
}


def executed_notebook() -> nbformat.NotebookNode:
    """Return a notebook as the workflow leaves it: prose, parameters, a figure, a table."""
    table = '<table border="1" class="dataframe"><tr><th>loss</th></tr><tr><td>1.0</td></tr></table>'
    cells = [
        new_markdown_cell("# Two convex bounds of one loss\n\n" + MATHS, id="title"),
        new_code_cell('figures = "reports/figures"', id="parameters", metadata={"tags": ["parameters"]}),
        new_code_cell(
            'save_figure(fig, figures, "T-fig-2.1", curves)',
            id="figure",
            execution_count=2,
            outputs=[new_output("display_data", {"image/svg+xml": picture(), "text/plain": "<Figure>"})],
        ),
        new_markdown_cell("## What we see\n\nBoth curves stay above the step.", id="what-we-see"),
        new_code_cell(
            "curves.head()",
            id="table",
            execution_count=3,
            outputs=[
                new_output("execute_result", {"text/html": table, "text/plain": "loss"}, execution_count=3)
            ],
        ),
        new_markdown_cell("## Published and ours", id="published-and-ours"),
        new_code_cell(
            'verdicts("structured_losses", results)',
            id="verdicts",
            execution_count=4,
            outputs=[
                new_output(
                    "execute_result",
                    {"text/markdown": verdicts_text(_shown_claims(), REFERENCES), "text/plain": "verdicts"},
                    execution_count=4,
                )
            ],
        ),
    ]
    language = {"name": "python", "pygments_lexer": "ipython3"}
    kernel = {"name": "python3", "display_name": "Python 3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": language})


def write_small_run(folder: Path) -> dict[str, object]:
    """Write the run into ``folder`` and return where its files are, as `read_run` wants them."""
    for name in ("config", "data/receipts", "reports/notebooks", "reports/figures", "reports/tables"):
        (folder / name).mkdir(parents=True)
    shutil.copytree(ROOT / "workflow/schemas", folder / "workflow/schemas")
    for path, document in (
        ("config/exhibits.yaml", EXHIBITS),
        ("config/errata.yaml", ERRATA),
        ("data/registry.yaml", REGISTRY),
    ):
        (folder / path).write_text(yaml.safe_dump(document, sort_keys=False))
    (folder / "reports/claims.json").write_text(json.dumps({"claims": CLAIMS}))
    (folder / "reports/provenance.json").write_text(json.dumps(PROVENANCE))
    for receipt in RECEIPTS:
        (folder / f"data/receipts/{receipt['dataset']}.json").write_text(json.dumps(receipt))
    nbformat.write(executed_notebook(), folder / "reports/notebooks/20_structured_losses.ipynb")
    (folder / "reports/figures/T-fig-2.1.svg").write_text(picture())
    (folder / "reports/figures/T-fig-2.1.csv").write_text("x,loss\n0,1\n")
    (folder / "reports/tables/T-tab-2.9.csv").write_text("bound,value\nmargin,1\n")
    return {
        "exhibits": str(folder / "config/exhibits.yaml"),
        "errata": str(folder / "config/errata.yaml"),
        "registry": str(folder / "data/registry.yaml"),
        "claims": str(folder / "reports/claims.json"),
        "provenance": str(folder / "reports/provenance.json"),
        "receipts": [str(path) for path in sorted((folder / "data/receipts").glob("*.json"))],
        "reports": str(folder / "reports"),
    }
