# Section 3.1 of the equivariant paper: cars in aerial images.

aerial = config["aerial_cars"]
aerial_seeds = range(aerial["seeds"])
aerial_folds = range(3)
aerial_settings = {
    name: aerial[name]
    for name in (
        "cell",
        "cells",
        "tolerance",
        "n_slots",
        "rotations",
        "cars",
        "backgrounds",
        "slot_windows",
        "tol",
        "max_boxes",
        "max_overlap",
    )
}


rule prepare_aerial_grids:
    input:
        receipt="data/receipts/kit_ais_cars.json",
    output:
        grids="data/processed/aerial_cars/grids.npz",
    log:
        "logs/prepare_aerial_grids.log",
    benchmark:
        "logs/benchmarks/prepare_aerial_grids.tsv"
    threads: 2
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/aerial_cars/prepare.py"),
        size={"frames": aerial["frames"], "cell": aerial["cell"]},
    message:
        "HOG cells of the aerial frames"
    script:
        "../reproduction/experiments/aerial_cars/prepare.py"


rule choose_aerial_prices:
    input:
        receipt="data/receipts/kit_ais_cars.json",
        grids="data/processed/aerial_cars/grids.npz",
    output:
        prices="data/processed/aerial_cars/prices.csv",
    log:
        "logs/choose_aerial_prices.log",
    benchmark:
        "logs/benchmarks/choose_aerial_prices.tsv"
    threads: 2
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        library=library_digest("workflow/reproduction/experiments/aerial_cars/select.py"),
        arguments={
            "frames": aerial["frames"],
            "seed": config["seed"],
            "settings": {**aerial_settings, **aerial["selection"]},
            "C": aerial["C"],
        },
    message:
        "price of slack of the aerial detectors, one scene against another"
    script:
        "../reproduction/experiments/aerial_cars/select.py"


rule train_aerial_detectors:
    input:
        receipt="data/receipts/kit_ais_cars.json",
        grids="data/processed/aerial_cars/grids.npz",
        prices="data/processed/aerial_cars/prices.csv",
    output:
        detections="data/processed/aerial_cars/detections_{seed}_{fold}.csv",
        training="data/processed/aerial_cars/training_{seed}_{fold}.csv",
        timings="data/processed/aerial_cars/timings_{seed}_{fold}.json",
    log:
        "logs/train_aerial_detectors/{seed}_{fold}.log",
    benchmark:
        "logs/benchmarks/train_aerial_detectors/{seed}_{fold}.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/aerial_cars/train.py"),
        frames=aerial["frames"],
        seed=config["seed"],
        settings=aerial_settings,
        control=aerial["control"],
    message:
        "linear and slot detectors, with and without rotations, seed {wildcards.seed}, test scene {wildcards.fold}"
    script:
        "../reproduction/experiments/aerial_cars/train.py"


rule evaluate_aerial_cars:
    input:
        **{
            name: expand(
                f"data/processed/aerial_cars/{name}_{{seed}}_{{fold}}.{ending}",
                seed=aerial_seeds,
                fold=aerial_folds,
            )
            for name, ending in (("detections", "csv"), ("training", "csv"), ("timings", "json"))
        },
        receipt="data/receipts/kit_ais_cars.json",
        prices="data/processed/aerial_cars/prices.csv",
    output:
        values="data/results/aerial_cars/values.json",
        precision="data/results/aerial_cars/precision.csv",
        rates="data/results/aerial_cars/rates.csv",
        prices="data/results/aerial_cars/prices.csv",
        examples="data/results/aerial_cars/examples.npz",
    log:
        "logs/evaluate_aerial_cars.log",
    benchmark:
        "logs/benchmarks/evaluate_aerial_cars.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/aerial_cars/evaluate.py"),
        sizes={"frames": aerial["frames"], "settings": aerial_settings, "seeds": aerial["seeds"]},
    message:
        "precision and recall of the cars found from above"
    script:
        "../reproduction/experiments/aerial_cars/evaluate.py"
