# Section 4.2 of the thesis: the k-support norm on functional MRI.

ksupport = config["ksupport"]
ksupport_grids = {name: ksupport[name] for name in ("alphas", "l1_ratios", "ks", "lams", "tol")}
ksupport_folder = "data/processed/ksupport"
ksupport_datasets = ["movie_watching", "haxby2001_slice", "wager2008_contrasts", "drug_stroop"]
# Splits of subjects are fair whatever their order, so the Wager maps need no other protocol.
ksupport_protocols = [
    ("film", "fair"),
    ("film", "permuted"),
    ("haxby", "fair"),
    ("haxby", "permuted"),
    ("wager", "fair"),
]
# The film with its target reversed in time, on the same splits: what is found in it is leak or luck.
ksupport_control = [("reversed", "fair"), ("reversed", "permuted")]
ksupport_groups = ["stroop_groups", "wager_groups"]  # of prepare_group_studies
ksupport_stretches = config["movie_watching"]["stretches"]
ksupport_splits = {"fair": ksupport["splits"], "permuted": ksupport["permuted_splits"]}
# The study that each job works on, and the numbers of its splits. A film cut into stretches is one job a scan;
# permuted volumes are those of the first scan, whole.
ksupport_jobs = {
    (study, "fair"): [
        {
            "study": f"{study}_{scan}",
            "numbers": list(range(ksupport_stretches)),
            "first": scan * ksupport_stretches,
        }
        for scan in range(ksupport["scans"])
    ]
    for study in ("film", "reversed")
} | {
    (study, protocol): [
        {"study": source, "numbers": list(range(first, min(first + size, count))), "first": 0}
        for first in range(0, count, size)
    ]
    for study, protocol, source, like in (
        ("film", "permuted", "film_whole", "film"),
        ("reversed", "permuted", "reversed_whole", "film"),
        ("haxby", "fair", "haxby", "haxby"),
        ("haxby", "permuted", "haxby", "haxby"),
        ("wager", "fair", "wager", "wager"),
    )
    for count, size in [(ksupport_splits[protocol][like], ksupport["splits_per_job"][like])]
}
ksupport_parts = {
    (study, protocol): [f"{study}_{protocol}_{part}" for part in range(len(jobs))]
    for (study, protocol), jobs in ksupport_jobs.items()
}


rule prepare_film_study:
    input:
        film="data/processed/movie_watching/main_{scan}.npz",
    output:
        **{name: f"{ksupport_folder}/study_{name}_{{scan}}.npz" for name in ("film", "reversed")},
    log:
        "logs/prepare_film_study/{scan}.log",
    benchmark:
        "logs/benchmarks/prepare_film_study/{scan}.tsv"
    wildcard_constraints:
        scan=r"\d+",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/fmri_studies/prepare_film_study.py"),
        arguments=config["movie_watching"],
    message:
        "the film in stretches, scan {wildcards.scan}"
    script:
        "../reproduction/experiments/fmri_studies/prepare_film_study.py"


rule prepare_ksupport_studies:
    input:
        film="data/processed/movie_watching/main_0.npz",
        haxby="data/receipts/haxby2001_slice.json",
        wager="data/receipts/wager2008_contrasts.json",
    output:
        **{
            name: f"{ksupport_folder}/study_{name}.npz"
            for name in ("film_whole", "reversed_whole", "haxby", "wager")
        },
    log:
        "logs/prepare_ksupport_studies.log",
    benchmark:
        "logs/benchmarks/prepare_ksupport_studies.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/ksupport/prepare.py"),
        pool=ksupport["pool"],
    message:
        "whole film, Haxby slice and Wager maps as rows of voxels"
    script:
        "../reproduction/experiments/ksupport/prepare.py"


rule train_ksupport_paths:
    input:
        study=lambda wildcards: "{}/study_{}.npz".format(
            ksupport_folder,
            ksupport_jobs[wildcards.study, wildcards.protocol][int(wildcards.part)]["study"],
        ),
    output:
        paths=f"{ksupport_folder}/paths_{{study}}_{{protocol}}_{{part}}.csv",
        timings=f"{ksupport_folder}/timings_{{study}}_{{protocol}}_{{part}}.json",
    log:
        "logs/train_ksupport_paths/{study}_{protocol}_{part}.log",
    benchmark:
        "logs/benchmarks/train_ksupport_paths/{study}_{protocol}_{part}.tsv"
    wildcard_constraints:
        study="film|reversed|haxby|wager",
        protocol="fair|permuted",
        part=r"\d+",
    threads: 1
    resources:
        mem_mb=3000,
        runtime=240,
    params:
        library=library_digest("workflow/reproduction/experiments/ksupport/train_paths.py"),
        job=lambda wildcards: ksupport_jobs[wildcards.study, wildcards.protocol][int(wildcards.part)],
        folds=lambda wildcards: 0 if wildcards.study == "reversed" else ksupport["folds"],
        arguments={
            "grids": ksupport_grids,
            "share": ksupport["share"],
            "seed": config["seed"],
        },
    message:
        "LASSO, elastic net and k-support norm, {wildcards.study}, {wildcards.protocol} splits, part {wildcards.part}"
    script:
        "../reproduction/experiments/ksupport/train_paths.py"


rule train_ksupport_maps:
    input:
        study="data/processed/group_studies/{groups}.npz",
    output:
        weights=f"{ksupport_folder}/weights_{{groups}}.npz",
        clusters=f"{ksupport_folder}/clusters_{{groups}}.csv",
        paths=f"{ksupport_folder}/map_paths_{{groups}}.csv",
    log:
        "logs/train_ksupport_maps/{groups}.log",
    benchmark:
        "logs/benchmarks/train_ksupport_maps/{groups}.tsv"
    wildcard_constraints:
        groups="|".join(ksupport_groups),
    threads: 1
    resources:
        mem_mb=3000,
        runtime=120,
    params:
        library=library_digest("workflow/reproduction/experiments/ksupport/train_maps.py"),
        arguments={
            "grids": ksupport_grids,
            "splits": ksupport["map_splits"],
            "share": ksupport["share"],
            "draws": ksupport["draws"],
            "seed": config["seed"],
        },
    message:
        "weights that tell two groups apart, {wildcards.groups}"
    script:
        "../reproduction/experiments/ksupport/train_maps.py"


rule evaluate_ksupport:
    input:
        **{
            f"paths_{study}_{protocol}": [f"{ksupport_folder}/paths_{part}.csv" for part in parts]
            for (study, protocol), parts in ksupport_parts.items()
        },
        **{
            f"{kind}_{groups}": f"{ksupport_folder}/{kind}_{groups}.{ending}"
            for groups in ksupport_groups
            for kind, ending in (("weights", "npz"), ("clusters", "csv"))
        },
        **{f"receipt_{name}": f"data/receipts/{name}.json" for name in ksupport_datasets},
        **{
            f"study_{name}": f"{ksupport_folder}/study_{source}.npz"
            for name, source in (("film", "film_0"), ("haxby", "haxby"), ("wager", "wager"))
        },
        timings=[
            f"{ksupport_folder}/timings_{part}.json"
            for pair in ksupport_protocols
            for part in ksupport_parts[pair]
        ],
    output:
        values="data/results/ksupport/values.json",
        timings="data/results/ksupport/timings.json",
        paths="data/results/ksupport/paths.csv",
        chosen="data/results/ksupport/chosen.csv",
        clusters="data/results/ksupport/clusters.csv",
        stroop="data/results/ksupport/maps_drug_stroop.npz",
        wager="data/results/ksupport/maps_wager2008_contrasts.npz",
    log:
        "logs/evaluate_ksupport.log",
    benchmark:
        "logs/benchmarks/evaluate_ksupport.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/ksupport/evaluate.py"),
        datasets=ksupport_datasets,
        protocols=ksupport_protocols,
        arguments={"vectors": ksupport["vectors"], "seed": config["seed"]},
    message:
        "correlations, clusters and norms of the three regularisers"
    script:
        "../reproduction/experiments/ksupport/evaluate.py"
