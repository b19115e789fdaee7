# Section 1.4 of the cheap-data chapter: which patches of a film to annotate.

active_learning = config["active_learning"]
active_folder = "data/processed/active_learning"
# Each study: the film to learn from and the film to test on (halves of it where they are one), and their data sets.
active_studies = {
    "nuclei": {
        "train": "dcelliq_1",
        "test": "mitocheck_2",
        "datasets": ["dcelliq_nuclei", "mitocheck_nuclei"],
    },
    "migration": {"train": "migration_4", "test": "migration_4", "datasets": ["cell_migration"]},
}


rule train_active_learners:
    input:
        train=lambda wildcards: f"{cell_films}/{active_studies[wildcards.study]['train']}.npz",
        test=lambda wildcards: f"{cell_films}/{active_studies[wildcards.study]['test']}.npz",
    output:
        curve=f"{active_folder}/{{study}}/curve.csv",
        table=f"{active_folder}/{{study}}/table.csv",
        stops=f"{active_folder}/{{study}}/stops.csv",
        cells=f"{active_folder}/{{study}}/cells.csv",
        summary=f"{active_folder}/{{study}}/summary.json",
        timings=f"{active_folder}/{{study}}/timings.json",
    log:
        "logs/train_active_learners/{study}.log",
    benchmark:
        "logs/benchmarks/train_active_learners/{study}.tsv"
    wildcard_constraints:
        study="|".join(active_studies),
    threads: 1
    resources:
        mem_mb=1500,
        runtime=120,
    params:
        library=library_digest("workflow/reproduction/experiments/active_learning/train.py"),
        arguments={
            name: active_learning[name] for name in ("cells", "patches", "test_pairs", "seeds", "enumerated")
        }
        | {"seed": config["seed"]},
        settings={
            name: active_learning[name]
            for name in ("window", "threshold", "limit", "shares", "every", "strengths", "folds", "tol")
        },
    message:
        "active learning, {wildcards.study}"
    script:
        "../reproduction/experiments/active_learning/train.py"


rule evaluate_active_learning:
    input:
        **{
            f"{name}_{study}": f"{active_folder}/{study}/{name}.{ending}"
            for name, ending in [
                ("curve", "csv"),
                ("table", "csv"),
                ("stops", "csv"),
                ("cells", "csv"),
                ("summary", "json"),
                ("timings", "json"),
            ]
            for study in active_studies
        },
        **{
            f"receipt_{name}": f"data/receipts/{name}.json"
            for study in active_studies.values()
            for name in study["datasets"]
        },
    output:
        values="data/results/active_learning/values.json",
        timings="data/results/active_learning/timings.json",
        curve="data/results/active_learning/curve.csv",
        table="data/results/active_learning/table.csv",
        stops="data/results/active_learning/stops.csv",
        cells="data/results/active_learning/cells.csv",
    log:
        "logs/evaluate_active_learning.log",
    benchmark:
        "logs/benchmarks/evaluate_active_learning.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/active_learning/evaluate.py"),
        studies={study: content["datasets"] for study, content in active_studies.items()},
        threshold=active_learning["threshold"],
        window=active_learning["window"],
        shares=active_learning["shares"],
    message:
        "test errors, stops and tables of active learning"
    script:
        "../reproduction/experiments/active_learning/evaluate.py"
