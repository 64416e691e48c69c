# snakemake STUDY                                  the study config/studies/STUDY.yaml and its companions
# snakemake train_all --config study=STUDY         one milestone of a study: prepare_all, train_all, evaluate_all,
#                                                  tables, figures or analyses
# snakemake … --config config_dir=FOLDER           a configuration folder other than config/
# snakemake STUDY --report results/STUDY/report.html   Snakemake's report, in addition to the page results/STUDY/index.html
#
# The package wordorder.workflow provides the inputs of each rule and the configuration of each job. The jobs run
# 'wordorder stage' commands. Each stage of the workflow has its own file of rules.

from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/common.smk"


report: str(CAPTIONS / "workflow.rst")


rule all:
    input:
        plan.targets.whole,
    localrule: True


include: "workflow/rules/download.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/reorder.smk"
include: "workflow/rules/positions.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/page.smk"


# Milestones of the study that --config study=NAME selects.


rule prepare_all:
    input:
        plan.targets.prepared,
    localrule: True


rule train_all:
    input:
        plan.targets.trained,
    localrule: True


rule evaluate_all:
    input:
        plan.targets.evaluated,
    localrule: True


rule tables:
    input:
        plan.targets.tables,
    localrule: True


rule figures:
    input:
        plan.targets.figures,
    localrule: True


rule analyses:
    input:
        plan.targets.analyses,
    localrule: True


# The target of a study has the name of the study. A study file is read only if its target is requested, so that a mistake
# in one study does not affect others. Studies with the name of a rule are skipped; 'wordorder check' reports them.
for study_name in plan.configuration.study_names:
    if not workflow.is_rule(study_name):

        rule:
            name:
                study_name
            input:
                plan.targets.study(study_name),
            localrule: True
