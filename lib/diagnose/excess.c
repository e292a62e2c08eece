/*
 * Measures what stands out at each place of the step: own time of ranks, lateness of hosts, and lateness of
 * unknown origin. place.c does the statistics. Several threads measure places at the same time. Also stores
 * the results compactly (struct excess_list).
 */
#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>

int excess_list_init(struct excess_list *list, size_t operations)
{
    *list = (struct excess_list){.brief = array_new(operations, sizeof *list->brief), .most = EXCESS_WRITTEN};
    for (size_t i = 0; list->brief && i < operations; i++)
        list->brief[i] = EXCESS_UNKNOWN;
    return list->brief ? 0 : -1;
}

void excess_list_release(struct excess_list *list)
{
    free(list->brief);
    free(list->written);
    *list = (struct excess_list){0};
}

struct excess_list excess_list_part(const struct excess_list *list, size_t number, size_t parts)
{
    size_t most = list->most / parts;
    return (struct excess_list){.brief = list->brief, .base = (int32_t)(most * number), .most = most};
}

/* For each part, the number of entries written by the parts before it. */
static size_t *count_before(const struct excess_list *parts, size_t count, size_t *total)
{
    size_t *before = array_new(count, sizeof *before);
    *total = 0;
    for (size_t i = 0; before && i < count; i++) {
        before[i] = *total;
        *total += parts[i].count;
    }
    return before;
}

static void renumber(struct excess_list *list, size_t operations, size_t most, const size_t *before)
{
    for (size_t i = 0; i < operations; i++) {
        if (list->brief[i] < EXCESS_WRITTEN)
            continue;
        size_t number = (size_t)(list->brief[i] - EXCESS_WRITTEN);
        list->brief[i] = EXCESS_WRITTEN + (int32_t)(before[number / most] + number % most);
    }
}

void excess_list_join(struct excess_list *list, struct excess_list *parts, size_t count, size_t operations)
{
    size_t *before = count_before(parts, count, &list->count);
    int failed = !before ||
                 array_reserve((void **)&list->written, &list->capacity, list->count, sizeof *list->written);
    if (!failed)
        renumber(list, operations, list->most / count, before);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; !failed && j < parts[i].count; j++)
            list->written[before[i] + j] = parts[i].written[j];
        list->failed |= failed || parts[i].failed;
        free(parts[i].written);
    }
    free(before);
}

/* The stored excess of an operation for changes; NULL, with list->failed set, when memory runs out. */
static struct excess *excess_written(struct excess_list *list, size_t operation)
{
    int32_t brief = list->brief[operation];
    if (brief >= EXCESS_WRITTEN)
        return &list->written[brief - EXCESS_WRITTEN - list->base];
    if (list->count >= list->most ||
        array_reserve((void **)&list->written, &list->capacity, list->count + 1, sizeof *list->written)) {
        list->failed = 1;
        return NULL;
    }
    list->written[list->count] = excess_list_get(list, operation);
    list->brief[operation] = EXCESS_WRITTEN + list->base + (int32_t)list->count;
    return &list->written[list->count++];
}

static int is_brief(const struct excess *excess)
{
    return excess->excess_ns == 0 &&
           (excess->beyond_ns == TIME_UNKNOWN ||
            (excess->beyond_ns > EXCESS_UNKNOWN && excess->beyond_ns < EXCESS_WRITTEN));
}

void excess_list_put(struct excess_list *list, size_t operation, struct excess excess)
{
    if (list->brief[operation] < EXCESS_WRITTEN && is_brief(&excess)) {
        list->brief[operation] =
            excess.beyond_ns == TIME_UNKNOWN ? EXCESS_UNKNOWN : (int32_t)excess.beyond_ns;
        return;
    }
    struct excess *written = excess_written(list, operation);
    if (written)
        *written = excess;
}

/* Measurement of the places. */

/* A place, and the operation of each rank at it in each step. */
struct cells {
    const struct baseline *baseline;
    struct excess_list *excess; /* that of the baseline, or the part that this thread fills */
    int64_t *late_ns;           /* same */
    const struct job *job;
    const int64_t *longest_ns; /* as in struct measuring */
    const struct role *role;
    struct explained *explained;
    const int32_t *operations; /* index as for the values of struct place; -1: none */
    size_t count;
};

/* Working memory of one thread. */
struct bench {
    struct place place;
    struct place own;
    struct explained explained;
    int64_t *late_ns; /* same index as that of the baseline */
};

/* The measurement of all places, with the memory of its threads. */
struct measuring {
    struct baseline *baseline;
    const struct job *job;
    const struct baseline_options *options;
    int64_t *longest_ns;        /* owned: per instance, the longest stay of a member; TIME_UNKNOWN. NULL with
                                   only_own */
    struct bench *benches;      /* owned */
    struct excess_list *excess; /* owned: the part of each thread */
    size_t bench_count;
};

static struct cells cells_at(const struct measuring *measuring, size_t bench, size_t role, int32_t position)
{
    const struct baseline *baseline = measuring->baseline;
    size_t count = baseline->roles[role].rank_count * (size_t)baseline->step_count;
    return (struct cells){.baseline = baseline,
                          .excess = &measuring->excess[bench],
                          .late_ns = measuring->benches[bench].late_ns,
                          .job = measuring->job,
                          .longest_ns = measuring->longest_ns,
                          .role = &baseline->roles[role],
                          .explained = &measuring->benches[bench].explained,
                          .operations = baseline->cells[role] + (size_t)position * count,
                          .count = count};
}

/* The operation of a cell that has an excess; -1 in warm-up, and where the excess is unknown. */
static int32_t judged(const struct cells *cells, const struct place *place, size_t cell)
{
    size_t step = cell % (size_t)cells->baseline->step_count;
    if (step < (size_t)cells->baseline->first_step || place->value[cell] == TIME_UNKNOWN)
        return -1;
    return cells->operations[cell];
}

/*
 * Own time counts only if the operation before it is the expected one. Across a gap in the trace it would
 * include the missing operation.
 */
static int comparable(const struct cells *cells, const struct job_operation *operation)
{
    const struct baseline *baseline = cells->baseline;
    const struct job *job = cells->job;
    int32_t position = baseline->positions[operation - job->operations];
    if (operation->own_ns == TIME_UNKNOWN || position < 0)
        return 0;
    int32_t previous = job->operations[operation->previous].group;
    int32_t usual = baseline->predecessors[operation->rank][position];
    return baseline->positions[previous] == usual &&
           job->operations[previous].step == (usual < position ? operation->step : operation->step - 1);
}

/* The longest stay of a member of an instance; TIME_UNKNOWN where that of any member is unknown. */
static int64_t longest_stay(const struct job *job, const struct job_instance *instance)
{
    int64_t longest_ns = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t stay_ns = arrival_stay_ns(job, job_member_at(job, instance, i));
        if (stay_ns == TIME_UNKNOWN)
            return TIME_UNKNOWN;
        longest_ns = longest_ns == TIME_UNKNOWN || stay_ns > longest_ns ? stay_ns : longest_ns;
    }
    return longest_ns;
}

/*
 * The longest wait of another member in this operation; -1 where the trace cannot tell. A send does not wait
 * for its receiver: a late receiver makes others wait only in later operations.
 */
static int64_t longest_wait_in(const struct cells *cells, size_t at)
{
    const struct job_operation *operation = &cells->job->operations[at];
    const struct job_instance *instance = &cells->job->instances[operation->instance];
    int64_t longest_ns = cells->longest_ns[operation->instance];
    if (!arrival_is_told(instance, operation->function) || instance->members < 2 ||
        longest_ns == TIME_UNKNOWN)
        return -1;
    return longest_ns - arrival_stay_ns(cells->job, (int32_t)at);
}

/* Same, maximum over all operations of the group; INT64_MAX where the trace cannot tell. */
static int64_t longest_wait_of_others(const struct cells *cells, const struct job_operation *operation)
{
    const struct job *job = cells->job;
    int64_t longest = -1;
    size_t at = (size_t)operation->group;
    for (; at < job->operation_count && job->operations[at].group == operation->group; at++) {
        int64_t wait = longest_wait_in(cells, at);
        if (wait > longest)
            longest = wait;
    }
    return longest < 0 ? INT64_MAX : longest;
}

/*
 * The quantity measured at a place: own time, or lateness where own time is unknown. TIME_UNKNOWN: neither is
 * known.
 */
typedef int64_t (*measure)(const struct cells *cells, const struct job_operation *operation);

static int64_t own_time(const struct cells *cells, const struct job_operation *operation)
{
    return comparable(cells, operation) ? operation->own_ns : TIME_UNKNOWN;
}

/*
 * Time since the last operation of the rank ended on any stream: this operation may have waited for that one.
 */
static int64_t idle_time(const struct cells *cells, const struct job_operation *operation)
{
    return comparable(cells, operation) ? job_idle_time(cells->job, operation) : TIME_UNKNOWN;
}

static int64_t host_lateness(const struct cells *cells, const struct job_operation *operation)
{
    return comparable(cells, operation) ? job_lateness(cells->job, operation) : TIME_UNKNOWN;
}

static int64_t hidden_lateness(const struct cells *cells, const struct job_operation *operation)
{
    if (operation->own_ns != TIME_UNKNOWN || operation->start_ns == TIME_UNKNOWN || operation->previous < 0 ||
        &cells->job->operations[operation->group] != operation)
        return TIME_UNKNOWN;
    int64_t waited = longest_wait_of_others(cells, operation);
    return waited == INT64_MAX ? TIME_UNKNOWN : waited;
}

static int64_t bounded(const struct cells *cells, int32_t operation, int64_t excess)
{
    int64_t waited = longest_wait_of_others(cells, &cells->job->operations[operation]);
    return excess < waited ? excess : waited;
}

static void take_values(const struct cells *cells, struct place *place, measure value_of)
{
    for (size_t i = 0; i < cells->count; i++)
        place->value[i] = cells->operations[i] < 0
                              ? TIME_UNKNOWN
                              : value_of(cells, &cells->job->operations[cells->operations[i]]);
    warm_up_drop(cells->baseline, place->value, cells->role->rank_count, place->list);
}

/* Subtracts from the values of a place what received data explain: that time is load, not a fault. */
static void remove_explained(const struct cells *cells, struct place *place)
{
    const struct job *job = cells->job;
    struct explained *explained = cells->explained;
    for (size_t i = 0; i < cells->count; i++)
        explained->by[i] = place->value[i] == TIME_UNKNOWN
                               ? TIME_UNKNOWN
                               : received_bytes(job, &job->operations[cells->operations[i]]);
    explained_remove(explained, place->value, cells->role->rank_count, cells->baseline->first_step,
                     cells->baseline->step_count);
}

/* Stores how much of the own times, which are in `place`, was subtracted. */
static void note_explained(const struct cells *cells, const struct place *place)
{
    for (size_t i = 0; cells->baseline->explained_ns && i < cells->count; i++)
        if (place->value[i] != TIME_UNKNOWN)
            cells->baseline->explained_ns[cells->operations[i]] =
                cells->job->operations[cells->operations[i]].own_ns - place->value[i];
}

/*
 * Replaces the values of a place by their excess over the baseline, for ranks that should be alike. Returns
 * sigma.
 */
static int64_t measure_alike(const struct cells *cells, struct place *place, measure value_of, double sigmas)
{
    take_values(cells, place, value_of);
    if (value_of != host_lateness)
        remove_explained(cells, place);
    if (value_of == own_time)
        note_explained(cells, place);
    return place_measure_alike(place, cells->role->rank_count, cells->baseline->first_step,
                               cells->baseline->step_count, sigmas, 1, NULL);
}

static int is_known_anywhere(const struct cells *cells, const struct place *place)
{
    for (size_t i = 0; i < cells->count; i++)
        if (place->value[i] != TIME_UNKNOWN)
            return 1;
    return 0;
}

static void judge_own_time(const struct cells *cells, struct place *own, double sigmas,
                           struct place_limits *bounds)
{
    int64_t sigma = measure_alike(cells, own, own_time, sigmas);
    int is_known = is_known_anywhere(cells, own);
    *bounds = (struct place_limits){.in_a_step_ns = is_known ? scale(sigma, sigmas) : TIME_UNKNOWN,
                                    .in_all_steps_ns = is_known ? own->outlier_limit_ns : TIME_UNKNOWN};
    for (size_t i = 0; i < cells->count; i++) {
        int32_t operation = judged(cells, own, i);
        if (operation < 0)
            continue;
        int stands_out = cells->longest_ns && (double)own->value[i] > sigmas * (double)sigma;
        excess_list_put(
            cells->excess, (size_t)operation,
            (struct excess){.beyond_ns = own->value[i],
                            .excess_ns = stands_out ? bounded(cells, operation, own->value[i]) : 0});
    }
}

/*
 * A wait on one stream looks like own time on another stream of the same rank, and so on all ranks that wait
 * for the same operation. Where ranks have several streams, time in which no stream was busy shows which rank
 * was late, provided that own time grew as well. (Idle time alone also grows if concurrent operations end
 * sooner.) `own` was measured at the same place.
 */
static void judge_idle_time(const struct cells *cells, struct place *idle, const struct place *own,
                            double sigmas)
{
    int64_t sigma = measure_alike(cells, idle, idle_time, sigmas);
    for (size_t i = 0; i < cells->count; i++) {
        int32_t operation = judged(cells, idle, i);
        int64_t excess = idle->value[i], grown = own->apart[i];
        if (operation < 0)
            continue;
        struct excess here = excess_list_get(cells->excess, (size_t)operation);
        if (here.excess_ns > excess)
            here.excess_ns = excess > 0 ? excess : 0;
        if (grown != TIME_UNKNOWN && (double)excess > sigmas * (double)sigma && grown >= excess / 2) {
            excess = bounded(cells, operation, excess < grown ? excess : grown);
            if (excess > here.excess_ns)
                here.excess_ns = excess;
        }
        excess_list_put(cells->excess, (size_t)operation, here);
    }
}

/*
 * Hidden lateness is only added to an excess that stands out by itself elsewhere, so a lower
 * limit is enough: noise beyond this many sigma is rare.
 */
enum { HIDDEN_SIGMAS = 2 };

static void judge_hidden_lateness(const struct cells *cells, struct place *place)
{
    take_values(cells, place, hidden_lateness);
    int64_t sigma = place_measure(place, cells->role->rank_count, cells->baseline->first_step,
                                  cells->baseline->step_count);
    for (size_t i = 0; i < cells->count; i++) {
        int32_t operation = judged(cells, place, i);
        if (operation < 0 || place->value[i] <= HIDDEN_SIGMAS * sigma)
            continue;
        cells->baseline->hidden[operation].hidden_ns = place->value[i];
    }
}

static void judge_host_lateness(const struct cells *cells, struct place *place, double sigmas)
{
    measure_alike(cells, place, host_lateness, sigmas);
    size_t steps = (size_t)cells->baseline->step_count;
    for (size_t i = 0; i < cells->count; i++) {
        int32_t operation = judged(cells, place, i);
        if (operation >= 0)
            cells->late_ns[(size_t)cells->job->operations[operation].rank * steps + i % steps] +=
                place->apart[i];
    }
}

static int has_streams(const struct job *job, const struct role *role)
{
    for (size_t rank = 0; rank < role->rank_count; rank++)
        if (job->ranks[role->ranks[rank]].has_streams)
            return 1;
    return 0;
}

static void judge_place(const struct cells *cells, struct place *own, struct place *place,
                        const struct baseline_options *options, struct place_limits *bounds)
{
    double sigmas = options->sigmas;
    judge_own_time(cells, own, sigmas, bounds);
    if (options->only_own)
        return;
    if (has_streams(cells->job, cells->role))
        judge_idle_time(cells, place, own, sigmas);
    judge_hidden_lateness(cells, place);
    judge_host_lateness(cells, place, sigmas);
}

static int bench_init(struct bench *bench, const struct baseline *baseline, int only_own)
{
    size_t steps = (size_t)baseline->step_count, ranks = each_place_ranks(baseline);
    if (place_init(&bench->own, ranks, steps) || explained_init(&bench->explained, ranks, steps))
        return -1;
    if (only_own)
        return 0;
    bench->late_ns = array_new(baseline->rank_count * (steps + 1), sizeof *bench->late_ns);
    return !bench->late_ns || place_init(&bench->place, ranks, steps) ? -1 : 0;
}

static int make_limits(struct baseline *baseline)
{
    for (size_t i = 0; i < baseline->role_count; i++) {
        struct role *role = &baseline->roles[i];
        role->limits = array_new((size_t)role->length, sizeof *role->limits);
        if (!role->limits)
            return -1;
    }
    return 0;
}

static int measuring_init(struct measuring *measuring)
{
    const struct baseline *baseline = measuring->baseline;
    const struct job *job = measuring->job;
    int only_own = measuring->options->only_own;
    measuring->bench_count = each_place_threads(baseline, job);
    if (!only_own)
        measuring->longest_ns = array_new(job->instance_count, sizeof *measuring->longest_ns);
    for (size_t i = 0; measuring->longest_ns && i < job->instance_count; i++)
        measuring->longest_ns[i] = longest_stay(job, &job->instances[i]);
    measuring->benches = array_new(measuring->bench_count, sizeof *measuring->benches);
    measuring->excess = array_new(measuring->bench_count, sizeof *measuring->excess);
    if ((!only_own && !measuring->longest_ns) || !measuring->benches || !measuring->excess ||
        make_limits(measuring->baseline))
        return -1;
    for (size_t i = 0; i < measuring->bench_count; i++) {
        measuring->excess[i] = excess_list_part(&baseline->excess, i, measuring->bench_count);
        if (bench_init(&measuring->benches[i], baseline, only_own))
            return -1;
    }
    return 0;
}

static void measuring_release(struct measuring *measuring)
{
    for (size_t i = 0; measuring->benches && i < measuring->bench_count; i++) {
        free(measuring->benches[i].late_ns);
        place_release(&measuring->benches[i].place);
        place_release(&measuring->benches[i].own);
        explained_release(&measuring->benches[i].explained);
    }
    free(measuring->benches);
    free(measuring->excess);
    free(measuring->longest_ns);
}

static void measure_place(void *context, size_t worker, size_t role, int32_t position)
{
    struct measuring *measuring = context;
    struct bench *bench = &measuring->benches[worker];
    struct cells cells = cells_at(measuring, worker, role, position);
    judge_place(&cells, &bench->own, &bench->place, measuring->options,
                &measuring->baseline->roles[role].limits[position]);
}

static void join_benches(struct measuring *measuring)
{
    struct baseline *baseline = measuring->baseline;
    excess_list_join(&baseline->excess, measuring->excess, measuring->bench_count,
                     measuring->job->operation_count);
    for (size_t i = 0; baseline->late_ns && i < measuring->bench_count; i++)
        for (size_t j = 0; j < baseline->rank_count * (size_t)baseline->step_count; j++)
            baseline->late_ns[j] += measuring->benches[i].late_ns[j];
}

/* Whether receives at one place have different sizes, or unknown ones. */
static int sizes_differ(const struct baseline *baseline, const struct job *job, size_t role, int32_t position)
{
    size_t count = baseline->roles[role].rank_count * (size_t)baseline->step_count;
    const int32_t *cells = baseline->cells[role] + (size_t)position * count;
    const struct job_operation *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct job_operation *operation = cells[i] < 0 ? NULL : &job->operations[cells[i]];
        if (!operation)
            continue;
        if (operation->function != FUNCTION_RECV)
            return 0;
        if (operation->bytes < 0 || (first && operation->bytes != first->bytes))
            return 1;
        first = operation;
    }
    return 0;
}

/*
 * Whether a rank may receive varying amounts of data: receives differ at some place, or have no place, or
 * every sender of an operation chooses its sizes.
 */
static int amounts_may_vary(const struct baseline *baseline, const struct job *job)
{
    for (size_t i = 0; i < job->operation_count; i++)
        if (job->operations[i].function == FUNCTION_ALL_TO_ALL ||
            (job->operations[i].function == FUNCTION_RECV && baseline->positions[i] < 0))
            return 1;
    for (size_t role = 0; role < baseline->role_count; role++)
        for (int32_t position = 0; position < baseline->roles[role].length; position++)
            if (sizes_differ(baseline, job, role, position))
                return 1;
    return 0;
}

int baseline_measure_places(struct baseline *baseline, const struct job *job,
                            const struct baseline_options *options)
{
    if (amounts_may_vary(baseline, job)) {
        baseline->explained_ns = array_new(job->operation_count, sizeof *baseline->explained_ns);
        if (!baseline->explained_ns)
            return -1;
    }
    struct measuring measuring = {.baseline = baseline, .job = job, .options = options};
    int failed = measuring_init(&measuring);
    if (!failed) {
        failed = each_place(baseline, measuring.bench_count, measure_place, &measuring);
        join_benches(&measuring);
    }
    measuring_release(&measuring);
    return failed || baseline->excess.failed ? -1 : 0;
}

/* Lateness of hidden origin. */

/*
 * By how much a rank was late before this operation since it last took part in an operation of the same
 * communicator, in this step and the one before. The ranks that wait here wait for all of that.
 */
enum { LOOK_BACK = 4096 }; /* operations; a bound that no trace can exceed */

static int64_t excess_since_last_met(const struct job *job, const struct baseline *baseline, size_t at)
{
    const struct job_operation *operation = &job->operations[at];
    int64_t excess_ns = 0;
    size_t first = job->ranks[operation->rank].first;
    for (size_t i = at; i-- > first && at - i <= LOOK_BACK;) {
        const struct job_operation *before = &job->operations[i];
        if (before->communicator == operation->communicator || before->step < operation->step - 1)
            break;
        excess_ns += excess_ns_at(&baseline->excess, i);
    }
    return excess_ns;
}

/*
 * Lateness of hidden origin counts as the rank's own lateness, once, in steps where the rank was late by
 * itself elsewhere by at least a quarter of it. `known_ns` is that other lateness, by rank and step.
 */
static void count_hidden(const struct job *job, struct baseline *baseline, const int64_t *known_ns)
{
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t hidden_ns = baseline->hidden[i].hidden_ns;
        size_t cell = (size_t)operation->rank * (size_t)baseline->step_count + (size_t)operation->step;
        if (hidden_ns <= 0 || operation->step < 0 || known_ns[cell] * 4 < hidden_ns)
            continue;
        int64_t counted_ns = excess_since_last_met(job, baseline, i);
        struct excess excess = excess_list_get(&baseline->excess, i);
        excess.excess_ns = hidden_ns > counted_ns ? hidden_ns - counted_ns : 0;
        excess_list_put(&baseline->excess, i, excess);
        baseline->hidden[i].hidden_ns = 0;
    }
}

int baseline_count_hidden(struct baseline *baseline, const struct job *job)
{
    size_t steps = (size_t)baseline->step_count;
    int64_t *known_ns = array_new(job->rank_count * steps + 1, sizeof *known_ns);
    if (!known_ns)
        return -1;
    for (size_t i = 0; i < job->operation_count; i++)
        if (job->operations[i].step >= 0)
            known_ns[(size_t)job->operations[i].rank * steps + (size_t)job->operations[i].step] +=
                excess_ns_at(&baseline->excess, i);
    count_hidden(job, baseline, known_ns);
    free(known_ns);
    return baseline->excess.failed ? -1 : 0;
}
