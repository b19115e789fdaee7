# The equivariant structured SVM: its figures 1 to 4.


rule evaluate_vicinal_risk:
    output:
        values="data/results/vicinal_risk/values.json",
        example="data/results/vicinal_risk/example.csv",
        spreads="data/results/vicinal_risk/spreads.csv",
        digits="data/results/vicinal_risk/digits.csv",
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


# Section 3.2: pedestrians, with given and with natural transformations.

pedestrian_parts = ["1", "2", "3"]
pedestrian_training_sets = expand("data/processed/pedestrians/set_{part}", part=pedestrian_parts)
pedestrian_sets = [
    *pedestrian_training_sets,
    *expand("data/processed/pedestrians/set_{part}", part=["T1", "T2"]),
]


rule prepare_pedestrian_features:
    input:
        receipt="data/receipts/daimler_pedestrians.json",
    output:
        # Files in the folders are kept: existing descriptors are not computed again.
        sets=[update(directory(folder)) for folder in pedestrian_sets],
    threads: 2
    message:
        "descriptors of pedestrians, flipped and shifted"
    script:
        "../reproduction/experiments/pedestrians/prepare.py"


rule compare_pedestrian_descriptors:
    input:
        sets=pedestrian_training_sets,
    output:
        descriptors="data/processed/pedestrians/descriptors.csv",
    message:
        "descriptors of pedestrians, compared on training sets"
    script:
        "../reproduction/experiments/pedestrians/compare_descriptors.py"


rule train_pedestrian_classifiers:
    input:
        sets=pedestrian_sets,
    output:
        scores="data/processed/pedestrians/scores_{part}.npz",
    wildcard_constraints:
        part="|".join(pedestrian_parts),
    resources:
        runtime=60,
    params:
        part="{part}",
    message:
        "pedestrian classifiers with every C, training set {wildcards.part}"
    script:
        "../reproduction/experiments/pedestrians/train.py"


rule select_pedestrian_C:
    input:
        sets=pedestrian_training_sets,
        scores=expand("data/processed/pedestrians/scores_{part}.npz", part=pedestrian_parts),
    output:
        selected="data/processed/pedestrians/selected.json",
        validated="data/processed/pedestrians/validated.csv",
    message:
        "C of each pedestrian classifier, selected on training sets"
    script:
        "../reproduction/experiments/pedestrians/select.py"


rule train_pedestrian_controls:
    input:
        sets=pedestrian_sets,
        selected="data/processed/pedestrians/selected.json",
    output:
        scores=expand("data/processed/pedestrians/controls_{part}.npz", part=pedestrian_parts),
    message:
        "pedestrian classifiers trained on cropped versions"
    script:
        "../reproduction/experiments/pedestrians/train_controls.py"


rule train_pedestrian_groups:
    input:
        sets=pedestrian_sets,
        selected="data/processed/pedestrians/selected.json",
        scores="data/processed/pedestrians/scores_{part}.npz",
    output:
        scores="data/processed/pedestrians/groups_{kind}_{part}.npz",
    wildcard_constraints:
        part="|".join(pedestrian_parts),
        kind="binary|ranking",
    resources:
        mem_mb=3000,
        runtime=60,
    params:
        part="{part}",
        kind="{kind}",
    message:
        "groups of pedestrians as samples, {wildcards.kind}, training set {wildcards.part}"
    script:
        "../reproduction/experiments/pedestrians/train_groups.py"


rule evaluate_pedestrians:
    input:
        receipt="data/receipts/daimler_pedestrians.json",
        sets=pedestrian_sets,
        scores=expand("data/processed/pedestrians/scores_{part}.npz", part=pedestrian_parts),
        controls=expand("data/processed/pedestrians/controls_{part}.npz", part=pedestrian_parts),
        binary=expand("data/processed/pedestrians/groups_binary_{part}.npz", part=pedestrian_parts),
        ranking=expand("data/processed/pedestrians/groups_ranking_{part}.npz", part=pedestrian_parts),
        selected="data/processed/pedestrians/selected.json",
        validated="data/processed/pedestrians/validated.csv",
        descriptors="data/processed/pedestrians/descriptors.csv",
    output:
        values="data/results/pedestrians/values.json",
        roc="data/results/pedestrians/roc.csv",
        validated="data/results/pedestrians/validated.csv",
        descriptors="data/results/pedestrians/descriptors.csv",
        examples="data/results/pedestrians/examples.npz",
    message:
        "equal error rates of the pedestrian classifiers"
    script:
        "../reproduction/experiments/pedestrians/evaluate.py"
