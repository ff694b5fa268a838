#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Work from a file: templates, several manifests at once, scripts of other
# systems.

load ../lib

setup_file() {
    install_bulkhead bsf
    quota cards -t research --level tenant -g 2 -l 4
    alice create volume data size_mib=64 -q
    alice create volume home size_mib=64 -q
}
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

manifest=$BATS_FILE_TMPDIR/manifest
workloads() { alice get workloads -o name | wc -l; }

@test "each template would run, and the first one does" {
    local template
    for template in batch train gang inference notebook service; do
        alice init "$template" -i demo -c $h100 >"$manifest"
        run alice submit -f "$manifest" --dry-run
        [ "$status" = 0 ] || { echo "$template: $output"; return 1; }
    done
    [ "$(workloads)" = 0 ]
    alice init batch -i demo -c $h100 | alice submit -f - --wait -q
    alice logs batch | grep -q '^hello from '
    refused 2 alice init nosuch
    says 'one of batch, train'
}

@test "words and options win over the file, whose amounts are those of people" {
    cat >"$manifest" <<END
name: file
class: $h100
image: demo
command: [/bin/sh, -c, 'echo \$VERSION; exit 0']
env: {VERSION: 1.10}
cpu: 0.2
memory: 64MiB
grace: 1s
volumes: [data:/data:ro]
END
    alice submit -f "$manifest" other -m 96 --wait -q
    [ "$(alice logs other)" = 1.10 ]
    [ "$(of alice other memory_mib)" = 96 ]
    [ "$(of alice other cpu_milli)" = 200 ]
    [ "$(of alice other grace_ms)" = 1000 ]
    [ "$(of alice other 'spec.volumes[0].read_only')" = true ]
}

@test "of several manifests either all are submitted or none" {
    local base="class: $h100
image: demo
cpu: 0.2
memory: 64
command: [/bin/true]"
    printf 'name: one\n%s\n---\nname: two\n%s\n---\nname: Three\n%s\n' "$base" "$base" "$base" >"$manifest"
    refused 2 alice submit -f "$manifest"
    says 'nothing was submitted' '"Three" is not a name'
    [ "$(workloads)" = 0 ]
    refused 2 alice submit -f "$manifest" name
    says '3 manifests'
    sed -i 's/Three/three/' "$manifest"
    alice submit -f "$manifest" --dry-run
    [ "$(workloads)" = 0 ]
    alice submit -f "$manifest" --wait
    [ "$(count alice succeeded)" = 3 ]
}

@test "what is wrong with a file is said with its line or field" {
    printf 'name: x\nname: y\n' >"$manifest"
    refused 2 alice submit -f "$manifest"
    says 'line 2: name is given twice'
    printf 'name: x\nclass: %s\nimage: demo\ncommand: [/bin/true]\ncpus: 2\n' $h100 >"$manifest"
    refused 2 alice submit -f "$manifest"
    says cpus
    printf 'name: x\nmemory: lots\n' >"$manifest"
    refused 2 alice submit -f "$manifest"
    says memory lots
    [ "$(workloads)" = 0 ]
}

@test "a Slurm script and a Kubernetes Job run as converted" {
    cat >"$BATS_FILE_TMPDIR/script" <<'END'
#!/bin/sh
#SBATCH -J "from slurm" -N 1 --cpus-per-task=1
#SBATCH --mem=64 --gres=gpu:1 --time=5
#SBATCH --output=%j.txt
echo "of slurm: $BULKHEAD_INSTANCES"
END
    alice convert "$BATS_FILE_TMPDIR/script" -i demo -c $h100 >"$manifest"
    grep -q '^# --output' "$manifest"
    alice submit -f "$manifest" --cpu 0.2 --wait -q
    [ "$(alice logs from-slurm)" = "of slurm: 1" ]
    [ "$(of alice from-slurm max_run_ms)" = 300000 ]
    cat >"$BATS_FILE_TMPDIR/job.yaml" <<'END'
apiVersion: batch/v1
kind: Job
metadata: {name: from-kubernetes}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: demo
        command: [/bin/sh, -c, "echo of kubernetes: $LR"]
        env: [{name: LR, value: "0.10"}]
        resources: {limits: {nvidia.com/gpu: 1, cpu: 200m, memory: 64Mi}}
END
    alice convert "$BATS_FILE_TMPDIR/job.yaml" -c $h100 | alice submit -f - --wait -q
    [ "$(alice logs from-kubernetes)" = "of kubernetes: 0.10" ]
    # Nothing undecided is taken.
    alice convert "$BATS_FILE_TMPDIR/job.yaml" | sed 's/from-k/other-k/' >"$manifest"
    refused 2 alice submit -f "$manifest"
    says CHANGE-ME
    refused 2 alice convert "$data/estate.json"
    says 'must be Job or Pod'
}
