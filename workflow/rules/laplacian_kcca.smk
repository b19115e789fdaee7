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
