# The equivariant structured SVM: its figures 1 to 4.


rule evaluate_vicinal_risk:
    output:
        values="data/results/vicinal_risk/values.json",
        example="data/results/vicinal_risk/example.csv",
        spreads="data/results/vicinal_risk/spreads.csv",
    message:
        "bounds of the vicinal risk, on the example of figure 4 and on random cases"
    script:
        "../reproduction/experiments/vicinal_risk/evaluate.py"


# Section 1.1: rings in the plane, learned from one point each.


rule evaluate_equivariant_toy:
    output:
        values="data/results/equivariant_toy/values.json",
        triples="data/results/equivariant_toy/triples.csv",
        degrees="data/results/equivariant_toy/degrees.csv",
        points="data/results/equivariant_toy/points.csv",
        regions="data/results/equivariant_toy/regions.npz",
    message:
        "three classes from one point each, with growing ranges of rotations"
    script:
        "../reproduction/experiments/equivariant_toy/evaluate.py"


# Section 3.1: cars in aerial images.

aerial_folds = {"seed": range(config["aerial_cars"]["seeds"]), "fold": range(3)}


rule prepare_aerial_frames:
    input:
        receipt="data/receipts/kit_ais_cars.json",
    output:
        frames="data/processed/aerial_cars/frames.npz",
        grids="data/processed/aerial_cars/grids.npz",
    threads: 2
    message:
        "aerial frames and their HOG cells"
    script:
        "../reproduction/experiments/aerial_cars/prepare.py"


rule select_aerial_C:
    input:
        frames="data/processed/aerial_cars/frames.npz",
        grids="data/processed/aerial_cars/grids.npz",
    output:
        validated="data/processed/aerial_cars/validated.csv",
    threads: 2
    message:
        "C of the aerial detectors, validated on pairs of scenes"
    script:
        "../reproduction/experiments/aerial_cars/select.py"


rule train_aerial_detectors:
    input:
        frames="data/processed/aerial_cars/frames.npz",
        grids="data/processed/aerial_cars/grids.npz",
        validated="data/processed/aerial_cars/validated.csv",
    output:
        detections="data/processed/aerial_cars/detections_{seed}_{fold}.csv",
        training="data/processed/aerial_cars/training_{seed}_{fold}.csv",
        timings="data/processed/aerial_cars/timings_{seed}_{fold}.json",
    resources:
        runtime=60,
    params:
        seed=seed_of,
        fold=lambda wildcards: int(wildcards.fold),
    message:
        "linear and slot detectors, with and without rotations, seed {wildcards.seed}, test scene {wildcards.fold}"
    script:
        "../reproduction/experiments/aerial_cars/train.py"


rule evaluate_aerial_cars:
    input:
        receipt="data/receipts/kit_ais_cars.json",
        frames="data/processed/aerial_cars/frames.npz",
        validated="data/processed/aerial_cars/validated.csv",
        detections=expand("data/processed/aerial_cars/detections_{seed}_{fold}.csv", **aerial_folds),
        training=expand("data/processed/aerial_cars/training_{seed}_{fold}.csv", **aerial_folds),
        timings=expand("data/processed/aerial_cars/timings_{seed}_{fold}.json", **aerial_folds),
    output:
        values="data/results/aerial_cars/values.json",
        precision="data/results/aerial_cars/precision.csv",
        rates="data/results/aerial_cars/rates.csv",
        prices="data/results/aerial_cars/prices.csv",
        examples="data/results/aerial_cars/examples.npz",
    message:
        "precision and recall of the aerial detectors"
    script:
        "../reproduction/experiments/aerial_cars/evaluate.py"


# Section 3.2 of the equivariant structured SVM: pedestrians, with transformations given and natural ones.

pedestrian_settings = config["pedestrians"]
pedestrian_descriptor = {
    name: pedestrian_settings[name] for name in ("levels", "blocks", "orientations", "root")
}
pedestrian_prices = {"binary": pedestrian_settings["C"], "ranking": pedestrian_settings["ranking_C"]}
training_sets = ["1", "2", "3"]
pedestrian_sets = {
    f"set_{part}": f"data/processed/pedestrians/set_{part}" for part in [*training_sets, "T1", "T2"]
}


rule prepare_pedestrian_features:
    input:
        receipt="data/receipts/daimler_pedestrians.json",
    output:
        # What is in a folder is kept: versions that are described already are not described again.
        **{name: update(directory(folder)) for name, folder in pedestrian_sets.items()},
    log:
        "logs/prepare_pedestrian_features.log",
    benchmark:
        "logs/benchmarks/prepare_pedestrian_features.tsv"
    threads: 2
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/pedestrians/prepare.py"),
        size={name: pedestrian_settings[name] for name in ("pedestrians", "others")},
        descriptor=pedestrian_descriptor,
    message:
        "descriptors of pedestrians, mirrored and shifted"
    script:
        "../reproduction/experiments/pedestrians/prepare.py"


rule compare_pedestrian_descriptors:
    input:
        **{name: pedestrian_sets[name] for name in map("set_{}".format, training_sets)},
    output:
        "data/processed/pedestrians/descriptors.csv",
    log:
        "logs/compare_pedestrian_descriptors.log",
    benchmark:
        "logs/benchmarks/compare_pedestrian_descriptors.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        library=library_digest("workflow/reproduction/experiments/pedestrians/compare_descriptors.py"),
        descriptor=pedestrian_descriptor,
        changes=pedestrian_settings["other_descriptors"],
        prices=pedestrian_prices["binary"],
        tol=pedestrian_settings["tol"],
    message:
        "descriptors of pedestrians, compared on training sets"
    script:
        "../reproduction/experiments/pedestrians/compare_descriptors.py"


rule train_pedestrian_classifiers:
    input:
        **pedestrian_sets,
    output:
        scores="data/processed/pedestrians/scores_{part}.npz",
        timings="data/processed/pedestrians/timings_{part}.json",
    log:
        "logs/train_pedestrian_classifiers/{part}.log",
    benchmark:
        "logs/benchmarks/train_pedestrian_classifiers/{part}.tsv"
    wildcard_constraints:
        part="1|2|3",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/pedestrians/train.py"),
        descriptor=pedestrian_descriptor,
        prices=pedestrian_prices,
        tol=pedestrian_settings["tol"],
    message:
        "pedestrian classifiers trained on set {wildcards.part}, with every price"
    script:
        "../reproduction/experiments/pedestrians/train.py"


rule choose_pedestrian_prices:
    input:
        scores=expand("data/processed/pedestrians/scores_{part}.npz", part=training_sets),
        crops=expand("data/processed/pedestrians/set_{part}", part=training_sets),
    output:
        prices="data/processed/pedestrians/prices.json",
        validated="data/processed/pedestrians/validated.csv",
    log:
        "logs/choose_pedestrian_prices.log",
    benchmark:
        "logs/benchmarks/choose_pedestrian_prices.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/pedestrians/select.py"),
        prices=pedestrian_prices,
    message:
        "price of each pedestrian classifier, chosen on training sets"
    script:
        "../reproduction/experiments/pedestrians/select.py"


rule train_pedestrian_controls:
    input:
        **pedestrian_sets,
        prices="data/processed/pedestrians/prices.json",
    output:
        *expand("data/processed/pedestrians/controls_{part}.npz", part=training_sets),
    log:
        "logs/train_pedestrian_controls.log",
    benchmark:
        "logs/benchmarks/train_pedestrian_controls.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        library=library_digest("workflow/reproduction/experiments/pedestrians/train_controls.py"),
        descriptor=pedestrian_descriptor,
        prices=pedestrian_prices,
        tol=pedestrian_settings["tol"],
    message:
        "pedestrian classifiers trained on cut versions"
    script:
        "../reproduction/experiments/pedestrians/train_controls.py"


rule train_pedestrian_groups:
    input:
        **pedestrian_sets,
        prices="data/processed/pedestrians/prices.json",
    output:
        scores="data/processed/pedestrians/groups_{kind}_{part}.npz",
        timings="data/processed/pedestrians/groups_{kind}_{part}.json",
    log:
        "logs/train_pedestrian_groups/{kind}_{part}.log",
    benchmark:
        "logs/benchmarks/train_pedestrian_groups/{kind}_{part}.tsv"
    wildcard_constraints:
        part="1|2|3",
        kind="binary|ranking",
    threads: 1
    resources:
        mem_mb=3000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/pedestrians/train_groups.py"),
        descriptor=pedestrian_descriptor,
        prices=pedestrian_prices,
        shares=pedestrian_settings["groupings"],
        tol=pedestrian_settings["tol"],
    message:
        "groups of pedestrians of set {wildcards.part} as samples, {wildcards.kind}"
    script:
        "../reproduction/experiments/pedestrians/train_groups.py"


rule evaluate_pedestrians:
    input:
        **pedestrian_sets,
        receipt="data/receipts/daimler_pedestrians.json",
        scores=expand("data/processed/pedestrians/scores_{part}.npz", part=training_sets),
        training_seconds=expand("data/processed/pedestrians/timings_{part}.json", part=training_sets),
        controls=expand("data/processed/pedestrians/controls_{part}.npz", part=training_sets),
        binary=expand("data/processed/pedestrians/groups_binary_{part}.npz", part=training_sets),
        binary_groups_seconds=expand(
            "data/processed/pedestrians/groups_binary_{part}.json", part=training_sets
        ),
        ranking=expand("data/processed/pedestrians/groups_ranking_{part}.npz", part=training_sets),
        ranking_groups_seconds=expand(
            "data/processed/pedestrians/groups_ranking_{part}.json", part=training_sets
        ),
        prices="data/processed/pedestrians/prices.json",
        validated="data/processed/pedestrians/validated.csv",
        descriptors="data/processed/pedestrians/descriptors.csv",
    output:
        values="data/results/pedestrians/values.json",
        roc="data/results/pedestrians/roc.csv",
        validated="data/results/pedestrians/validated.csv",
        descriptors="data/results/pedestrians/descriptors.csv",
        examples="data/results/pedestrians/examples.npz",
    log:
        "logs/evaluate_pedestrians.log",
    benchmark:
        "logs/benchmarks/evaluate_pedestrians.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/pedestrians/evaluate.py"),
        descriptor=pedestrian_descriptor,
        prices=pedestrian_prices,
    message:
        "equal error rates of the pedestrian classifiers"
    script:
        "../reproduction/experiments/pedestrians/evaluate.py"
