# Analyses of finished models (docs/analyses.md). Two rules measure models for the analyses that need measures, and one
# rule computes and draws any analysis. Analyses never rerun training, translation or scoring.


# Each job measures one model on all sets of sentences of an analysis.
rule measure_model:
    input:
        model=f"{CELL}/model.pt",
        data=plan.models.measured_files,
    output:
        f"{CELL}/measures/{{measure}}.json",
    log:
        "logs/measure_model/{dataset}/{encoding}/{size}/{digest}/{seed}/{measure}.log",
    resources:
        gpu=plan.resources.one_gpu,
    params:
        name=plan.models.measure_name,
        slice=plan.models.measure_slice,
        sets=plan.models.measured_sets,
        data="results/data/{dataset}",
        positions=plan.models.positions_option,
    shell:
        "wordorder stage measure {params.name:q} --config {params.slice:q} --model {input.model:q} --data {params.data:q}"
        " --sets {params.sets:q} {params.positions:q} --output {output:q} --threads {threads} 2>&1 | logged {log:q}"


# Analyses of speed measure the models of the first seed alternately in one job.
rule measure_together:
    input:
        plan.studies.first_models,
    output:
        JOINT,
    log:
        "logs/measure_together/{study}/{analysis}/{dataset}.{size}.log",
    # The job takes all cores of the machine, because other active jobs would distort the measurement.
    threads: 64
    resources:
        gpu=plan.resources.one_gpu,
    params:
        slice=plan.studies.joint_slice,
        models=plan.studies.named_models,
    shell:
        "wordorder stage measure {wildcards.analysis:q} --config {params.slice:q} --models {params.models:q}"
        " --output {output:q} --threads {threads} 2>&1 | logged {log:q}"


rule analyse:
    input:
        plan.studies.analysis_inputs,
    output:
        "results/{study}/analyses/{analysis}.pdf",
        "results/{study}/analyses/{analysis}.png",
        "results/{study}/analyses/{analysis}.csv",
        report(
            "results/{study}/analyses/{analysis}.svg",
            caption=str(CAPTIONS / "analysis.rst"),
            category="Analyses",
            labels={"study": "{study}", "analysis": "{analysis}"},
        ),
    log:
        "logs/analyse/{study}/{analysis}.log",
    params:
        slice=plan.studies.analysis_slice,
        results="results/{study}",
        data="results/data",
        prefix="results/{study}/analyses/{analysis}",
    shell:
        "wordorder stage analyse {wildcards.analysis:q} --config {params.slice:q} --results {params.results:q}"
        " --data {params.data:q} --output-prefix {params.prefix:q} 2>&1 | logged {log:q}"
