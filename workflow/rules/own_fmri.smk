# A user's own scan: the block own_fmri of config/config.yaml names the files. Run `snakemake own_fmri`.

own_fmri = config["own_fmri"]
own_fmri_files = []

if own_fmri is not None:
    from reproduction.experiments.own_fmri.scans import OwnScan

    try:
        own_fmri_files = OwnScan.of(own_fmri).files
    except DataError as error:
        sys.exit(f"config: {error}")


rule own_fmri:
    input:
        own_fmri_results,


rule prepare_own_fmri:
    input:
        own_fmri_files,
    output:
        series="data/processed/own_fmri/series.npz",
        motion="data/results/own_fmri/motion.csv",
    log:
        "logs/prepare_own_fmri.log",
    benchmark:
        "logs/benchmarks/prepare_own_fmri.tsv"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        library=library_digest("workflow/reproduction/experiments/own_fmri/prepare.py"),
        settings=own_fmri,
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
        weights="data/results/own_fmri/weights.nii.gz",
        map="data/results/own_fmri/map.html",
    log:
        "logs/evaluate_own_fmri.log",
    benchmark:
        "logs/benchmarks/evaluate_own_fmri.tsv"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        library=library_digest("workflow/reproduction/experiments/own_fmri/evaluate.py"),
        settings=own_fmri,
    message:
        "what your scan tells of the target, on volumes held out"
    script:
        "../reproduction/experiments/own_fmri/evaluate.py"
