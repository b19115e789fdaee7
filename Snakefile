# ermlab: every figure and table of the three works, from the data to the book.
#
#   snakemake                   the whole report, reports/html/index.html
#   snakemake T-fig-2.1         one exhibit (the ids are listed in config/exhibits.yaml)
#   snakemake --config scale=smoke
#
# The stages of every experiment: acquire -> prepare -> train -> evaluate -> narrate -> check -> publish.

from snakemake.utils import min_version

min_version("9.20")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"


rule all:
    default_target: True
    input:
        "reports/html/index.html",
        "reports/claims.json",


include: "workflow/rules/data.smk"
include: "workflow/rules/thesis_2.smk"
include: "workflow/rules/thesis_3.smk"
include: "workflow/rules/thesis_4.smk"
include: "workflow/rules/thesis_5.smk"
include: "workflow/rules/equivariant.smk"
include: "workflow/rules/cheap_data.smk"
include: "workflow/rules/report.smk"


complete_rules(workflow, config, library)
library.keep()  # the rules have asked for all digests by now


onstart:
    guard_jobs()
    lift_job_rate_limit()


onsuccess:
    write_workflow_report()
