# Two films seen in the scanner, preprocessed as in section 4.1.3 of the thesis; chapter 4 learns from them.


rule prepare_movie_watching:
    input:
        receipt="data/receipts/movie_watching.json",
    output:
        series="data/processed/movie_watching/main_0.npz",
    log:
        "logs/prepare_movie_watching.log",
    benchmark:
        "logs/benchmarks/prepare_movie_watching.tsv"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/fmri_studies/prepare_movie.py"),
    message:
        "the two films, preprocessed"
    script:
        "../reproduction/experiments/fmri_studies/prepare_movie.py"


# Further scans, with another seed or in another scenario, are simulated; only their preprocessed series stay.
rule prepare_movie_scenario:
    output:
        series=temp("data/processed/movie_watching/{scenario}_{seed}.npz"),
    log:
        "logs/prepare_movie_scenario/{scenario}_{seed}.log",
    benchmark:
        "logs/benchmarks/prepare_movie_scenario/{scenario}_{seed}.tsv"
    wildcard_constraints:
        scenario="[a-z0-9-]+",
        seed=r"\d+",
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/fmri_studies/prepare_scenario.py"),
        arguments=lambda wildcards: {
            "seed": config["seed"] + int(wildcards.seed),
            "size": config["scale"],
            "scenario": {
                "main": {},
                **config["laplacian_kcca"]["scenarios"],
            }[wildcards.scenario],
        },
    message:
        "the two films in the scenario {wildcards.scenario}, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/fmri_studies/prepare_scenario.py"


ruleorder: prepare_movie_watching > prepare_movie_scenario


# Contrast maps of two groups, which sections 4.2 and 4.3 learn from: the drug Stroop study and the Wager maps.

stroop = config["drug_stroop"]


rule prepare_contrast_part:
    input:
        receipt="data/receipts/drug_stroop.json",
    output:
        part=temp("data/processed/drug_stroop/part_{part}.npz"),
    log:
        "logs/prepare_contrast_part/{part}.log",
    benchmark:
        "logs/benchmarks/prepare_contrast_part/{part}.tsv"
    threads: 1
    resources:
        mem_mb=3000,
        runtime=120,
    params:
        library=library_digest("workflow/reproduction/experiments/fmri_studies/prepare_contrast_part.py"),
        arguments={"parts": stroop["parts"], "fwhm": stroop["fwhm"]},
    message:
        "contrast maps of the drug Stroop study, part {wildcards.part}"
    script:
        "../reproduction/experiments/fmri_studies/prepare_contrast_part.py"


rule prepare_contrast_maps:
    input:
        parts=expand("data/processed/drug_stroop/part_{part}.npz", part=range(stroop["parts"])),
    output:
        contrasts="data/processed/drug_stroop/contrasts.npz",
    log:
        "logs/prepare_contrast_maps.log",
    benchmark:
        "logs/benchmarks/prepare_contrast_maps.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        library=library_digest("workflow/reproduction/experiments/fmri_studies/prepare_contrast_maps.py"),
    message:
        "contrast maps of the drug Stroop study"
    script:
        "../reproduction/experiments/fmri_studies/prepare_contrast_maps.py"


rule prepare_group_studies:
    input:
        stroop="data/processed/drug_stroop/contrasts.npz",
        wager="data/receipts/wager2008_contrasts.json",
    output:
        stroop="data/processed/group_studies/stroop_groups.npz",
        wager="data/processed/group_studies/wager_groups.npz",
    log:
        "logs/prepare_group_studies.log",
    benchmark:
        "logs/benchmarks/prepare_group_studies.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/fmri_studies/prepare_group_studies.py"),
        pool=config["ksupport"]["pool"],
    message:
        "contrast maps of two groups as rows of voxels"
    script:
        "../reproduction/experiments/fmri_studies/prepare_group_studies.py"


# Section 4.1: semi-supervised Laplacian regularisation of kernel canonical correlation analysis.

kcca = config["laplacian_kcca"]
kcca_settings = {name: kcca[name] for name in ("eps", "gamma", "permutations")} | {"seed": config["seed"]}
kcca_sweep = {
    f"{scenario}_{seed}": {"scenario": scenario, "seed": seed}
    for scenario in kcca["scenarios"]
    for seed in range(kcca["sweep"]["seeds"])
}


rule train_movie_kcca:
    input:
        series="data/processed/movie_watching/main_{seed}.npz",
    output:
        table="data/processed/laplacian_kcca/main_{seed}.csv",
        maps="data/processed/laplacian_kcca/maps_{seed}.npz",
    log:
        "logs/train_movie_kcca/{seed}.log",
    benchmark:
        "logs/benchmarks/train_movie_kcca/{seed}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/laplacian_kcca/train_movie.py"),
        arguments=config["movie_watching"] | {"settings": kcca_settings},
    message:
        "Laplacian KCCA of film and brain, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/laplacian_kcca/train_movie.py"


rule train_movie_sweep:
    input:
        series="data/processed/movie_watching/{scenario}_{seed}.npz",
    output:
        table="data/processed/laplacian_kcca/sweep_{scenario}_{seed}.csv",
    log:
        "logs/train_movie_sweep/{scenario}_{seed}.log",
    benchmark:
        "logs/benchmarks/train_movie_sweep/{scenario}_{seed}.tsv"
    wildcard_constraints:
        scenario="[a-z0-9-]+",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        library=library_digest("workflow/reproduction/experiments/laplacian_kcca/train_sweep.py"),
        arguments=config["movie_watching"] | {"settings": kcca_settings | {"gamma": kcca["sweep"]["gamma"]}},
    message:
        "Laplacian KCCA in the scenario {wildcards.scenario}, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/laplacian_kcca/train_sweep.py"


rule train_haxby_kcca:
    input:
        receipt="data/receipts/haxby2001_slice.json",
    output:
        table="data/processed/laplacian_kcca/haxby.csv",
    log:
        "logs/train_haxby_kcca.log",
    benchmark:
        "logs/benchmarks/train_haxby_kcca.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        library=library_digest("workflow/reproduction/experiments/laplacian_kcca/train_haxby.py"),
        runs=kcca["haxby_runs"],
        settings=kcca_settings,
    message:
        "Laplacian KCCA of pictures and brain"
    script:
        "../reproduction/experiments/laplacian_kcca/train_haxby.py"


rule evaluate_laplacian_kcca:
    input:
        movie="data/receipts/movie_watching.json",
        haxby="data/receipts/haxby2001_slice.json",
        tables=expand("data/processed/laplacian_kcca/main_{seed}.csv", seed=range(kcca["seeds"])),
        maps=expand("data/processed/laplacian_kcca/maps_{seed}.npz", seed=range(kcca["seeds"])),
        sweep=expand("data/processed/laplacian_kcca/sweep_{name}.csv", name=kcca_sweep),
        haxby_table="data/processed/laplacian_kcca/haxby.csv",
    output:
        values="data/results/laplacian_kcca/values.json",
        tables="data/results/laplacian_kcca/main.csv",
        sweep="data/results/laplacian_kcca/sweep.csv",
        haxby="data/results/laplacian_kcca/haxby.csv",
        maps="data/results/laplacian_kcca/maps.npz",
    log:
        "logs/evaluate_laplacian_kcca.log",
    benchmark:
        "logs/benchmarks/evaluate_laplacian_kcca.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/laplacian_kcca/evaluate.py"),
        scenarios=kcca["scenarios"],
        sweep=list(kcca_sweep.values()),
    message:
        "correlations and weight maps of Laplacian KCCA"
    script:
        "../reproduction/experiments/laplacian_kcca/evaluate.py"


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


# A user's own scan: the block own_fmri of config/config.yaml names the files. Run `snakemake own_fmri`.

own_fmri = config["own_fmri"]
own_fmri_files = []

if own_fmri is not None:
    from reproduction.experiments.own_fmri.scans import OwnScan

    try:
        own_fmri_files = OwnScan.of(own_fmri).files
    except DataError as error:
        sys.exit(f"config: {error}")


rule own_fmri:
    input:
        own_fmri_results,


rule prepare_own_fmri:
    input:
        own_fmri_files,
    output:
        series="data/processed/own_fmri/series.npz",
        motion="data/results/own_fmri/motion.csv",
    log:
        "logs/prepare_own_fmri.log",
    benchmark:
        "logs/benchmarks/prepare_own_fmri.tsv"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        library=library_digest("workflow/reproduction/experiments/own_fmri/prepare.py"),
        settings=own_fmri,
    message:
        "your scan, preprocessed"
    script:
        "../reproduction/experiments/own_fmri/prepare.py"


rule evaluate_own_fmri:
    input:
        series="data/processed/own_fmri/series.npz",
    output:
        values="data/results/own_fmri/values.json",
        correlations="data/results/own_fmri/correlations.csv",
        weights="data/results/own_fmri/weights.nii.gz",
        map="data/results/own_fmri/map.html",
    log:
        "logs/evaluate_own_fmri.log",
    benchmark:
        "logs/benchmarks/evaluate_own_fmri.tsv"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        library=library_digest("workflow/reproduction/experiments/own_fmri/evaluate.py"),
        settings=own_fmri,
    message:
        "what your scan tells of the target, on volumes held out"
    script:
        "../reproduction/experiments/own_fmri/evaluate.py"
