def cell_slice(wildcards):
    cell = plan.CellName(wildcards.dataset, wildcards.encoding, wildcards.size, int(wildcards.seed))
    return told(plan.cell_slice)(study_of(wildcards.study), cell, CONFIG)


# Snakemake deletes the outputs of a job that is run again or has failed. The saved state is therefore no output: it lies
# beside them, and a training that was killed, timed out (status 75) or preempted goes on from it to the same bits.
rule train_model:
    input:
        train=binary_files("train"),
        # A model outlives a change of the sentences it is only measured on.
        valid=ancient(binary_files("valid")),
        train_positions=partial(positions_of, "train"),
        valid_positions=ancient(partial(positions_of, "valid")),
    output:
        model=f"{CELL}/model.pt",
        metrics=f"{CELL}/metrics.jsonl",
        record=f"{CELL}/record.json",
    log:
        "logs/train_model/{study}/{dataset}/{encoding}/{size}/{seed}.log",
    resources:
        mem_mb=takes("memory_gb", factor=1000, grows=True),
        runtime=takes("hours", factor=60, grows=True),
        cpus_per_task=takes_cpus_per_task,
        gpu=takes_all_gpus,
        # Also where it is one: GPUs without a number of nodes may be given on several.
        nodes=takes("nodes"),
        mpi=on_several_nodes(lambda nodes, tasks: "srun"),
        # The plugin wants one of tasks and tasks_per_node, and takes tasks for those of each GPU, if it is not told.
        tasks=on_several_nodes(lambda nodes, tasks: nodes if tasks == 1 else None),
        tasks_per_gpu=on_several_nodes(lambda nodes, tasks: 1 if tasks == 1 else None),
        tasks_per_node=on_several_nodes(lambda nodes, tasks: tasks if tasks > 1 else None),
    params:
        slice=cell_slice,
        train=partial(corpus_options, "train", "--train-positions"),
        valid=partial(corpus_options, "valid", "--valid-positions"),
        state=f"{CELL}/state",
    shell:
        "wordorder train --config {params.slice:q} --train {params.train:q} --valid {params.valid:q}"
        " --model {output.model:q} --metrics {output.metrics:q} --record {output.record:q} --state {params.state:q}"
        " --threads {threads} 2>&1 | logged {log:q}"
