# Snakemake deletes the outputs of failed jobs and of jobs that it reruns. The saved state is therefore not an output but
# an undeclared folder next to the outputs. A run that was killed, timed out (status 75) or preempted resumes from it, on
# CPUs with a bit-identical result.
rule train_model:
    input:
        train=corpus_file("train"),
        # With ancient(), a change of the validation set does not retrain finished models.
        valid=ancient(corpus_file("valid")),
        train_positions=plan.models.train_positions,
        valid_positions=ancient(plan.models.valid_positions),
    output:
        model=f"{CELL}/model.pt",
        metrics=f"{CELL}/metrics.jsonl",
        record=f"{CELL}/record.json",
    log:
        "logs/train_model/{dataset}/{encoding}/{size}/{digest}/{seed}.log",
    resources:
        mem_mb=plan.resources.memory,
        runtime=plan.resources.minutes,
        cpus_per_task=plan.resources.cpus_per_task,
        gpu=plan.resources.gpus,
        nodes=plan.resources.nodes,
        mpi=plan.resources.mpi,
        tasks=plan.resources.tasks,
        tasks_per_gpu=plan.resources.tasks_per_gpu,
        tasks_per_node=plan.resources.tasks_per_node,
    params:
        slice=plan.models.cell_slice,
        train=plan.models.train_options,
        valid=plan.models.valid_options,
        state=f"{CELL}/state",
    shell:
        "wordorder stage train --config {params.slice:q} --train {params.train:q} --valid {params.valid:q}"
        " --model {output.model:q} --metrics {output.metrics:q} --record {output.record:q} --state {params.state:q}"
        " --threads {threads} 2>&1 | logged {log:q}"
