/*
 * Measures the gap time of ranks for the command compare. The figures of a run (struct measured_run) are kept
 * here as well.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "report/comparison.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void measured_run_init(struct measured_run *run)
{
    *run = (struct measured_run){.items = NULL};
    intern_init(&run->texts);
}

void measured_run_release(struct measured_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        free(run->items[i].values);
        free(run->items[i].places);
    }
    for (size_t i = 0; i < run->finding_count; i++)
        free(run->findings[i].text);
    free(run->items);
    free(run->findings);
    free(run->ways);
    free(run->hosts);
    free(run->run_name);
    intern_release(&run->texts);
    *run = (struct measured_run){.items = NULL};
}

const char *measured_keep(struct measured_run *run, const char *text)
{
    int64_t number = intern_put(&run->texts, text, strlen(text));
    return number < 0 ? NULL : intern_text(&run->texts, number);
}

struct step_series *measured_add(struct measured_run *run, enum series_kind kind, const char *key,
                                 size_t capacity)
{
    const char *kept = measured_keep(run, key);
    double *values = array_new(capacity + 1, sizeof *values);
    if (!kept || !values ||
        array_reserve((void **)&run->items, &run->capacity, run->count + 1, sizeof *run->items)) {
        free(values);
        return NULL;
    }
    struct step_series *series = &run->items[run->count++];
    *series = (struct step_series){
        .kind = kind, .key = kept, .rank = -1, .receiver = -1, .values = values, .transfers_per_step = 1};
    return series;
}

void series_add(struct step_series *series, double value)
{
    if (isfinite(value))
        series->values[series->count++] = value;
}

static int by_key(const void *a, const void *b)
{
    const struct step_series *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return strcmp(left->key, right->key);
}

void measured_sort(struct measured_run *run)
{
    array_sort(run->items, run->count, sizeof *run->items, by_key);
}

const struct step_series *measured_find(const struct measured_run *run, enum series_kind kind,
                                        const char *key)
{
    const struct step_series wanted = {.kind = kind, .key = key};
    return run->count ? bsearch(&wanted, run->items, run->count, sizeof wanted, by_key) : NULL;
}

static int share_a_host(const struct job *job, const struct job_communicator *communicator)
{
    const char *host = NULL;
    for (size_t i = 0; i < communicator->member_list_count; i++) {
        int32_t rank = communicator->member_list[i].rank;
        const char *here = rank >= 0 ? job->ranks[rank].facts.host : NULL;
        if (!here || (host && strcmp(host, here) != 0))
            return 0;
        host = here;
    }
    return host && (int64_t)communicator->member_list_count == communicator->size;
}

void network_communicators(const struct job *job, unsigned char *is_over)
{
    for (size_t i = 0; i < job->communicator_count; i++)
        is_over[i] = !job->traffic_count && !share_a_host(job, &job->communicators[i]);
    for (size_t i = 0; i < job->traffic_count; i++)
        is_over[job->operations[job->traffic[i].operation].communicator] = 1;
}

struct owns {
    const struct job *job;
    const struct baseline *baseline;
    const struct usual *usual;
    int64_t *ns;    /* owned: gap times, [rank * baseline steps + step]; TIME_UNKNOWN */
    int64_t *peers; /* owned, with the same index: the median of the rank's peers */
    int64_t *list;  /* owned: scratch memory for as many values as ranks or steps */
};

static int64_t *own_at(const struct owns *owns, size_t rank, size_t place)
{
    return &owns->ns[rank * owns->usual->count + place];
}

/*
 * Whether the gap before an operation varies from run to run because the kernel of the previous operation can
 * stop before that operation ends: it depends on which rank is a leaf of the tree, and on which send or
 * receive of a group call comes last.
 */
static int has_rough_begin(const struct job *job, const struct job_operation *operation)
{
    int32_t before = operation->previous;
    return before >= 0 && (job->operations[before].is_tree || job_is_grouped(job, before));
}

/*
 * The time since any operation of the rank ended, on any stream. Sends and receives of one group call are one
 * kernel and have one gap before them. TIME_UNKNOWN: do not count it.
 */
static int64_t counted_ns(const struct job *job, size_t number)
{
    const struct job_operation *operation = &job->operations[number];
    if (has_rough_begin(job, operation) || (operation->group >= 0 && operation->group != (int32_t)number))
        return TIME_UNKNOWN;
    int64_t idle_ns = job_idle_time(job, operation);
    return idle_ns == TIME_UNKNOWN || idle_ns > 0 ? idle_ns : 0;
}

static int is_alone(const struct owns *owns, size_t rank)
{
    int32_t role = owns->baseline->role_of_rank[rank];
    return role < 0 || owns->baseline->roles[role].rank_count < 2;
}

/* Sums gap time in each step, of all operations or of those with one tag. */
static void sum_own(const struct owns *owns, int32_t tag, int is_all)
{
    const struct job *job = owns->job;
    for (size_t i = 0; i < job->rank_count * owns->usual->count; i++)
        owns->ns[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t place = operation->step < 0 || operation->step >= job->step_count
                            ? -1
                            : owns->usual->places[operation->step];
        int64_t ns = place < 0 || (!is_all && operation->tag != tag) ? TIME_UNKNOWN : counted_ns(job, i);
        if (ns == TIME_UNKNOWN)
            continue;
        int64_t *own = own_at(owns, (size_t)operation->rank, (size_t)place);
        *own = (*own == TIME_UNKNOWN ? 0 : *own) + ns;
    }
}

/*
 * Sets the peers' value of `count` ranks in one step (of all ranks if `ranks` is NULL): the median of the
 * others.
 */
static void set_peers(const struct owns *owns, const int32_t *ranks, size_t count, size_t place,
                      int only_alone)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t ns = *own_at(owns, ranks ? (size_t)ranks[i] : i, place);
        if (ns != TIME_UNKNOWN)
            owns->list[known++] = ns;
    }
    struct middles middles = middles_of(owns->list, known);
    for (size_t i = 0; known > 1 && i < count; i++) {
        size_t rank = ranks ? (size_t)ranks[i] : i;
        int64_t ns = *own_at(owns, rank, place);
        if (ns != TIME_UNKNOWN && (!only_alone || is_alone(owns, rank)))
            owns->peers[rank * owns->usual->count + place] = median_of_others(&middles, ns);
    }
}

/* A rank that has its role alone is compared with all other ranks. */
static void find_peers(const struct owns *owns)
{
    for (size_t i = 0; i < owns->job->rank_count * owns->usual->count; i++)
        owns->peers[i] = TIME_UNKNOWN;
    for (size_t place = 0; place < owns->usual->count; place++) {
        set_peers(owns, NULL, owns->job->rank_count, place, 1);
        for (size_t i = 0; i < owns->baseline->role_count; i++)
            if (owns->baseline->roles[i].rank_count > 1)
                set_peers(owns, owns->baseline->roles[i].ranks, owns->baseline->roles[i].rank_count, place,
                          0);
    }
}

static void add_values(const struct owns *owns, size_t rank, struct step_series *series)
{
    size_t count = 0;
    for (size_t place = 0; place < owns->usual->count; place++) {
        int64_t ns = *own_at(owns, rank, place), peers = owns->peers[rank * owns->usual->count + place];
        if (ns != TIME_UNKNOWN && peers != TIME_UNKNOWN)
            series_add(series, (double)(ns - peers) / 1e3);
    }
    for (size_t place = 0; place < owns->usual->count; place++)
        if (*own_at(owns, rank, place) != TIME_UNKNOWN)
            owns->list[count++] = *own_at(owns, rank, place);
    series->itself = count ? (double)pick_quantile(owns->list, count, 0.5) / 1e3 : (double)NAN;
}

/* Sets the gap time at one position of the step. */
static int set_place(const struct owns *owns, int32_t role, int32_t position, size_t member,
                     struct measured_run *run, struct measured_place *place)
{
    size_t count = 0;
    *place = (struct measured_place){.own_us = (double)NAN};
    for (size_t i = 0; i < owns->usual->count; i++) {
        int32_t cell = baseline_cell(owns->baseline, role, position, member, owns->usual->steps[i]);
        int64_t ns = cell < 0 ? TIME_UNKNOWN : counted_ns(owns->job, (size_t)cell);
        if (ns == TIME_UNKNOWN)
            continue;
        const struct job_operation *operation = &owns->job->operations[cell];
        const char *tag = job_tag(owns->job, operation->tag);
        place->function = operation->function;
        if (tag && !place->tag && !(place->tag = measured_keep(run, tag)))
            return -1;
        owns->list[count++] = ns;
    }
    if (count)
        place->own_us = (double)pick_quantile(owns->list, count, 0.5) / 1e3;
    return 0;
}

static int add_places(const struct owns *owns, size_t rank, struct measured_run *run,
                      struct step_series *series)
{
    int32_t role = owns->baseline->role_of_rank[rank];
    if (role < 0)
        return 0;
    size_t length = (size_t)owns->baseline->roles[role].length;
    series->places = array_new(length + 1, sizeof *series->places);
    if (!series->places)
        return -1;
    series->place_count = length;
    int failed = 0;
    for (size_t i = 0; !failed && i < length; i++)
        failed = set_place(owns, role, (int32_t)i, (size_t)owns->baseline->rank_in_role[rank], run,
                           &series->places[i]);
    return failed;
}

static int add_rank(const struct owns *owns, size_t number, struct measured_run *run)
{
    const struct job_rank *rank = &owns->job->ranks[number];
    struct buffer key = BUFFER_INIT;
    struct step_series *series = NULL;
    if (!rank->count)
        return 0;
    if (buffer_printf(&key, "rank %s", rank->name) == 0)
        series = measured_add(run, SERIES_RANK, key.data, owns->usual->count);
    buffer_release(&key);
    if (!series)
        return -1;
    series->rank = rank->global_rank;
    add_values(owns, number, series);
    return add_places(owns, number, run, series);
}

/*
 * The median rank of a role in one step; TIME_UNKNOWN. A single slow rank of two or more does not change it.
 */
static int64_t middle_of_role(const struct owns *owns, const struct role *role, size_t place)
{
    size_t count = 0;
    for (size_t i = 0; i < role->rank_count; i++)
        if (*own_at(owns, (size_t)role->ranks[i], place) != TIME_UNKNOWN)
            owns->list[count++] = *own_at(owns, (size_t)role->ranks[i], place);
    return count ? pick_quantile(owns->list, count, 0.5) : TIME_UNKNOWN;
}

/* Adds the figure of all ranks: the mean over ranks, where each counts as the median rank of its role. */
static int add_all(const struct owns *owns, enum series_kind kind, const char *key, struct measured_run *run)
{
    struct step_series *series = measured_add(run, kind, key, owns->usual->count);
    if (series && kind == SERIES_OWN_PHASE)
        series->tag = series->key;
    for (size_t place = 0; series && place < owns->usual->count; place++) {
        double sum_us = 0, ranks = 0;
        for (size_t i = 0; i < owns->baseline->role_count; i++) {
            const struct role *role = &owns->baseline->roles[i];
            int64_t ns = middle_of_role(owns, role, place);
            if (ns == TIME_UNKNOWN)
                continue;
            sum_us += (double)ns / 1e3 * (double)role->rank_count;
            ranks += (double)role->rank_count;
        }
        series_add(series, sum_us / ranks);
    }
    return series ? 0 : -1;
}

/* A job with more tags uses them for other things than phases. */
enum { MOST_PHASES = 32 };

static int add_phases(const struct owns *owns, struct measured_run *run)
{
    const struct job *job = owns->job;
    size_t phases = job->tags.count < MOST_PHASES ? job->tags.count : MOST_PHASES;
    int failed = 0;
    for (size_t tag = 0; !failed && tag < phases; tag++) {
        sum_own(owns, (int32_t)tag, 0);
        failed = add_all(owns, SERIES_OWN_PHASE, job_tag(job, (int32_t)tag), run);
    }
    return failed;
}

int measure_ranks(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                  const struct usual *usual)
{
    size_t most = job->rank_count > usual->count ? job->rank_count : usual->count;
    struct owns owns = {.job = job,
                        .baseline = baseline,
                        .usual = usual,
                        .ns = array_new(job->rank_count * usual->count + 1, sizeof *owns.ns),
                        .peers = array_new(job->rank_count * usual->count + 1, sizeof *owns.peers),
                        .list = array_new(most + 1, sizeof *owns.list)};
    int failed = !owns.ns || !owns.peers || !owns.list;
    if (!failed) {
        sum_own(&owns, -1, 1);
        find_peers(&owns);
    }
    failed = failed || add_all(&owns, SERIES_OWN, "", run);
    for (size_t i = 0; !failed && usual->count && i < job->rank_count; i++)
        failed = add_rank(&owns, i, run);
    failed = failed || add_phases(&owns, run);
    free(owns.ns);
    free(owns.peers);
    free(owns.list);
    return failed ? -1 : 0;
}
