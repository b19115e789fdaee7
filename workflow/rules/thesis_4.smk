# Two films seen in the scanner, preprocessed as in section 4.1.3 of the thesis; sections 4.1 and 4.2 use them.


rule prepare_movie_watching:
    input:
        receipt="data/receipts/movie_watching.json",
    output:
        series="data/processed/movie_watching/main_0.npz",
    resources:
        mem_mb=4000,
        runtime=60,
    message:
        "the two films, preprocessed"
    script:
        "../reproduction/experiments/fmri_studies/prepare_movie.py"


# Scans with another seed or of another scenario are simulated; only their preprocessed series are kept.
rule prepare_movie_scenario:
    output:
        series=temp("data/processed/movie_watching/{scenario}_{seed}.npz"),
    wildcard_constraints:
        scenario="[a-z0-9-]+",
        seed=r"\d+",
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        seed=seed_of,
        size=config["scale"],
        scenario=lambda wildcards: {"main": {}, **config["laplacian_kcca"]["scenarios"]}[wildcards.scenario],
    message:
        "the two films, simulated and preprocessed, scenario {wildcards.scenario}, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/fmri_studies/prepare_scenario.py"


ruleorder: prepare_movie_watching > prepare_movie_scenario


rule prepare_haxby_slice:
    input:
        receipt="data/receipts/haxby2001_slice.json",
    output:
        series="data/processed/haxby2001_slice/series.npz",
    message:
        "the Haxby slice, standardized"
    script:
        "../reproduction/experiments/fmri_studies/prepare_haxby.py"


# Contrast maps of two groups, used in sections 4.2 and 4.3: the drug Stroop study and the Wager maps.


rule prepare_contrast_part:
    input:
        receipt="data/receipts/drug_stroop.json",
    output:
        part=temp("data/processed/drug_stroop/part_{part}.npz"),
    resources:
        mem_mb=3000,
        runtime=120,
    params:
        **config["drug_stroop"],
        part=lambda wildcards: int(wildcards.part),
    message:
        "contrast maps of the drug Stroop study, part {wildcards.part}"
    script:
        "../reproduction/experiments/fmri_studies/prepare_contrast_part.py"


rule prepare_contrast_maps:
    input:
        parts=expand("data/processed/drug_stroop/part_{part}.npz", part=range(config["drug_stroop"]["parts"])),
    output:
        contrasts="data/processed/drug_stroop/contrasts.npz",
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
        wager_scores="data/processed/ksupport/study_wager.npz",
    params:
        pool=config["ksupport"]["pool"],
    message:
        "contrast maps of two groups as rows of voxels"
    script:
        "../reproduction/experiments/fmri_studies/prepare_group_studies.py"


# Section 4.1: semi-supervised Laplacian regularization of kernel canonical correlation analysis.

kcca = config["laplacian_kcca"]


rule train_movie_kcca:
    input:
        series="data/processed/movie_watching/main_{seed}.npz",
    output:
        table="data/processed/laplacian_kcca/main_{seed}.csv",
        maps="data/processed/laplacian_kcca/maps_{seed}.npz",
    resources:
        runtime=60,
    params:
        **config["movie_watching"],
        # Permuted volumes leak, in every scan alike: one shows it.
        permuted=lambda wildcards: wildcards.seed == "0",
    message:
        "Laplacian KCCA of films and brain, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/laplacian_kcca/train_movie.py"


rule train_movie_sweep:
    input:
        series="data/processed/movie_watching/{scenario}_{seed}.npz",
    output:
        table="data/processed/laplacian_kcca/sweep_{scenario}_{seed}.csv",
    wildcard_constraints:
        scenario="[a-z0-9-]+",
    params:
        **config["movie_watching"],
    message:
        "Laplacian KCCA in the scenario {wildcards.scenario}, seed {wildcards.seed}"
    script:
        "../reproduction/experiments/laplacian_kcca/train_sweep.py"


rule train_haxby_kcca:
    input:
        series="data/processed/haxby2001_slice/series.npz",
    output:
        table="data/processed/laplacian_kcca/haxby.csv",
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
        sweep=expand(
            "data/processed/laplacian_kcca/sweep_{scenario}_{seed}.csv",
            scenario=kcca["scenarios"],
            seed=range(kcca["sweep_seeds"]),
        ),
        haxby_table="data/processed/laplacian_kcca/haxby.csv",
    output:
        values="data/results/laplacian_kcca/values.json",
        tables="data/results/laplacian_kcca/main.csv",
        sweep="data/results/laplacian_kcca/sweep.csv",
        haxby="data/results/laplacian_kcca/haxby.csv",
        maps="data/results/laplacian_kcca/maps.npz",
    message:
        "correlations and weight maps of Laplacian KCCA"
    script:
        "../reproduction/experiments/laplacian_kcca/evaluate.py"


# Section 4.2: the k-support norm on functional MRI.

ksupport = config["ksupport"]
ksupport_folder = "data/processed/ksupport"
ksupport_groups = ["stroop_groups", "wager_groups"]
ksupport_splits = {"fair": ksupport["splits"], "permuted": ksupport["permuted_splits"]}
# The study and the numbers of the splits of each job. A film cut into stretches is one job per scan; permuted
# volumes are those of the first scan, whole. `reversed`, the film with its target reversed in time, is a control.
film_stretches = config["movie_watching"]["stretches"]
ksupport_jobs = {
    (study, "fair"): [
        {
            "study": f"{study}_{scan}",
            "numbers": list(range(film_stretches)),
            "first": scan * film_stretches,
        }
        for scan in range(ksupport["scans"] if study == "film" else 1)
    ]
    for study in ("film", "reversed")
} | {
    (study, protocol): [
        {"study": source, "numbers": list(range(first, min(first + size, count))), "first": 0}
        for first in range(0, count, size)
    ]
    for study, protocol, source, sizes in (
        ("film", "permuted", "film_whole", "film"),
        ("reversed", "permuted", "reversed_whole", "film"),
        ("haxby", "fair", "haxby", "haxby"),
        ("haxby", "permuted", "haxby", "haxby"),
        ("wager", "fair", "wager", "wager"),
    )
    for count, size in [(ksupport_splits[protocol][sizes], ksupport["splits_per_job"][sizes])]
}


rule prepare_film_study:
    input:
        film="data/processed/movie_watching/main_{scan}.npz",
    output:
        **{name: f"{ksupport_folder}/study_{name}_{{scan}}.npz" for name in ("film", "reversed")},
    wildcard_constraints:
        scan=r"\d+",
    params:
        **config["movie_watching"],
    message:
        "the film in stretches, scan {wildcards.scan}"
    script:
        "../reproduction/experiments/fmri_studies/prepare_film_study.py"


rule prepare_ksupport_studies:
    input:
        film="data/processed/movie_watching/main_0.npz",
        haxby="data/processed/haxby2001_slice/series.npz",
    output:
        **{name: f"{ksupport_folder}/study_{name}.npz" for name in ("film_whole", "reversed_whole", "haxby")},
    message:
        "whole film and Haxby slice as rows of voxels"
    script:
        "../reproduction/experiments/ksupport/prepare.py"


rule train_ksupport_paths:
    input:
        study=lambda wildcards: f"{ksupport_folder}/study_{ksupport_job(wildcards)['study']}.npz",
    output:
        paths=f"{ksupport_folder}/paths_{{study}}_{{protocol}}_{{part}}.csv",
    wildcard_constraints:
        study="film|reversed|haxby|wager",
        protocol="fair|permuted",
        part=r"\d+",
    resources:
        mem_mb=3000,
        runtime=240,
    params:
        protocol=lambda wildcards: wildcards.protocol,
        numbers=lambda wildcards: ksupport_job(wildcards)["numbers"],
        first=lambda wildcards: ksupport_job(wildcards)["first"],
        folds=lambda wildcards: 0 if wildcards.study == "reversed" else ksupport["folds"],
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
        splits=f"{ksupport_folder}/map_splits_{{groups}}.csv",
    wildcard_constraints:
        groups="|".join(ksupport_groups),
    resources:
        mem_mb=3000,
        runtime=120,
    message:
        "weight maps that separate two groups, {wildcards.groups}"
    script:
        "../reproduction/experiments/ksupport/train_maps.py"


rule evaluate_ksupport:
    input:
        **{
            f"paths_{study}_{protocol}": [
                f"{ksupport_folder}/paths_{study}_{protocol}_{part}.csv" for part in range(len(jobs))
            ]
            for (study, protocol), jobs in ksupport_jobs.items()
        },
        **{
            f"{kind}_{groups}": f"{ksupport_folder}/{name}_{groups}.{ending}"
            for groups in ksupport_groups
            for kind, name, ending in (
                ("weights", "weights", "npz"),
                ("clusters", "clusters", "csv"),
                ("splits", "map_splits", "csv"),
            )
        },
        **{
            f"receipt_{name}": f"data/receipts/{name}.json"
            for name in ("movie_watching", "haxby2001_slice", "wager2008_contrasts", "drug_stroop")
        },
        **{
            f"study_{name}": f"{ksupport_folder}/study_{source}.npz"
            for name, source in (("film", "film_0"), ("haxby", "haxby"), ("wager", "wager"))
        },
        laplacian=expand("data/processed/laplacian_kcca/main_{seed}.csv", seed=range(ksupport["scans"])),
    output:
        values="data/results/ksupport/values.json",
        paths="data/results/ksupport/paths.csv",
        chosen="data/results/ksupport/chosen.csv",
        clusters="data/results/ksupport/clusters.csv",
        maps_drug_stroop="data/results/ksupport/maps_drug_stroop.npz",
        maps_wager2008_contrasts="data/results/ksupport/maps_wager2008_contrasts.npz",
    message:
        "correlations, clusters and norms of the three regularizers"
    script:
        "../reproduction/experiments/ksupport/evaluate.py"


# Section 4.3: pyramids of quantizations, and subtree patterns of graphs of brain maps.

graph_kernels = config["graph_kernels"]
graph_folder = "data/processed/graph_kernels"
# Data set to the study of prepare_group_studies.
graph_studies = {"drug_stroop": "stroop_groups", "wager2008_contrasts": "wager_groups"}
# The numbers of the splits, and of the permutations of the labels from 1, of each job.
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
    wildcard_constraints:
        groups="|".join(graph_studies.values()),
        part=r"\d+",
    resources:
        mem_mb=3000,
        runtime=240,
    params:
        numbers=lambda wildcards: graph_jobs["splits"][int(wildcards.part)],
    message:
        "graph kernels and other methods, {wildcards.groups}, part {wildcards.part}"
    script:
        "../reproduction/experiments/graph_kernels/train.py"


rule train_permuted_graphs:
    input:
        study="data/processed/group_studies/{groups}.npz",
    output:
        scores=f"{graph_folder}/permuted_{{groups}}_{{part}}.csv",
    wildcard_constraints:
        groups="|".join(graph_studies.values()),
        part=r"\d+",
    resources:
        mem_mb=3000,
        runtime=240,
    params:
        numbers=lambda wildcards: graph_jobs["permuted"][int(wildcards.part)],
    message:
        "graph kernels with permuted labels, {wildcards.groups}, part {wildcards.part}"
    script:
        "../reproduction/experiments/graph_kernels/train_permuted.py"


rule train_graph_effects:
    input:
        study="data/processed/group_studies/stroop_groups.npz",
    output:
        scores=f"{graph_folder}/effects.csv",
    resources:
        mem_mb=3000,
        runtime=240,
    params:
        scale=config["scale"],
    message:
        "graph kernels and other methods on drawn studies, by effect"
    script:
        "../reproduction/experiments/graph_kernels/train_effects.py"


rule train_graph_maps:
    input:
        study="data/processed/group_studies/{groups}.npz",
    output:
        maps=f"{graph_folder}/maps_{{groups}}.npz",
    wildcard_constraints:
        groups="|".join(graph_studies.values()),
    resources:
        mem_mb=3000,
        runtime=60,
    message:
        "maps of the learned functions, {wildcards.groups}"
    script:
        "../reproduction/experiments/graph_kernels/train_maps.py"


rule evaluate_graph_kernels:
    input:
        **{
            f"{kind}_{groups}": [f"{graph_folder}/{kind}_{groups}_{part}.csv" for part in range(len(jobs))]
            for kind, jobs in graph_jobs.items()
            for groups in graph_studies.values()
        },
        **{f"maps_{groups}": f"{graph_folder}/maps_{groups}.npz" for groups in graph_studies.values()},
        **{
            f"study_{groups}": f"data/processed/group_studies/{groups}.npz"
            for groups in graph_studies.values()
        },
        **{f"receipt_{name}": f"data/receipts/{name}.json" for name in graph_studies},
        effects=f"{graph_folder}/effects.csv",
    output:
        **{f"maps_{name}": f"data/results/graph_kernels/maps_{name}.npz" for name in graph_studies},
        values="data/results/graph_kernels/values.json",
        splits="data/results/graph_kernels/splits.csv",
        permuted="data/results/graph_kernels/permuted.csv",
    message:
        "accuracies, tests and controls of graph kernels"
    script:
        "../reproduction/experiments/graph_kernels/evaluate.py"


rule evaluate_weisfeiler_lehman:
    input:
        receipt="data/receipts/graphs_tu.json",
    output:
        values="data/results/weisfeiler_lehman/values.json",
        timings="data/results/weisfeiler_lehman/timings.json",
    message:
        "the Weisfeiler-Lehman kernel on benchmarks, its time and its test"
    script:
        "../reproduction/experiments/weisfeiler_lehman/evaluate.py"


# A scan of the user: the block own_fmri of config/config.yaml names the files. Run `snakemake own_fmri`.


rule own_fmri:
    input:
        own_fmri_results,


if config["own_fmri"] is not None:
    from reproduction.experiments.own_fmri.prepare import OwnScan

    try:
        own_fmri_files = OwnScan(**config["own_fmri"]).files
    except DataError as error:
        sys.exit(f"config: {error}")

    rule prepare_own_fmri:
        input:
            files=own_fmri_files,
        output:
            series="data/processed/own_fmri/series.npz",
            motion="data/results/own_fmri/motion.csv",
        resources:
            mem_mb=8000,
            runtime=120,
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
            curve="data/results/own_fmri/curve.csv",
            weights="data/results/own_fmri/weights.nii.gz",
            map="data/results/own_fmri/map.html",
        resources:
            mem_mb=8000,
            runtime=240,
        message:
            "predictions on held-out volumes of your scan, and weight map"
        script:
            "../reproduction/experiments/own_fmri/evaluate.py"
