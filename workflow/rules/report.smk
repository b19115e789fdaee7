# Narrate, check, publish: notebooks, claims and the book.

for section in catalogue.built_sections:

    rule:
        name:
            f"narrate_{section.id}"
        input:
            notebook=f"notebooks/{section.notebook}.ipynb",
            results=[f"data/results/{name}/values.json" for name in section.experiments],
            receipts=[f"data/receipts/{name}.json" for name in section_datasets(section)],
            ledger=["config/claims.yaml", "config/exhibits.yaml", *reference_runs()],
        output:
            notebook=f"reports/notebooks/{section.notebook}.ipynb",
            exhibits=[
                path for exhibit in catalogue.exhibits_in(section.id) for path in exhibit_files(exhibit)
            ],
        log:
            text=f"logs/narrate/{section.id}.log",
            notebook=f"logs/narrate/{section.id}.ipynb",
        params:
            library=library.digest(f"notebooks/{section.notebook}.ipynb"),
            parameters=section_parameters(section),
            tracked=published_facts,
        message:
            f"{section.title}"
        script:
            "../reproduction/pipeline/run_notebook.py"


for exhibit in catalogue.built_exhibits:

    rule:
        name:
            exhibit.id
        input:
            exhibit_files(exhibit),
        message:
            f"{exhibit.id}: {' and '.join(exhibit_files(exhibit))}"


rule check_claims:
    input:
        claims="config/claims.yaml",
        exhibits="config/exhibits.yaml",
        results=expand("data/results/{experiment}/values.json", experiment=experiments),
    output:
        claims="reports/claims.json",
    params:
        tracked=published_facts,
    message:
        "the published claims against this run"
    script:
        "../reproduction/claims/check.py"


rule collect_provenance:
    input:
        claims="reports/claims.json",
        notebooks=notebooks,
    output:
        provenance="reports/provenance.json",
    params:
        config=config,
        benchmarks="logs/benchmarks",
    message:
        "the commit, versions, settings and run times of this run"
    script:
        "../reproduction/book/collect_provenance.py"


rule build_book:
    input:
        settings=[str(path) for path in sorted(Path("workflow/book").rglob("*.*")) if path.is_file()],
        exhibits="config/exhibits.yaml",
        errata="config/errata.yaml",
        registry="data/registry.yaml",
        claims="reports/claims.json",
        provenance="reports/provenance.json",
        receipts=[f"data/receipts/{name}.json" for name in shown_datasets],
        notebooks=notebooks,
        manual=[str(path) for path in sorted(Path("docs").rglob("*.*")) if path.is_file()],
    output:
        index="reports/html/index.html",
    threads: 2
    resources:
        mem_mb=4000,
    params:
        source="reports/book",
    message:
        "the book"
    script:
        "../reproduction/book/build.py"
