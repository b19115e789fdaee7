# Section 1.5 of the cheap-data chapter: a tracker of one laboratory with the annotation of another.

transfer_settings = config["transfer"]
laboratory_films = ["dcelliq_1", "mitocheck_1", "mitocheck_2"]
# The films of each scenario of reproduction.experiments.transfer.scenarios.
transfer_scenarios = {
    "laboratories": laboratory_films,
    "migration": ["ctc_sim", "migration_4"],
    "controls": laboratory_films,
}


rule train_transfer:
    input:
        unpack(
            lambda wildcards: {
                name: f"{cell_films}/{name}.npz" for name in transfer_scenarios[wildcards.scenario]
            }
        ),
    output:
        runs="data/processed/transfer/{scenario}.csv",
        facts="data/processed/transfer/{scenario}.json",
        timings="data/processed/transfer/{scenario}_seconds.json",
    log:
        "logs/train_transfer/{scenario}.log",
    benchmark:
        "logs/benchmarks/train_transfer/{scenario}.tsv"
    wildcard_constraints:
        scenario="|".join(transfer_scenarios),
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        library=library_digest("workflow/reproduction/experiments/transfer/train.py"),
        study={
            **{name: transfer_settings[name] for name in ("shares", "control_shares", "draws")},
            "sizes": {name: transfer_settings[name] for name in ("cells", "pairs")},
            "search": {name: transfer_settings[name] for name in ("lam", "rho", "n_folds", "tol")},
            "seed": config["seed"],
        },
    message:
        "trackers from growing shares of a target's annotation: {wildcards.scenario}"
    script:
        "../reproduction/experiments/transfer/train.py"


rule evaluate_transfer:
    input:
        runs=expand(rules.train_transfer.output.runs, scenario=transfer_scenarios),
        facts=expand(rules.train_transfer.output.facts, scenario=transfer_scenarios),
        timings=expand(rules.train_transfer.output.timings, scenario=transfer_scenarios),
        receipts=expand(
            "data/receipts/{dataset}.json",
            dataset=["dcelliq_nuclei", "mitocheck_nuclei", "cell_migration", "ctc_sim_truth"],
        ),
    output:
        values="data/results/transfer/values.json",
        timings="data/results/transfer/timings.json",
        runs="data/results/transfer/runs.csv",
    log:
        "logs/evaluate_transfer.log",
    benchmark:
        "logs/benchmarks/evaluate_transfer.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        library=library_digest("workflow/reproduction/experiments/transfer/evaluate.py"),
        scenarios=list(transfer_scenarios),
    message:
        "what strategies need of a target's annotation"
    script:
        "../reproduction/experiments/transfer/evaluate.py"
