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
