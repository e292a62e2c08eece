/*
 * Time of ranks by step: duration, communication, wait time and own delay; then the history of a figure over
 * steps beside that of its peers, as evidence of a finding.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/steps.h"

#include <stdlib.h>

/* A list of time spans. */
struct spans {
    struct interval_ns *items;
    size_t count;
};

/* Sorts the spans and merges those that overlap. */
static void unite(struct spans *spans)
{
    intervals_sort(spans->items, spans->count);
    spans->count = intervals_merge(spans->items, spans->count, 0);
}

/* Time between two times that the merged spans cover. */
static int64_t covered_ns(const struct spans *spans, int64_t begin_ns, int64_t end_ns)
{
    return intervals_covered_ns(spans->items, spans->count, (struct interval_ns){begin_ns, end_ns});
}

/* How long an operation waited, from its start on; 0 if that is not known. */
static int64_t wait_of(const struct rank_times *times, size_t operation)
{
    const struct job_operation *of = &times->job->operations[operation];
    int64_t least_ns = of->instance < 0 ? TIME_UNKNOWN : times->least_stay_ns[of->instance];
    int64_t stay_ns =
        least_ns == TIME_UNKNOWN ? TIME_UNKNOWN : arrival_stay_ns(times->job, (int32_t)operation);
    return stay_ns == TIME_UNKNOWN ? 0 : stay_ns - least_ns;
}

/* Adds the time that an operation ran, and the time that it waited. */
static void note(const struct rank_times *times, size_t operation, struct spans *ran, struct spans *waited)
{
    const struct job_operation *of = &times->job->operations[operation];
    if (of->start_ns == TIME_UNKNOWN || of->end_ns == TIME_UNKNOWN || of->end_ns <= of->start_ns)
        return;
    int64_t wait_ns = wait_of(times, operation), ran_ns = of->end_ns - of->start_ns;
    ran->items[ran->count++] = (struct interval_ns){of->start_ns, of->end_ns};
    if (wait_ns > 0)
        waited->items[waited->count++] =
            (struct interval_ns){of->start_ns, of->start_ns + (wait_ns < ran_ns ? wait_ns : ran_ns)};
}

/* The same for all operations of a rank in a range; if `step` is not -1, only those of that step. */
static void note_all(const struct rank_times *times, int32_t rank, struct job_range range, int32_t step,
                     struct spans *ran, struct spans *waited)
{
    const struct job *job = times->job;
    ran->count = waited->count = 0;
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].rank == rank && (step < 0 || job->operations[i].step == step))
            note(times, i, ran, waited);
    unite(ran);
    unite(waited);
}

/* Whether a rank's step has an operation with timestamps. */
static int is_told(const struct job *job, int32_t rank, int32_t step)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].rank == rank && job->operations[i].step == step &&
            job->operations[i].start_ns != TIME_UNKNOWN && job->operations[i].end_ns != TIME_UNKNOWN)
            return 1;
    return 0;
}

static int64_t sum_of(const struct spans *spans)
{
    int64_t sum_ns = 0;
    for (size_t i = 0; i < spans->count; i++)
        sum_ns += spans->items[i].end_ns - spans->items[i].begin_ns;
    return sum_ns;
}

/* A range with all operations of a rank; it may contain others. */
static struct job_range range_of(const struct job *job, int32_t rank)
{
    return job->step_count ? job_operations_in(job, rank, 0, job->step_count - 1) : (struct job_range){0, 0};
}

void rank_times_measure(const struct rank_times *times, struct rank_times_bench *bench, int32_t rank,
                        struct rank_time *steps)
{
    const struct job *job = times->job;
    struct spans ran = {.items = bench->ran}, waited = {.items = bench->waited};
    note_all(times, rank, range_of(job, rank), -1, &ran, &waited);
    for (int32_t step = 0; step < job->step_count; step++) {
        int64_t begin_ns, end_ns;
        steps[step] = (struct rank_time){TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN};
        if (baseline_rank_step_interval(times->baseline, job, rank, step, &begin_ns, &end_ns) &&
            is_told(job, rank, step))
            steps[step] = (struct rank_time){end_ns - begin_ns, covered_ns(&ran, begin_ns, end_ns),
                                             covered_ns(&waited, begin_ns, end_ns)};
    }
    for (int32_t step = 0; step < job->step_count; step++) {
        if (steps[step].lasted_ns != TIME_UNKNOWN || !is_told(job, rank, step))
            continue;
        note_all(times, rank, job_operations_in(job, rank, step, step), step, &ran, &waited);
        steps[step].communication_ns = sum_of(&ran);
        steps[step].waiting_ns = sum_of(&waited);
    }
}

static size_t most_operations(const struct job *job)
{
    size_t most = 0;
    for (int32_t rank = 0; rank < (int32_t)job->rank_count; rank++) {
        struct job_range range = range_of(job, rank);
        most = range.end - range.first > most ? range.end - range.first : most;
    }
    return most;
}

int rank_times_init(struct rank_times *times, const struct job *job, const struct baseline *baseline)
{
    *times = (struct rank_times){.job = job,
                                 .baseline = baseline,
                                 .least_stay_ns = array_new(job->instance_count + 1, sizeof(int64_t)),
                                 .most_operations = most_operations(job)};
    if (!times->least_stay_ns)
        return -1;
    for (size_t i = 0; i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        int32_t last = instance->members == instance->expected ? arrival_last(job, instance) : -1;
        times->least_stay_ns[i] = last < 0 ? TIME_UNKNOWN : arrival_stay_ns(job, last);
    }
    return 0;
}

void rank_times_release(struct rank_times *times)
{
    free(times->least_stay_ns);
    *times = (struct rank_times){.job = NULL};
}

int rank_times_bench_init(struct rank_times_bench *bench, const struct rank_times *times)
{
    bench->ran = array_new(times->most_operations + 1, sizeof *bench->ran);
    bench->waited = array_new(times->most_operations + 1, sizeof *bench->waited);
    return bench->ran && bench->waited ? 0 : -1;
}

void rank_times_bench_release(struct rank_times_bench *bench)
{
    free(bench->ran);
    free(bench->waited);
    *bench = (struct rank_times_bench){.ran = NULL};
}

static struct rank_step *at(const struct job *job, struct rank_step *steps, int32_t rank, int32_t step)
{
    return &steps[(size_t)rank * (size_t)job->step_count + (size_t)step];
}

static void add(int64_t *sum_ns, int64_t ns)
{
    *sum_ns = *sum_ns == TIME_UNKNOWN ? ns : *sum_ns + ns;
}

/* Sets own_ns for steps in which the rank did something. Step 0 is warm-up and has no baseline. */
static void measure_own(const struct job *job, const struct baseline *baseline, int32_t rank, int32_t step,
                        struct rank_step *of)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].step == step && step >= baseline->first_step)
            add(&of->own_ns, excess_ns_at(&baseline->excess, i));
}

/* Sets waiting_ns for steps in which mark_told found a measurable wait. */
static int measure_waiting(const struct job *job, const struct baseline *baseline, struct rank_step *steps)
{
    struct rank_times times;
    struct rank_times_bench bench = {.ran = NULL};
    struct rank_time *of_rank = array_new((size_t)job->step_count + 1, sizeof *of_rank);
    int failed = rank_times_init(&times, job, baseline) || rank_times_bench_init(&bench, &times) || !of_rank;
    for (int32_t rank = 0; !failed && rank < (int32_t)job->rank_count; rank++) {
        rank_times_measure(&times, &bench, rank, of_rank);
        for (int32_t step = 0; step < job->step_count; step++)
            if (at(job, steps, rank, step)->waiting_ns != TIME_UNKNOWN)
                at(job, steps, rank, step)->waiting_ns = of_rank[step].waiting_ns;
    }
    rank_times_bench_release(&bench);
    rank_times_release(&times);
    free(of_rank);
    return failed;
}

/* Marks the steps of ranks with an operation whose wait time can be measured: waiting_ns becomes 0. */
static void mark_told(const struct job *job, const struct job_instance *instance, struct rank_step *steps)
{
    int32_t last = instance->members == instance->expected ? arrival_last(job, instance) : -1;
    for (int32_t i = 0; last >= 0 && i < instance->members; i++)
        at(job, steps, job->operations[job_member_at(job, instance, i)].rank, instance->step)->waiting_ns = 0;
}

struct rank_step *rank_steps_new(const struct job *job, const struct baseline *baseline)
{
    struct rank_step *steps = array_new(job->rank_count + 1, ((size_t)job->step_count + 1) * sizeof *steps);
    if (!steps)
        return NULL;
    for (int32_t rank = 0; rank < (int32_t)job->rank_count; rank++)
        for (int32_t step = 0; step < job->step_count; step++) {
            struct rank_step *of = at(job, steps, rank, step);
            *of = (struct rank_step){baseline_rank_step_duration_ns(baseline, job, rank, step), TIME_UNKNOWN,
                                     TIME_UNKNOWN};
            measure_own(job, baseline, rank, step, of);
        }
    for (size_t i = 0; i < job->instance_count; i++)
        if (job->instances[i].step >= 0 && job->instances[i].step < job->step_count)
            mark_told(job, &job->instances[i], steps);
    if (measure_waiting(job, baseline, steps)) {
        free(steps);
        return NULL;
    }
    return steps;
}

/* Share of the peers that is cut off at either end. */
static const double TAIL = 0.1;

static int64_t *unknown_times(size_t count)
{
    int64_t *list = array_new(count + 1, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = TIME_UNKNOWN;
    return list;
}

int step_history_init(struct step_history *history, int32_t first_step, int32_t end_step)
{
    int32_t steps = end_step > first_step ? end_step - first_step : 0;
    *history = (struct step_history){.first_step = first_step,
                                     .steps = steps,
                                     .mine_ns = unknown_times((size_t)steps),
                                     .peers_ns = unknown_times((size_t)steps),
                                     .low_ns = unknown_times((size_t)steps),
                                     .high_ns = unknown_times((size_t)steps)};
    return history->mine_ns && history->peers_ns && history->low_ns && history->high_ns ? 0 : -1;
}

void step_history_release(struct step_history *history)
{
    free(history->mine_ns);
    free(history->peers_ns);
    free(history->low_ns);
    free(history->high_ns);
    *history = (struct step_history){.steps = 0};
}

void step_history_set(struct step_history *history, int32_t step, int64_t *mine, size_t mine_count,
                      int64_t *peers, size_t peer_count)
{
    int32_t at = step - history->first_step;
    history->mine_ns[at] = median_of(mine, mine_count);
    if (!peer_count)
        return;
    sort_integers(peers, peer_count);
    size_t cut = (size_t)(TAIL * (double)(peer_count - 1));
    history->peers_ns[at] = peers[(peer_count - 1) / 2];
    history->low_ns[at] = peers[cut];
    history->high_ns[at] = peers[peer_count - 1 - cut];
}

int32_t step_history_known(const struct step_history *history)
{
    int32_t known = 0;
    for (int32_t i = 0; i < history->steps; i++)
        known += history->mine_ns[i] != TIME_UNKNOWN;
    return known;
}

/* What is measured, and working memory for one value per rank of the role. */
struct place {
    const struct job *job;
    const struct baseline *baseline;
    int32_t role;
    int32_t position;
    enum place_time what;
    unsigned char *is_mine; /* owned: per rank of the role */
    int64_t *mine;          /* owned, like the lists below */
    int64_t *peers;
    int32_t *instances; /* instances of the ranks in the current step */
    size_t mine_count;
    size_t peer_count;
};

static int64_t time_of(const struct place *place, const struct job_operation *operation)
{
    if (place->what == PLACE_GAP)
        return operation->own_ns;
    return operation->instance >= 0 ? place->job->instances[operation->instance].transfer_ns : TIME_UNKNOWN;
}

static const struct job_operation *operation_at(const struct place *place, size_t rank, int32_t step)
{
    int32_t cell = baseline_cell(place->baseline, place->role, place->position, rank, step);
    return cell >= 0 ? &place->job->operations[cell] : NULL;
}

/* Whether one of the ranks is in the same instance: the operation is then not a peer. */
static int is_shared(const struct place *place, const struct job_operation *operation)
{
    for (size_t i = 0; place->what == PLACE_TRANSFER && i < place->mine_count; i++)
        if (place->instances[i] == operation->instance)
            return 1;
    return 0;
}

static void read_mine(struct place *place, int32_t step)
{
    const struct role *role = &place->baseline->roles[place->role];
    place->mine_count = 0;
    for (size_t rank = 0; rank < role->rank_count; rank++) {
        const struct job_operation *operation = place->is_mine[rank] ? operation_at(place, rank, step) : NULL;
        if (!operation || time_of(place, operation) == TIME_UNKNOWN)
            continue;
        place->instances[place->mine_count] = operation->instance;
        place->mine[place->mine_count++] = time_of(place, operation);
    }
}

static void read_peers(struct place *place, int32_t step)
{
    const struct role *role = &place->baseline->roles[place->role];
    place->peer_count = 0;
    for (size_t rank = 0; rank < role->rank_count; rank++) {
        const struct job_operation *operation = place->is_mine[rank] ? NULL : operation_at(place, rank, step);
        if (operation && time_of(place, operation) != TIME_UNKNOWN && !is_shared(place, operation))
            place->peers[place->peer_count++] = time_of(place, operation);
    }
}

static int place_init(struct place *place, const int32_t *ranks, size_t rank_count)
{
    const struct role *role = &place->baseline->roles[place->role];
    place->is_mine = array_new(role->rank_count + 1, 1);
    place->mine = array_new(role->rank_count + 1, sizeof *place->mine);
    place->peers = array_new(role->rank_count + 1, sizeof *place->peers);
    place->instances = array_new(role->rank_count + 1, sizeof *place->instances);
    if (!place->is_mine || !place->mine || !place->peers || !place->instances)
        return -1;
    for (size_t i = 0; i < rank_count; i++)
        if (place->baseline->role_of_rank[ranks[i]] == place->role)
            place->is_mine[place->baseline->rank_in_role[ranks[i]]] = 1;
    return 0;
}

int place_history_init(struct step_history *history, const struct job *job, const struct baseline *baseline,
                       const int32_t *ranks, size_t rank_count, int32_t position, enum place_time what)
{
    struct place place = {.job = job,
                          .baseline = baseline,
                          .role = baseline->role_of_rank[ranks[0]],
                          .position = position,
                          .what = what};
    if (step_history_init(history, baseline->first_step, baseline->step_count))
        return -1;
    if (place.role < 0 || position < 0 || position >= baseline->roles[place.role].length)
        return 0;
    int failed = place_init(&place, ranks, rank_count);
    for (int32_t step = history->first_step; !failed && step < baseline->step_count; step++) {
        read_mine(&place, step);
        read_peers(&place, step);
        step_history_set(history, step, place.mine, place.mine_count, place.peers, place.peer_count);
    }
    free(place.is_mine);
    free(place.mine);
    free(place.peers);
    free(place.instances);
    return failed;
}

static int by_link(const void *a, const void *b)
{
    const struct link_step *left = a, *right = b;
    const int32_t keys[][2] = {
        {left->sender, right->sender}, {left->receiver, right->receiver}, {left->step, right->step}};
    return compare_in_turn(keys, sizeof keys / sizeof *keys);
}

int link_steps_are_alike(const struct link_step *a, const struct link_step *b)
{
    return a->sender == b->sender && a->receiver == b->receiver;
}

/* Merges the items of a link in one step. */
static void merge_link_steps(struct link_steps *steps)
{
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (kept && !by_link(&steps->items[kept - 1], &steps->items[i])) {
            steps->items[kept - 1].steps += steps->items[i].steps;
            steps->items[kept - 1].wait_ns += steps->items[i].wait_ns;
        } else
            steps->items[kept++] = steps->items[i];
    steps->count = kept;
}

int link_steps_init(struct link_steps *steps, const struct job *job)
{
    *steps = (struct link_steps){.items = array_new(job->traffic_count + 1, sizeof *steps->items)};
    if (!steps->items)
        return -1;
    for (size_t i = 0; i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        int32_t step = job->operations[traffic->operation].step;
        if (!traffic->by_receiver && traffic->sender >= 0 && traffic->receiver >= 0 && traffic->steps &&
            step >= 0 && step < job->step_count)
            steps->items[steps->count++] = (struct link_step){traffic->sender, traffic->receiver, step,
                                                              traffic->steps, traffic->network_wait_ns};
    }
    array_sort(steps->items, steps->count, sizeof *steps->items, by_link);
    merge_link_steps(steps);
    return 0;
}

void link_steps_release(struct link_steps *steps)
{
    free(steps->items);
    *steps = (struct link_steps){.items = NULL};
}

/* The waits of a rank in a step. */
struct waited {
    int64_t wait_ns;
    int64_t steps;
};

struct waits {
    const struct job *job;
    const struct wait_ends *ends;
    struct waited *sums;    /* owned: [rank * step_count + step] */
    unsigned char *is_mine; /* owned, like the lists below: per rank */
    int64_t *mine;
    int64_t *peers;
};

static int is_other(const struct wait_ends *ends, int32_t rank)
{
    for (size_t i = 0; i < ends->other_count; i++)
        if (ends->others[i] == rank)
            return 1;
    return !ends->other_count;
}

static void add_traffic(struct waits *waits)
{
    const struct job *job = waits->job;
    for (size_t i = 0; i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        int by_receiver = waits->ends->by_receiver;
        int32_t rank = by_receiver ? traffic->receiver : traffic->sender;
        int32_t other = by_receiver ? traffic->sender : traffic->receiver;
        int32_t step = job->operations[traffic->operation].step;
        if (traffic->by_receiver || rank < 0 || step < 0 || step >= job->step_count ||
            (waits->is_mine[rank] && !is_other(waits->ends, other)))
            continue;
        struct waited *sum = &waits->sums[(size_t)rank * (size_t)job->step_count + (size_t)step];
        sum->wait_ns += traffic->network_wait_ns;
        sum->steps += traffic->steps;
    }
}

static void set_step(const struct waits *waits, struct step_history *history, int32_t step)
{
    const struct job *job = waits->job;
    size_t mine = 0, peers = 0;
    for (size_t rank = 0; rank < job->rank_count; rank++) {
        const struct waited *sum = &waits->sums[rank * (size_t)job->step_count + (size_t)step];
        if (!sum->steps)
            continue;
        if (waits->is_mine[rank])
            waits->mine[mine++] = sum->wait_ns / sum->steps;
        else
            waits->peers[peers++] = sum->wait_ns / sum->steps;
    }
    step_history_set(history, step, waits->mine, mine, waits->peers, peers);
}

int wait_history_init(struct step_history *history, const struct job *job, const struct wait_ends *ends)
{
    struct waits waits = {
        .job = job,
        .ends = ends,
        .sums = array_new(job->rank_count + 1, ((size_t)job->step_count + 1) * sizeof *waits.sums),
        .is_mine = array_new(job->rank_count + 1, 1),
        .mine = array_new(job->rank_count + 1, sizeof *waits.mine),
        .peers = array_new(job->rank_count + 1, sizeof *waits.peers)};
    int failed = step_history_init(history, job->first_step, job->step_count) || !waits.sums ||
                 !waits.is_mine || !waits.mine || !waits.peers;
    for (size_t i = 0; !failed && i < ends->count; i++)
        waits.is_mine[ends->ranks[i]] = 1;
    if (!failed)
        add_traffic(&waits);
    for (int32_t step = history->first_step; !failed && step < job->step_count; step++)
        set_step(&waits, history, step);
    free(waits.sums);
    free(waits.is_mine);
    free(waits.mine);
    free(waits.peers);
    return failed ? -1 : 0;
}
