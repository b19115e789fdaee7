# Section 1.3.5 of the cheap-data chapter: learning from partial annotations.

partial_settings = config["partial_annotation"]
partial_folder = "data/processed/partial_annotation"
# As published, films of one laboratory to learn from and of another to test on; and a real film, cut in two.
partial_films = {"nuclei": ("nuclei", ["dcelliq_1", "mitocheck_2"])} | {
    f"migration_{step}": ("migration", [f"migration_{step}"]) for step in migration_steps
}
partial_datasets = ["dcelliq_nuclei", "mitocheck_nuclei", "cell_migration"]
partial_inputs = {
    study: [f"{cell_films}/{name}.npz" for name in films] for study, (_, films) in partial_films.items()
}
# What both stages need to know of a study.
partial_common = {
    study: {
        "laboratory": partial_films[study][0],
        "pairs": settings.get("pairs"),
        "tol": partial_settings["tol"],
        "seed": config["seed"],
    }
    for study, settings in partial_settings["studies"].items()
}


rule train_partial_trackers:
    input:
        films=lambda wildcards: partial_inputs[wildcards.study],
    output:
        curve=f"{partial_folder}/curve_{{study}}.csv",
    log:
        "logs/train_partial_trackers/{study}.log",
    benchmark:
        "logs/benchmarks/train_partial_trackers/{study}.tsv"
    wildcard_constraints:
        study="|".join(partial_films),
    threads: 1
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        library=library_digest("workflow/reproduction/experiments/partial_annotation/train.py"),
        arguments=lambda wildcards: partial_common[wildcards.study]
        | {
            name: partial_settings["studies"][wildcards.study][name]
            for name in ("shares", "draws", "strengths", "folds")
        },
    message:
        "trackers from shares of the annotation, {wildcards.study}"
    script:
        "../reproduction/experiments/partial_annotation/train.py"


rule compare_cccp_variants:
    input:
        films=lambda wildcards: partial_inputs[wildcards.study],
        curve=f"{partial_folder}/curve_{{study}}.csv",
    output:
        descents=f"{partial_folder}/descents_{{study}}.csv",
    log:
        "logs/compare_cccp_variants/{study}.log",
    benchmark:
        "logs/benchmarks/compare_cccp_variants/{study}.tsv"
    wildcard_constraints:
        study="|".join(partial_films),
    threads: 1
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        library=library_digest("workflow/reproduction/experiments/partial_annotation/compare_cccp.py"),
        arguments=lambda wildcards: partial_common[wildcards.study]
        | {
            "starts": partial_settings["studies"][wildcards.study]["starts"],
            "solvers": partial_settings["studies"][wildcards.study].get("solvers"),
        },
    message:
        "CCCP with and without recycling and adaptive precision, {wildcards.study}"
    script:
        "../reproduction/experiments/partial_annotation/compare_cccp.py"


rule evaluate_partial_annotation:
    input:
        curves=expand(f"{partial_folder}/curve_{{study}}.csv", study=partial_settings["studies"]),
        descents=expand(f"{partial_folder}/descents_{{study}}.csv", study=partial_settings["studies"]),
        receipts=expand("data/receipts/{name}.json", name=partial_datasets),
    output:
        values="data/results/partial_annotation/values.json",
        losses="data/results/partial_annotation/losses.csv",
        descents="data/results/partial_annotation/descents.csv",
    log:
        "logs/evaluate_partial_annotation.log",
    benchmark:
        "logs/benchmarks/evaluate_partial_annotation.tsv"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        library=library_digest("workflow/reproduction/experiments/partial_annotation/evaluate.py"),
        studies=list(partial_settings["studies"]),
        datasets=partial_datasets,
    message:
        "losses, times and bounds of partial annotation"
    script:
        "../reproduction/experiments/partial_annotation/evaluate.py"
