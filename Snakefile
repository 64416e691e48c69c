# snakemake STUDY                                  everything that the study config/studies/STUDY.yaml asks for, and its
#                                                  companions
# snakemake train_all --config study=STUDY         a part of it: prepare_all, train_all, evaluate_all, tables,
#                                                  figures, analyses
# snakemake … --config config_dir=FOLDER           another configuration folder than config/
# snakemake STUDY --report results/STUDY/report.html   Snakemake's report, beside the page results/STUDY/index.html
#
# What is to be run, and the slice of the configuration that each job gets, comes from wordorder.workflow; what runs is the
# command line of wordorder. One file of rules a stage:

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


# Milestones, of the study given by --config study=NAME.


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


# A study's target bears its name. The study is read when its target is asked for, so one with a mistake hinders no
# other, and neither does one with the name of a rule, which 'wordorder check' refuses.
for study_name in plan.configuration.study_names:
    if not workflow.is_rule(study_name):

        rule:
            name:
                study_name
            input:
                plan.targets.study(study_name),
            localrule: True
