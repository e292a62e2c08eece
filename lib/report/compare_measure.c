/*
 * Measures a run for the command compare: steps, phases, transfers, edges and findings. compare_ranks.c
 * measures the gap time of its ranks.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/comparison.h"
#include "report/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A transfer of one kind in one baseline step, or the wait of an edge in one. */
struct observed {
    int64_t kind[3]; /* function, bytes, ranks; or sender, receiver, 0 */
    int64_t place;   /* index of the step among the baseline steps */
    int64_t ns;
    int is_over_network;
};

struct observations {
    struct observed *items; /* owned */
    size_t count;
    int64_t *list; /* owned: scratch memory for as many values */
};

static int by_kind(const void *a, const void *b)
{
    const struct observed *left = a, *right = b;
    for (int i = 0; i < 3; i++)
        if (left->kind[i] != right->kind[i])
            return compare_integers(left->kind[i], right->kind[i]);
    return compare_integers(left->place, right->place);
}

static int is_same_kind(const struct observed *one, const struct observed *other)
{
    return one->kind[0] == other->kind[0] && one->kind[1] == other->kind[1] && one->kind[2] == other->kind[2];
}

static int observations_init(struct observations *seen, size_t capacity)
{
    *seen = (struct observations){.items = array_new(capacity + 1, sizeof *seen->items),
                                  .list = array_new(capacity + 1, sizeof *seen->list)};
    return seen->items && seen->list ? 0 : -1;
}

static void observations_release(struct observations *seen)
{
    free(seen->items);
    free(seen->list);
}

/*
 * The median, or the sum, of the observations of one kind in one step, which begin at `at`; *next is the
 * index after them. Records in `series` whether the network has a part in it.
 */
static double of_step(const struct observations *seen, size_t at, int is_sum, struct step_series *series,
                      size_t *next)
{
    const struct observed *first = &seen->items[at];
    int64_t sum_ns = 0;
    size_t count = 0;
    for (*next = at; *next < seen->count && is_same_kind(&seen->items[*next], first) &&
                     seen->items[*next].place == first->place;
         (*next)++) {
        seen->list[count++] = seen->items[*next].ns;
        sum_ns += seen->items[*next].ns;
        if (seen->items[*next].is_over_network)
            series->is_over_network = 1;
    }
    return (double)(is_sum ? sum_ns : median_of(seen->list, count)) / 1e3;
}

static void see_transfers(struct observations *seen, const struct job *job, const struct usual *usual,
                          const unsigned char *is_over)
{
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int32_t place =
            instance->step < 0 || instance->step >= job->step_count ? -1 : usual->places[instance->step];
        if (place < 0 || instance->transfer_ns == TIME_UNKNOWN || instance->transfer_ns <= 0 ||
            !instance->members)
            continue;
        const struct job_operation *member = job_member(job, instance, 0);
        int is_pair = function_is_point_to_point(instance->function);
        int64_t ranks = is_pair ? 2 : job->communicators[instance->communicator].size;
        int64_t bytes = function_size_bytes(instance->function, member->bytes, ranks);
        seen->items[seen->count++] = (struct observed){.kind = {instance->function, bytes, ranks},
                                                       .place = place,
                                                       .ns = instance->transfer_ns,
                                                       .is_over_network = is_over[instance->communicator]};
    }
}

/* Sets the number of these transfers per rank and step, and the bandwidth from the time of one. */
static void set_transfer(struct step_series *series, const struct observed *kind, size_t transfers,
                         const struct job *job, const struct usual *usual)
{
    enum function function = (enum function)kind->kind[0];
    double ranks = (double)(job->rank_count ? job->rank_count : 1), steps = (double)usual->count;
    series->transfers_per_step = (double)transfers * (double)kind->kind[2] / ranks / steps;
    if (kind->kind[1] > 0)
        series->gbs_us = (double)kind->kind[1] / 1e3 * function_busbw_factor(function, kind->kind[2]);
}

/* The key is like "AllReduce, 4194304 bytes, 8 ranks". */
static struct step_series *add_transfer(struct measured_run *run, const struct observed *kind,
                                        const struct usual *usual)
{
    struct buffer key = BUFFER_INIT;
    struct step_series *series = NULL;
    const char *function = function_name((enum function)kind->kind[0]);
    if (buffer_printf(&key, "%s, %lld bytes, %lld ranks", function ? function : "operation",
                      (long long)kind->kind[1], (long long)kind->kind[2]) == 0)
        series = measured_add(run, SERIES_TRANSFER, key.data, usual->count);
    buffer_release(&key);
    return series;
}

/*
 * Measures transfers by function, size and number of ranks. `is_over`: per communicator, whether its data
 * goes over the network. Returns -1 when memory is out.
 */
static int measure_transfers(struct measured_run *run, const struct job *job, const struct usual *usual,
                             const unsigned char *is_over)
{
    struct observations seen;
    struct step_series *series = NULL;
    size_t first = 0;
    int failed = observations_init(&seen, job->instance_count);
    if (!failed)
        see_transfers(&seen, job, usual, is_over);
    array_sort(seen.items, seen.count, sizeof *seen.items, by_kind);
    for (size_t i = 0, next = 0; !failed && i < seen.count; i = next) {
        if (!series || !is_same_kind(&seen.items[i], &seen.items[first])) {
            first = i;
            series = add_transfer(run, &seen.items[i], usual);
            failed = !series;
        }
        if (failed)
            break;
        series_add(series, of_step(&seen, i, 0, series, &next));
        set_transfer(series, &seen.items[first], next - first, job, usual);
    }
    observations_release(&seen);
    return failed ? -1 : 0;
}

static void see_traffic(struct observations *seen, const struct job *job, const struct usual *usual)
{
    for (size_t i = 0; i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        int32_t step = job->operations[traffic->operation].step;
        int32_t place = step < 0 || step >= job->step_count ? -1 : usual->places[step];
        if (place >= 0 && !traffic->by_receiver && traffic->sender >= 0 && traffic->receiver >= 0)
            seen->items[seen->count++] = (struct observed){.kind = {traffic->sender, traffic->receiver, 0},
                                                           .place = place,
                                                           .ns = traffic->busy_ns,
                                                           .is_over_network = 1};
    }
}

static struct step_series *add_edge(struct measured_run *run, const struct job *job,
                                    const struct observed *kind, const struct usual *usual)
{
    struct buffer key = BUFFER_INIT;
    struct step_series *series = NULL;
    const struct job_rank *sender = &job->ranks[kind->kind[0]], *receiver = &job->ranks[kind->kind[1]];
    if (buffer_printf(&key, "rank %s to rank %s", sender->name, receiver->name) == 0)
        series = measured_add(run, SERIES_EDGE, key.data, usual->count);
    buffer_release(&key);
    if (series) {
        series->rank = sender->global_rank;
        series->receiver = receiver->global_rank;
    }
    return series;
}

/* Measures edges by sender and receiver, as the sending side recorded them. Returns -1 when memory is out. */
static int measure_edges(struct measured_run *run, const struct job *job, const struct usual *usual)
{
    struct observations seen;
    struct step_series *series = NULL;
    size_t first = 0;
    int failed = observations_init(&seen, job->traffic_count);
    if (!failed)
        see_traffic(&seen, job, usual);
    array_sort(seen.items, seen.count, sizeof *seen.items, by_kind);
    for (size_t i = 0, next = 0; !failed && i < seen.count; i = next) {
        if (!series || !is_same_kind(&seen.items[i], &seen.items[first])) {
            first = i;
            series = add_edge(run, job, &seen.items[i], usual);
            failed = !series;
        }
        if (!failed)
            series_add(series, of_step(&seen, i, 1, series, &next));
    }
    observations_release(&seen);
    return failed ? -1 : 0;
}

static int is_warm_up(const struct baseline *baseline, int32_t step)
{
    if (step < baseline->started_step)
        return 1;
    for (size_t i = 0; i < baseline->warm_up_count; i++)
        if (baseline->warm_up[i] == step)
            return 1;
    return 0;
}

static int is_told_of(const struct findings *findings, int32_t step)
{
    for (size_t i = 0; i < findings->count; i++)
        if (finding_is_reported(&findings->items[i]) && finding_has_step(&findings->items[i], step))
            return 1;
    return 0;
}

/* The regular stretch that has the most steps. */
static int32_t main_stretch(const struct usual *usual, const struct baseline *baseline, int32_t *counts)
{
    int32_t best = 0;
    for (size_t i = 0; i < usual->count; i++) {
        int32_t stretch = baseline->stretch_of_step[usual->steps[i]];
        if (++counts[stretch] > counts[best])
            best = stretch;
    }
    return best;
}

static void keep_stretch(struct usual *usual, const struct baseline *baseline, int32_t stretch)
{
    size_t kept = 0;
    for (size_t i = 0; i < usual->count; i++)
        if (baseline->stretch_of_step[usual->steps[i]] == stretch)
            usual->steps[kept++] = usual->steps[i];
    usual->count = kept;
}

static void drop_told(struct usual *usual, const struct findings *findings)
{
    size_t told = 0, kept = 0;
    for (size_t i = 0; i < usual->count; i++)
        told += (size_t)is_told_of(findings, usual->steps[i]);
    if (told > usual->count / 2)
        return;
    for (size_t i = 0; i < usual->count; i++)
        if (!is_told_of(findings, usual->steps[i]))
            usual->steps[kept++] = usual->steps[i];
    usual->count = kept;
}

static void set_places(struct usual *usual, int32_t step_count)
{
    for (int32_t step = 0; step < step_count; step++)
        usual->places[step] = -1;
    for (size_t i = 0; i < usual->count; i++)
        usual->places[usual->steps[i]] = (int32_t)i;
}

/* Returns -1 when memory is out. Release `usual` in any case. */
static int usual_find(struct usual *usual, const struct job *job, const struct baseline *baseline,
                      const struct findings *findings)
{
    size_t steps = (size_t)job->step_count + 2;
    *usual = (struct usual){.steps = array_new(steps, sizeof *usual->steps),
                            .places = array_new(steps, sizeof *usual->places)};
    int32_t *counts = array_new(steps, sizeof *counts);
    if (!usual->steps || !usual->places || !counts) {
        free(counts);
        return -1;
    }
    for (int32_t step = baseline->first_step; step < baseline->step_count; step++) {
        if (is_warm_up(baseline, step))
            continue;
        usual->after_warm_up++;
        if (baseline->step_ns[step] != TIME_UNKNOWN)
            usual->steps[usual->count++] = step;
    }
    keep_stretch(usual, baseline, main_stretch(usual, baseline, counts));
    free(counts);
    drop_told(usual, findings);
    set_places(usual, job->step_count);
    return 0;
}

static void usual_release(struct usual *usual)
{
    free(usual->steps);
    free(usual->places);
    *usual = (struct usual){.steps = NULL};
}

static double us_of(int64_t ns)
{
    return ns == TIME_UNKNOWN ? (double)NAN : (double)ns / 1e3;
}

static double share_of(int64_t part_ns, int64_t whole_ns)
{
    return part_ns == TIME_UNKNOWN || whole_ns <= 0 ? (double)NAN : 100 * (double)part_ns / (double)whole_ns;
}

static int add_steps(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                     const struct usual *usual)
{
    struct step_summary *summaries = step_summaries_new(job, baseline);
    int failed = !summaries;
    for (enum series_kind kind = SERIES_STEP; !failed && kind <= SERIES_WAITING; kind++) {
        struct step_series *series = measured_add(run, kind, "", usual->count);
        failed = !series;
        for (size_t i = 0; !failed && i < usual->count; i++) {
            const struct step_summary *of = &summaries[usual->steps[i]];
            series_add(series, kind == SERIES_STEP
                                   ? us_of(of->duration_ns)
                                   : share_of(kind == SERIES_WAITING ? of->waiting_ns : of->communication_ns,
                                              of->duration_ns));
        }
    }
    free(summaries);
    return failed ? -1 : 0;
}

/*
 * Adds the overlap of computation and communication, which is known where recorders know when GPUs computed.
 * Of operations that run at the same time each counts.
 */
static int add_overlap(struct measured_run *run, const struct job *job, const struct usual *usual)
{
    double *ran_ns = array_new(usual->count + 1, sizeof *ran_ns);
    double *computed_ns = array_new(usual->count + 1, sizeof *computed_ns);
    struct step_series *series =
        ran_ns && computed_ns ? measured_add(run, SERIES_OVERLAP, "", usual->count) : NULL;
    for (size_t i = 0; series && i < job->operation_count; i++) {
        const struct job_operation *of = &job->operations[i];
        int32_t place = of->step < 0 || of->step >= job->step_count ? -1 : usual->places[of->step];
        if (place < 0 || of->start_ns == TIME_UNKNOWN || of->end_ns == TIME_UNKNOWN)
            continue;
        ran_ns[place] += (double)(of->end_ns - of->start_ns);
        computed_ns[place] += job->gpu_overlap_ns ? (double)job->gpu_overlap_ns[i] : 0;
    }
    for (size_t i = 0; series && i < usual->count; i++)
        if (ran_ns[i] > 0)
            series_add(series, 100 * fmin(1, computed_ns[i] / ran_ns[i]));
    free(ran_ns);
    free(computed_ns);
    return series ? 0 : -1;
}

/* Adds the phases. Operations without tag are what is left over, and no phase. */
static int add_phases(struct measured_run *run, const struct job *job, const struct usual *usual,
                      const struct phase_times *times)
{
    struct step_series *series = NULL;
    int failed = 0;
    for (size_t i = 0; !failed && i < times->count; i++) {
        const struct phase_time *time = &times->items[i];
        const char *tag = job_tag(job, time->tag);
        if (!tag || time->step >= job->step_count || usual->places[time->step] < 0)
            continue;
        if (!series || strcmp(series->key, tag) != 0) {
            series = measured_add(run, SERIES_PHASE, tag, usual->count);
            failed = !series;
            if (!failed)
                series->tag = series->key;
        }
        if (!failed)
            series_add(series, us_of(time->time_ns));
    }
    return failed ? -1 : 0;
}

static int describe_finding(struct measured_run *run, const struct job *job, const struct finding *finding,
                            struct measured_finding *of)
{
    struct buffer key = BUFFER_INIT, text = BUFFER_INIT;
    const char *tag = job_tag(job, finding->tag);
    int failed = buffer_printf(&key, "%s, ", finding_kind_name(finding->kind)) ||
                 finding_name_unit(finding, job, &key) || finding_append(finding, job, &text) ||
                 !(of->key = measured_keep(run, key.data)) || (tag && !(of->tag = measured_keep(run, tag))) ||
                 !(of->text = buffer_detach(&text));
    buffer_release(&key);
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int add_findings(struct measured_run *run, const struct job *job, const struct findings *findings)
{
    double steps = run->steps > 0 ? run->steps : 1;
    run->findings = array_new(findings->count + 1, sizeof *run->findings);
    if (!run->findings)
        return -1;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        struct measured_finding *of = &run->findings[run->finding_count];
        *of = (struct measured_finding){.rank = job->ranks[finding->rank].global_rank,
                                        .lost_us = us_of(finding->lost_ns) / steps,
                                        .is_told = finding_is_reported(finding),
                                        .stops_job = finding->stops_job};
        if (describe_finding(run, job, finding, of))
            return -1;
        run->finding_count++;
    }
    return 0;
}

static int name_run(struct measured_run *run, const struct job *job)
{
    run->run_id = job->run_id;
    run->run_name = strdup(job->run_name ? job->run_name : "");
    return run->run_name ? 0 : -1;
}

static int measure_all(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                       const struct findings *findings, const struct usual *usual,
                       const struct phase_times *times)
{
    unsigned char *is_over = array_new(job->communicator_count + 1, sizeof *is_over);
    if (!is_over)
        return -1;
    network_communicators(job, is_over);
    run->steps = usual->after_warm_up;
    run->usual = (int32_t)usual->count;
    run->measured_by_calls = baseline->steps_are_measured_by_calls;
    int failed = name_run(run, job) || add_findings(run, job, findings) ||
                 add_steps(run, job, baseline, usual) ||
                 ((job->gpu_busy_ns || job->gpu_overlap_ns) && add_overlap(run, job, usual)) ||
                 add_phases(run, job, usual, times) || measure_transfers(run, job, usual, is_over) ||
                 measure_edges(run, job, usual) || measure_ranks(run, job, baseline, usual) ||
                 shape_measure(run, job, usual);
    free(is_over);
    measured_sort(run);
    return failed ? -1 : 0;
}

int run_measure(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                const struct findings *findings, struct error *error)
{
    struct usual usual;
    struct phase_times times;
    int failed = phase_times_init(&times, job, PHASES_OF_JOB, error);
    if (!failed) {
        failed = usual_find(&usual, job, baseline, findings) ||
                 measure_all(run, job, baseline, findings, &usual, &times);
        usual_release(&usual);
        if (failed)
            error_no_memory(error);
    }
    phase_times_release(&times);
    return failed;
}
