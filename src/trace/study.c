/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/study.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The warm-up of a learnt mix is another seed's arrivals. */
#define WARM_UP 1000

/* One trace with one seed, both policies. */
struct task {
    size_t trace;
    uint64_t seed;
    struct run_result value, fgd;
    struct run_replay value_replay, fgd_replay;
};

struct subject {
    struct openb_trace trace;
    struct mix mix;      /* known */
    struct value *value; /* of it */
};

struct study {
    const struct study_options *options;
    struct openb_cluster cluster;
    struct subject *subjects;
    struct task *tasks;
    size_t task_count, next;
    pthread_mutex_t lock;
};

static void
run_one(const struct study *study, const struct sequence *sequence,
        const struct run_settings *settings, struct task *task)
{
    const struct openb_trace *trace = &study->subjects[task->trace].trace;
    bool fgd = settings->policy == RUN_FGD;

    if (study->options->replay)
        run_replay(&study->cluster, trace, sequence, study->options->copies,
                   settings, fgd ? &task->fgd_replay : &task->value_replay);
    else
        run_sequence(&study->cluster, trace, sequence, settings,
                     fgd ? &task->fgd : &task->value);
}

static void
warm_up(const struct study *study, const struct task *task,
        struct arena *arena, struct mix *mix)
{
    const struct openb_trace *trace = &study->subjects[task->trace].trace;
    struct sequence before;

    sequence_make(&study->cluster, trace, task->seed + WARM_UP,
                  study->options->load, arena, &before);
    for (size_t i = 0; i < before.count; i++)
        mix_count(mix, &trace->classes[before.classes[i]], 1);
    (void)mix_due(mix);
}

static void
do_task(const struct study *study, struct task *task)
{
    const struct study_options *options = study->options;
    struct subject *subject = &study->subjects[task->trace];
    scoped_arena arena = arena_new();
    struct mix learnt = { 0 };
    struct sequence sequence;
    struct run_settings settings = { .policy = RUN_VALUE,
                                     .profile = options->profile,
                                     .mix = &subject->mix,
                                     .value = subject->value };

    sequence_make(&study->cluster, &subject->trace, task->seed, options->load,
                  arena, &sequence);
    if (options->mix != STUDY_KNOWN) {
        if (options->mix == STUDY_LEARNT)
            warm_up(study, task, arena, &learnt);
        settings.mix = &learnt;
        settings.value = NULL;
        settings.learns = true;
    }
    run_one(study, &sequence, &settings, task);
    mix_release(&learnt);
    settings = (struct run_settings){ .policy = RUN_FGD,
                                      .mix = &subject->mix };
    run_one(study, &sequence, &settings, task);
}

static void *
work(void *data)
{
    struct study *study = data;

    for (;;) {
        size_t next;

        (void)pthread_mutex_lock(&study->lock);
        next = study->next++;
        (void)pthread_mutex_unlock(&study->lock);
        if (next >= study->task_count)
            return NULL;
        do_task(study, &study->tasks[next]);
    }
}

#define THREADS_MAX 64

static void
run_tasks(struct study *study)
{
    pthread_t threads[THREADS_MAX];
    int started = 0;

    while (started < study->options->threads - 1 && started < THREADS_MAX &&
           pthread_create(&threads[started], NULL, work, study) == 0)
        started++;
    (void)work(study);
    for (int i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
}

/* --- rows --- */

static int
number_order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double
median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof(*numbers), number_order);
    return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

static double
part_of(double part, double all)
{
    return all > 0 ? 100 * part / all : 100;
}

static void
fill_sizes(const struct task *tasks, size_t count, bool fgd, bool replay,
           struct study_policy *out)
{
    double *firsts = memory_new(count, sizeof(*firsts));

    for (int size = 0; size < RUN_SIZES; size++) {
        int64_t arrived = 0, accepted = 0;

        for (size_t i = 0; i < count; i++) {
            const struct run_result *run =
                fgd ? &tasks[i].fgd : &tasks[i].value;
            const struct run_replay *again =
                fgd ? &tasks[i].fgd_replay : &tasks[i].value_replay;

            arrived += replay ? again->arrived[size] : run->arrived[size];
            accepted += replay ? again->accepted[size] : run->accepted[size];
            firsts[i] = run->first_refusal[size];
        }
        out->accepted[size] = part_of((double)accepted, (double)arrived);
        out->first_refusal[size] = median(firsts, count);
    }
    free(firsts);
}

static void
fill_policy(const struct task *tasks, size_t count, bool fgd, bool replay,
            struct study_policy *out)
{
    double n = (double)count, seconds = 0, demand = 0, placed = 0;
    size_t decisions = 0;

    *out = (struct study_policy){ 0 };
    for (size_t i = 0; i < count; i++) {
        const struct run_result *run = fgd ? &tasks[i].fgd : &tasks[i].value;
        const struct run_replay *again =
            fgd ? &tasks[i].fgd_replay : &tasks[i].value_replay;

        out->alloc_100 += run->alloc_100 / n;
        out->alloc_130 += run->alloc_130 / n;
        out->peak += again->peak / n;
        demand += again->demand;
        placed += again->placed;
        seconds += replay ? again->seconds : run->seconds;
        decisions += replay ? again->decisions : run->decisions;
        out->digest = out->digest * 0x100000001b3 +
                      (replay ? again->digest : run->digest);
    }
    out->placed = part_of(placed, demand);
    out->decisions_per_s = seconds > 0 ? (double)decisions / seconds : 0;
    fill_sizes(tasks, count, fgd, replay, out);
}

static int
read_subjects(struct study *study, struct arena *arena,
              struct study_row *rows, struct error *err)
{
    const struct study_options *options = study->options;

    if (openb_read_cluster(options->directory, arena, &study->cluster, err) !=
        0)
        return -1;
    for (size_t i = 0; i < options->name_count; i++) {
        struct subject *subject = &study->subjects[i];

        rows[i].trace = options->names[i];
        if (openb_read_trace(options->directory, options->names[i],
                             &study->cluster, arena, &subject->trace,
                             err) != 0 ||
            openb_read_published(options->directory, options->names[i],
                                 &rows[i].published_100,
                                 &rows[i].published_130, err) != 0)
            return -1;
        if (options->replay && !subject->trace.has_times)
            return error_set(err, ERROR_INVALID,
                             "trace %s has no times to replay",
                             options->names[i]);
        run_known_mix(&subject->trace, &subject->mix);
        if (options->mix == STUDY_KNOWN)
            subject->value = value_new(arena, &subject->mix, &study->cluster.supply,
                                       options->profile);
    }
    return 0;
}

int
study_run(const struct study_options *options, struct arena *arena,
          struct study_row **rows_out, struct error *err)
{
    size_t seeds = (size_t)(options->last_seed - options->first_seed + 1);
    size_t count = options->name_count;
    struct study_row *rows = arena_alloc(arena, count * sizeof(*rows));
    struct study study = { .options = options, .task_count = count * seeds };
    int failed;

    study.subjects = arena_alloc(arena, count * sizeof(*study.subjects));
    study.tasks = arena_alloc(arena, study.task_count * sizeof(*study.tasks));
    (void)pthread_mutex_init(&study.lock, NULL);
    failed = read_subjects(&study, arena, rows, err);
    if (!failed) {
        for (size_t i = 0; i < study.task_count; i++) {
            study.tasks[i].trace = i / seeds;
            study.tasks[i].seed = (uint64_t)options->first_seed + i % seeds;
        }
        run_tasks(&study);
        for (size_t i = 0; i < count; i++) {
            fill_policy(&study.tasks[i * seeds], seeds, false, options->replay,
                        &rows[i].value);
            fill_policy(&study.tasks[i * seeds], seeds, true, options->replay,
                        &rows[i].fgd);
        }
    }
    for (size_t i = 0; i < count; i++)
        mix_release(&study.subjects[i].mix);
    (void)pthread_mutex_destroy(&study.lock);
    *rows_out = rows;
    return failed;
}

static void
add_policy(struct study_policy *sum, const struct study_policy *policy,
           double n)
{
    sum->alloc_100 += policy->alloc_100 / n;
    sum->alloc_130 += policy->alloc_130 / n;
    sum->placed += policy->placed / n;
    sum->peak += policy->peak / n;
    sum->decisions_per_s += policy->decisions_per_s / n;
    sum->digest = sum->digest * 0x100000001b3 + policy->digest;
    for (int size = 0; size < RUN_SIZES; size++) {
        sum->accepted[size] += policy->accepted[size] / n;
        sum->first_refusal[size] += policy->first_refusal[size] / n;
    }
}

struct study_row
study_mean(const struct study_row *rows, size_t count)
{
    struct study_row mean = { .trace = "mean" };

    for (size_t i = 0; i < count; i++) {
        double n = (double)count;
        bool known = mean.published_130 >= 0 && rows[i].published_130 >= 0;

        add_policy(&mean.value, &rows[i].value, n);
        add_policy(&mean.fgd, &rows[i].fgd, n);
        mean.published_100 =
            known ? mean.published_100 + rows[i].published_100 / n : -1;
        mean.published_130 =
            known ? mean.published_130 + rows[i].published_130 / n : -1;
    }
    return mean;
}
