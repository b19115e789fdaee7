# Section 4.3 of the thesis: pyramids of quantisations, and graphs of brain maps told apart by subtree patterns.

graph_kernels = config["graph_kernels"]
graph_folder = "data/processed/graph_kernels"
# Data set to the study of prepare_group_studies.
graph_studies = {"drug_stroop": "stroop_groups", "wager2008_contrasts": "wager_groups"}
graph_arguments = {
    "grids": {name: graph_kernels[name] for name in ("alphas", "l1_ratios", "tol", "bandwidths", "ridges")},
    "share": graph_kernels["share"],
    "folds": graph_kernels["folds"],
    "seed": config["seed"],
}
# The numbers that each job works on: of splits, and of permutations of the labels from 1 on.
graph_jobs = {
    kind: [list(range(start, min(start + size, end))) for start in range(first, end, size)]
    for kind, first, end, size in [
        ("splits", 0, graph_kernels["splits"], graph_kernels["splits_per_job"]),
        ("permuted", 1, graph_kernels["permutations"] + 1, graph_kernels["permutations_per_job"]),
    ]
}


rule train_graph_kernels:
    input:
        study="data/processed/group_studies/{groups}.npz",
    output:
        scores=f"{graph_folder}/splits_{{groups}}_{{part}}.csv",
        timings=f"{graph_folder}/timings_{{groups}}_{{part}}.json",
    log:
        "logs/train_graph_kernels/{groups}_{part}.log",
    benchmark:
        "logs/benchmarks/train_graph_kernels/{groups}_{part}.tsv"
    wildcard_constraints:
        groups="|".join(graph_studies.values()),
        part=r"\d+",
    threads: 1
    resources:
        mem_mb=3000,
        runtime=240,
    params:
        library=library_digest("workflow/reproduction/experiments/graph_kernels/train.py"),
        numbers=lambda wildcards: graph_jobs["splits"][int(wildcards.part)],
        arguments=graph_arguments,
    message:
        "graph kernels and their peers, {wildcards.groups}, part {wildcards.part}"
    script:
        "../reproduction/experiments/graph_kernels/train.py"


rule train_permuted_graphs:
    input:
        study="data/processed/group_studies/{groups}.npz",
    output:
        scores=f"{graph_folder}/permuted_{{groups}}_{{part}}.csv",
    log:
        "logs/train_permuted_graphs/{groups}_{part}.log",
    benchmark:
        "logs/benchmarks/train_permuted_graphs/{groups}_{part}.tsv"
    wildcard_constraints:
        groups="|".join(graph_studies.values()),
        part=r"\d+",
    threads: 1
    resources:
        mem_mb=3000,
        runtime=240,
    params:
        library=library_digest("workflow/reproduction/experiments/graph_kernels/train_permuted.py"),
        numbers=lambda wildcards: graph_jobs["permuted"][int(wildcards.part)],
        arguments=graph_arguments | {"splits": graph_kernels["permuted_splits"]},
    message:
        "graph kernels with permuted labels, honest and leaking, {wildcards.groups}, part {wildcards.part}"
    script:
        "../reproduction/experiments/graph_kernels/train_permuted.py"


rule train_graph_maps:
    input:
        study="data/processed/group_studies/{groups}.npz",
    output:
        maps=f"{graph_folder}/maps_{{groups}}.npz",
    log:
        "logs/train_graph_maps/{groups}.log",
    benchmark:
        "logs/benchmarks/train_graph_maps/{groups}.tsv"
    wildcard_constraints:
        groups="|".join(graph_studies.values()),
    threads: 1
    resources:
        mem_mb=3000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/graph_kernels/train_maps.py"),
        arguments={name: graph_arguments[name] for name in ("grids", "folds", "seed")},
    message:
        "maps of what graphs are told apart by, {wildcards.groups}"
    script:
        "../reproduction/experiments/graph_kernels/train_maps.py"


rule evaluate_graph_kernels:
    input:
        **{
            f"{kind}_{groups}": [f"{graph_folder}/{kind}_{groups}_{part}.csv" for part in range(len(jobs))]
            for kind, jobs in graph_jobs.items()
            for groups in graph_studies.values()
        },
        **{
            f"{kind}_{groups}": f"{folder}{groups}.npz"
            for kind, folder in (
                ("maps", f"{graph_folder}/maps_"),
                ("study", "data/processed/group_studies/"),
            )
            for groups in graph_studies.values()
        },
        **{f"receipt_{name}": f"data/receipts/{name}.json" for name in graph_studies},
        timings=[
            f"{graph_folder}/timings_{groups}_{part}.json"
            for groups in graph_studies.values()
            for part in range(len(graph_jobs["splits"]))
        ],
    output:
        values="data/results/graph_kernels/values.json",
        timings="data/results/graph_kernels/timings.json",
        splits="data/results/graph_kernels/splits.csv",
        permuted="data/results/graph_kernels/permuted.csv",
        maps=[f"data/results/graph_kernels/maps_{name}.npz" for name in graph_studies],
    log:
        "logs/evaluate_graph_kernels.log",
    benchmark:
        "logs/benchmarks/evaluate_graph_kernels.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/graph_kernels/evaluate.py"),
        studies=graph_studies,
        share=graph_kernels["share"],
        permuted_splits=graph_kernels["permuted_splits"],
    message:
        "accuracies, tests and controls of graph kernels"
    script:
        "../reproduction/experiments/graph_kernels/evaluate.py"
