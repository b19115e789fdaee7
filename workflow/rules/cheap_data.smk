# The chapter on structured learning from cheap data: cell tracking, partial annotations, active learning, transfer.

# Section 1.1: four structured prediction problems.


rule evaluate_structured_problems:
    output:
        values="data/results/structured_problems/values.json",
        losses="data/results/structured_problems/losses.csv",
        examples="data/results/structured_problems/examples.npz",
    message:
        "one learner on four structured prediction problems"
    script:
        "../reproduction/experiments/structured_problems/evaluate.py"


# Films of cells as trackers see them, shared by all sections: detections and their true tracks.

cell_films = "data/processed/cell_films"
# Steps between the frames of the film of migrating cells: the larger, the harder the tracking.
migration_steps = [1, 2, 4]


rule prepare_migration_films:
    input:
        receipt="data/receipts/cell_migration.json",
    output:
        films=film_paths(f"migration_{step}" for step in migration_steps),
    params:
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
    message:
        "true masks of nuclei as detections"
    script:
        "../reproduction/experiments/cell_films/prepare_masks.py"


# Films of two laboratories. A repetition trains on film k and tests on the next one.
film_numbers = range(1, config["nuclei_films"] + 1)
repetitions = film_numbers[:-1]


rule prepare_nuclei_films:
    input:
        receipt="data/receipts/{laboratory}_nuclei.json",
    output:
        films=film_paths(f"{{laboratory}}_{number}" for number in film_numbers),
    wildcard_constraints:
        laboratory="dcelliq|mitocheck",
    message:
        "nuclei detected in the films of the laboratory {wildcards.laboratory}"
    script:
        "../reproduction/experiments/cell_films/prepare_nuclei.py"


# Copy the results to lib/ermlab/tracking/models/ (cell_tracker.json, point_tracker.json) to bundle new trackers with
# the library.
rule train_bundled_tracker:
    input:
        dcelliq_nuclei=film_paths(["dcelliq_1", "dcelliq_2"]),
        mitocheck_nuclei=film_paths(["mitocheck_1", "mitocheck_2"]),
        ctc_sim_truth=film_paths(["ctc_sim"]),
        cell_migration=film_paths(["migration_4"]),
    output:
        model="data/results/cell_tracker/model.json",
        points="data/results/cell_tracker/points.json",
    threads: 2
    message:
        "the trackers that are bundled with the library"
    script:
        "../reproduction/experiments/cell_films/train_bundled_tracker.py"


# Section 1.2: tracking by assignment, and seven trackers on the same detections.

tracking = config["tracking"]
tracking_folder = "data/processed/tracking"
# Training and test film of each study, or one film that is cut in two.
tracking_films = {"dcelliq": ["dcelliq_1", "dcelliq_2"]} | {
    f"migration_{step}": [f"migration_{step}"] for step in migration_steps
}


rule train_trackers:
    input:
        films=lambda wildcards: film_paths(tracking_films[wildcards.study]),
    output:
        errors=f"{tracking_folder}/errors_{{study}}.csv",
        tuning=f"{tracking_folder}/tuning_{{study}}.csv",
        weights=f"{tracking_folder}/weights_{{study}}.npz",
        tracks=f"{tracking_folder}/tracks_{{study}}.npz",
        timings=f"{tracking_folder}/timings_{{study}}.json",
    wildcard_constraints:
        study="|".join(tracking_films),
    resources:
        runtime=240,
    params:
        cell_type=lambda wildcards: "nuclei" if wildcards.study == "dcelliq" else "migration",
    message:
        "seven trackers, {wildcards.study}"
    script:
        "../reproduction/experiments/tracking/train.py"


# With the parameters that were chosen on the first training film.
rule train_trackers_on_films:
    input:
        films=film_paths(f"dcelliq_{number}" for number in film_numbers[1:]),
        tuning=f"{tracking_folder}/tuning_dcelliq.csv",
    output:
        losses=f"{tracking_folder}/losses.csv",
    resources:
        runtime=120,
    params:
        cell_type="nuclei",
    message:
        "six trackers on more films of nuclei"
    script:
        "../reproduction/experiments/tracking/train_films.py"


rule prepare_tracked_frames:
    input:
        nuclei="data/receipts/dcelliq_nuclei.json",
        hela="data/receipts/ctc_hela02_images.json",
    output:
        nuclei_film=f"{tracking_folder}/nuclei_film.npz",
        nuclei_frames=f"{tracking_folder}/nuclei_frames.npz",
        few_cells=f"{tracking_folder}/few_cells.npz",
        few_images=f"{tracking_folder}/few_images.npz",
        hela_film=f"{tracking_folder}/hela_film.npz",
        hela_frames=f"{tracking_folder}/hela_frames.npz",
    message:
        "nuclei in the frames that are shown with tracks"
    script:
        "../reproduction/experiments/tracking/prepare.py"


rule evaluate_tracking:
    input:
        **rules.prepare_tracked_frames.output,
        **{
            kind: expand(path, study=tracking["studies"])
            for kind, path in rules.train_trackers.output.items()
        },
        losses=rules.train_trackers_on_films.output.losses,
        films=[
            (
                rules.prepare_tracked_frames.output.nuclei_film
                if study == "dcelliq"
                else film_paths(tracking_films[study])[-1]
            )
            for study in tracking["studies"]
        ],
        receipts=expand(
            "data/receipts/{name}.json", name=["dcelliq_nuclei", "cell_migration", "ctc_hela02_images"]
        ),
    output:
        values="data/results/tracking/values.json",
        timings="data/results/tracking/timings.json",
        tables=expand("data/results/tracking/{table}.csv", table=["errors", "tuning"]),
        pictures=expand(
            "data/results/tracking/{name}.npz", name=["nuclei", "few_cells", "few_images", "hela"]
        ),
        studies=expand(
            "data/results/tracking/{kind}_{study}.npz",
            kind=["film", "tracks", "weights"],
            study=tracking["studies"],
        ),
    message:
        "losses and errors of trackers"
    script:
        "../reproduction/experiments/tracking/evaluate.py"


# Section 1.3.3: precision of CCCP, on functions of one variable and more.


rule evaluate_cccp_precision:
    output:
        values="data/results/cccp_precision/values.json",
        curves="data/results/cccp_precision/curves.csv",
        paths="data/results/cccp_precision/paths.csv",
        starts="data/results/cccp_precision/starts.csv",
        dimensions="data/results/cccp_precision/dimensions.csv",
        algorithm="data/results/cccp_precision/algorithm.csv",
    message:
        "CCCP with fixed and adaptive precision"
    script:
        "../reproduction/experiments/cccp_precision/evaluate.py"


# Section 1.3.4: the generalization bound.


rule evaluate_partial_bound:
    output:
        values="data/results/partial_bound/values.json",
        curves="data/results/partial_bound/curves.csv",
    message:
        "the generalization bound of partial annotations on simulated problems"
    script:
        "../reproduction/experiments/partial_bound/evaluate.py"


# Section 1.3.5: learning from partial annotations.

partial_studies = config["partial_annotation"]["studies"]
partial_folder = "data/processed/partial_annotation"
# As published, training on a film of one laboratory and test on one of another; and a real film, cut in two.
partial_films = {f"nuclei-{k}": [f"dcelliq_{k}", f"mitocheck_{k + 1}"] for k in repetitions} | {
    f"migration_{step}": [f"migration_{step}"] for step in migration_steps
}
partial_runs = [run for run in partial_films if run.partition("-")[0] in partial_studies]
# Algorithms are compared on the first films only.
cccp_runs = [run for run in partial_runs if int(run.partition("-")[2] or 1) <= 3]


rule train_partial_trackers:
    input:
        unpack(first_partial_curve),
        films=lambda wildcards: film_paths(partial_films[wildcards.study]),
    output:
        curve=f"{partial_folder}/curve_{{study}}.csv",
    wildcard_constraints:
        study="|".join(partial_films),
    resources:
        runtime=240,
    params:
        settings=lambda wildcards: partial_studies[film_of_run(wildcards)[0]],
        film=lambda wildcards: film_of_run(wildcards)[1],
    message:
        "trackers from shares of the annotation, {wildcards.study}"
    script:
        "../reproduction/experiments/partial_annotation/train.py"


rule train_cccp_variants:
    input:
        films=lambda wildcards: film_paths(partial_films[wildcards.study]),
        curve=f"{partial_folder}/curve_{{study}}.csv",
    output:
        descents=f"{partial_folder}/descents_{{study}}.csv",
    wildcard_constraints:
        study="|".join(partial_films),
    resources:
        runtime=240,
    params:
        settings=lambda wildcards: partial_studies[film_of_run(wildcards)[0]],
        film=lambda wildcards: film_of_run(wildcards)[1],
    message:
        "CCCP with and without recycling and adaptive precision, {wildcards.study}"
    script:
        "../reproduction/experiments/partial_annotation/train_cccp.py"


rule evaluate_partial_annotation:
    input:
        curves=expand(f"{partial_folder}/curve_{{study}}.csv", study=partial_runs),
        descents=expand(f"{partial_folder}/descents_{{study}}.csv", study=cccp_runs),
        receipts=expand(
            "data/receipts/{name}.json", name=["dcelliq_nuclei", "mitocheck_nuclei", "cell_migration"]
        ),
    output:
        values="data/results/partial_annotation/values.json",
        losses="data/results/partial_annotation/losses.csv",
        descents="data/results/partial_annotation/descents.csv",
    params:
        studies=partial_runs,
        descended=cccp_runs,
    message:
        "losses, times and bounds of partial annotation"
    script:
        "../reproduction/experiments/partial_annotation/evaluate.py"


# Section 1.4: active learning, which patches of a film to annotate.

active_folder = "data/processed/active_learning"
# Training and test film of each run, halves of one film where they are the same.
active_films = {
    f"nuclei-{k}": {"train": f"dcelliq_{k}", "test": f"mitocheck_{k + 1}"} for k in repetitions
} | {"migration": {"train": "migration_4", "test": "migration_4"}}


rule train_active_learners:
    input:
        train=lambda wildcards: f"{cell_films}/{active_films[wildcards.study]['train']}.npz",
        test=lambda wildcards: f"{cell_films}/{active_films[wildcards.study]['test']}.npz",
    output:
        curve=f"{active_folder}/{{study}}/curve.csv",
        table=f"{active_folder}/{{study}}/table.csv",
        stops=f"{active_folder}/{{study}}/stops.csv",
        cells=f"{active_folder}/{{study}}/cells.csv",
        summary=f"{active_folder}/{{study}}/summary.json",
        timings=f"{active_folder}/{{study}}/timings.json",
    wildcard_constraints:
        study="|".join(active_films),
    resources:
        runtime=120,
    params:
        repetition=lambda wildcards: film_of_run(wildcards)[1],
    message:
        "active learning, {wildcards.study}"
    script:
        "../reproduction/experiments/active_learning/train.py"


rule evaluate_active_learning:
    input:
        **{
            kind: expand(path, study=active_films)
            for kind, path in rules.train_active_learners.output.items()
        },
        receipts=expand(
            "data/receipts/{name}.json", name=["dcelliq_nuclei", "mitocheck_nuclei", "cell_migration"]
        ),
    output:
        values="data/results/active_learning/values.json",
        timings="data/results/active_learning/timings.json",
        curve="data/results/active_learning/curve.csv",
        table="data/results/active_learning/table.csv",
        stops="data/results/active_learning/stops.csv",
        cells="data/results/active_learning/cells.csv",
    params:
        studies=list(active_films),
    message:
        "test errors, stops and tables of active learning"
    script:
        "../reproduction/experiments/active_learning/evaluate.py"


# Section 1.5: transfer, a tracker of one laboratory with the annotation of another.

# Films of each scenario of reproduction.experiments.transfer.train: source, target and test of each repetition.
transfer_films = {
    f"laboratories-{k}": [f"dcelliq_{k}", f"mitocheck_{k}", f"mitocheck_{k + 1}"] for k in repetitions
} | {
    "migration": ["ctc_sim", "migration_4"],
    "controls": ["dcelliq_1", "mitocheck_1", "mitocheck_2"],
}


rule train_transfer:
    input:
        unpack(
            lambda wildcards: {
                name: f"{cell_films}/{name}.npz" for name in transfer_films[wildcards.scenario]
            }
        ),
    output:
        runs="data/processed/transfer/{scenario}.csv",
        facts="data/processed/transfer/{scenario}.json",
        timings="data/processed/transfer/{scenario}_seconds.json",
    wildcard_constraints:
        scenario="|".join(transfer_films),
    resources:
        runtime=60,
    params:
        scenario="{scenario}",
    message:
        "trackers from growing shares of a target's annotation: {wildcards.scenario}"
    script:
        "../reproduction/experiments/transfer/train.py"


rule evaluate_transfer:
    input:
        **{kind: expand(path, scenario=transfer_films) for kind, path in rules.train_transfer.output.items()},
        receipts=expand(
            "data/receipts/{name}.json",
            name=["dcelliq_nuclei", "mitocheck_nuclei", "cell_migration", "ctc_sim_truth"],
        ),
    output:
        values="data/results/transfer/values.json",
        timings="data/results/transfer/timings.json",
        runs="data/results/transfer/runs.csv",
    params:
        scenarios=list(transfer_films),
    message:
        "what strategies need of a target's annotation"
    script:
        "../reproduction/experiments/transfer/evaluate.py"
