# Films of cells as trackers see them: detections and their true tracks, for the chapter on cheap data.

cell_films = "data/processed/cell_films"
# The steps between the frames of the film of migrating cells: the larger, the harder the tracking.
migration_steps = [1, 2, 4]


rule prepare_migration_films:
    input:
        receipt="data/receipts/cell_migration.json",
    output:
        films=[f"{cell_films}/migration_{step}.npz" for step in migration_steps],
    log:
        "logs/prepare_migration_films.log",
    benchmark:
        "logs/benchmarks/prepare_migration_films.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/cell_films/prepare_migration.py"),
        steps=migration_steps,
    message:
        "detections of migrating cells"
    script:
        "../reproduction/experiments/cell_films/prepare_migration.py"


rule prepare_mask_film:
    input:
        receipt="data/receipts/ctc_sim_truth.json",
    output:
        film=f"{cell_films}/ctc_sim.npz",
    log:
        "logs/prepare_mask_film.log",
    benchmark:
        "logs/benchmarks/prepare_mask_film.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/cell_films/prepare_masks.py"),
    message:
        "true masks of nuclei as detections"
    script:
        "../reproduction/experiments/cell_films/prepare_masks.py"


# Two films of each of two laboratories, with the cells that are found on their frames.
rule prepare_nuclei_films:
    input:
        receipt="data/receipts/{laboratory}_nuclei.json",
    output:
        films=[f"{cell_films}/{{laboratory}}_{number}.npz" for number in (1, 2)],
    log:
        "logs/prepare_nuclei_films/{laboratory}.log",
    benchmark:
        "logs/benchmarks/prepare_nuclei_films/{laboratory}.tsv"
    wildcard_constraints:
        laboratory="dcelliq|mitocheck",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        library=library_digest("workflow/reproduction/experiments/cell_films/prepare_nuclei.py"),
    message:
        "nuclei found on the frames of the laboratory {wildcards.laboratory}"
    script:
        "../reproduction/experiments/cell_films/prepare_nuclei.py"


shipped_tracker_films = {
    "dcelliq_nuclei": ["dcelliq_1", "dcelliq_2"],
    "mitocheck_nuclei": ["mitocheck_1", "mitocheck_2"],
    "ctc_sim_truth": ["ctc_sim"],
    "cell_migration": ["migration_4"],
}


# The tracker that comes with the library; a new one goes to lib/ermlab/tracking/models/cell_tracker.json by hand.
rule train_shipped_tracker:
    input:
        **{
            kind: [f"{cell_films}/{name}.npz" for name in names]
            for kind, names in shipped_tracker_films.items()
        },
    output:
        model="data/results/cell_tracker/model.json",
    log:
        "logs/train_shipped_tracker.log",
    benchmark:
        "logs/benchmarks/train_shipped_tracker.tsv"
    threads: 2
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        library=library_digest("workflow/reproduction/experiments/cell_films/train_shipped_tracker.py"),
        kinds=list(shipped_tracker_films),
    message:
        "the tracker that comes with the library"
    script:
        "../reproduction/experiments/cell_films/train_shipped_tracker.py"
