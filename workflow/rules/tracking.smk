# Section 1.2 of the cheap-data chapter: tracking by assignment, and six trackers on the same detections.

tracking = config["tracking"]
tracking_folder = "data/processed/tracking"
# Study to the kind of film, for which weights were set by hand, and its films: one to learn from and one to test
# on, or one that is cut in two.
tracking_films = {"dcelliq": ("nuclei", ["dcelliq_1", "dcelliq_2"])} | {
    f"migration_{step}": ("migration", [f"migration_{step}"]) for step in migration_steps
}
tracking_inputs = {
    study: [f"{cell_films}/{name}.npz" for name in films] for study, (_, films) in tracking_films.items()
}
tracking_datasets = ["dcelliq_nuclei", "cell_migration", "ctc_hela02_images"]


rule train_trackers:
    input:
        films=lambda wildcards: tracking_inputs[wildcards.study],
    output:
        errors=f"{tracking_folder}/errors_{{study}}.csv",
        tuning=f"{tracking_folder}/tuning_{{study}}.csv",
        weights=f"{tracking_folder}/weights_{{study}}.npz",
        tracks=f"{tracking_folder}/tracks_{{study}}.npz",
        timings=f"{tracking_folder}/timings_{{study}}.json",
    log:
        "logs/train_trackers/{study}.log",
    benchmark:
        "logs/benchmarks/train_trackers/{study}.tsv"
    wildcard_constraints:
        study="|".join(tracking_films),
    threads: 1
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        library=library_digest("workflow/reproduction/experiments/tracking/train.py"),
        laboratory=lambda wildcards: tracking_films[wildcards.study][0],
        pairs=tracking["pairs"],
        settings={
            name: tracking[name]
            for name in ("lams", "min_leaves", "priors", "reaches", "trees", "folds", "tol")
        }
        | {"seed": config["seed"]},
    message:
        "six trackers and a peer, {wildcards.study}"
    script:
        "../reproduction/experiments/tracking/train.py"


rule prepare_hela_tracks:
    input:
        receipt="data/receipts/ctc_hela02_images.json",
        weights=f"{tracking_folder}/weights_dcelliq.npz",
    output:
        tracks=f"{tracking_folder}/hela.npz",
    log:
        "logs/prepare_hela_tracks.log",
    benchmark:
        "logs/benchmarks/prepare_hela_tracks.tsv"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=15,
    params:
        library=library_digest("workflow/reproduction/experiments/tracking/prepare.py"),
        frames=tracking["hela_frames"],
        side=tracking["picture"]["side"],
    message:
        "tracks of HeLa nuclei without truth"
    script:
        "../reproduction/experiments/tracking/prepare.py"


rule evaluate_tracking:
    input:
        **{f"films_{study}": tracking_inputs[study] for study in tracking["studies"]},
        **{
            f"{kind}_{study}": f"{tracking_folder}/{kind}_{study}.{ending}"
            for kind, ending in (
                ("errors", "csv"),
                ("tuning", "csv"),
                ("tracks", "npz"),
                ("weights", "npz"),
                ("timings", "json"),
            )
            for study in tracking["studies"]
        },
        **{f"receipt_{name}": f"data/receipts/{name}.json" for name in tracking_datasets},
        hela=f"{tracking_folder}/hela.npz",
    output:
        values="data/results/tracking/values.json",
        timings="data/results/tracking/timings.json",
        tables=[f"data/results/tracking/{name}.csv" for name in ("errors", "tuning")],
        pictures=[
            f"data/results/tracking/{name}.npz" for name in ("nuclei", "few_cells", "few_images", "hela")
        ],
        studies=[
            f"data/results/tracking/{kind}_{study}.npz"
            for kind in ("film", "tracks", "weights")
            for study in tracking["studies"]
        ],
    log:
        "logs/evaluate_tracking.log",
    benchmark:
        "logs/benchmarks/evaluate_tracking.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=15,
    params:
        library=library_digest("workflow/reproduction/experiments/tracking/evaluate.py"),
        studies=tracking["studies"],
        datasets=tracking_datasets,
        enumerated=tracking["enumerated"],
        picture=tracking["picture"],
        seed=config["seed"],
    message:
        "losses and errors of trackers"
    script:
        "../reproduction/experiments/tracking/evaluate.py"
