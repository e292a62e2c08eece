/*
 * What nodes say in the time of slow steps that no finding explains. If one place of the job alone shows a
 * cause, that is an observation: nothing in the trace says that the place is at fault, so it is not blamed.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* If something stands out at more ranks, it is not of one place: those of two hosts, as a rule. */
enum { MOST_RANKS = 16 };

/* A slow GPU, host or process, and a slow link: these can make the steps of a job longer. */
static const enum finding_kind kinds[] = {FINDING_LATE, FINDING_NETWORK};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Whether the rule compares times, and can make steps longer. */
static int is_asked(const struct cause_rule *rule)
{
    unsigned bits = 0;
    for (int i = 0; i < KINDS; i++)
        bits |= 1U << kinds[i];
    return rule->side != CAUSE_STACK && (rule->kinds & bits) != 0;
}

/* Whether it is of a rank, and not of all ranks of its host. */
static int is_of_rank(const struct cause *cause)
{
    return cause->rule->place != CAUSE_ON_HOST && cause->rule->place != CAUSE_ON_NETWORK;
}

/* Whether all ranks are on hosts with records, none of which is apart from the run. */
static int are_all_known(const struct cause_search *search)
{
    for (size_t i = 0; i < search->places.job->rank_count; i++)
        if (search->places.host_of[i] < 0)
            return 0;
    return !search->apart;
}

/* Marks the ranks in whose places something stands out from the other steps, and counts them, or enough. */
static size_t mark_ranks(const struct cause_search *search, unsigned char *is_marked)
{
    size_t count = 0;
    for (size_t i = 0; i < search->count && count <= MOST_RANKS; i++) {
        const struct cause_sum *sum = &search->sums[i];
        for (size_t k = 0; k < cause_rule_count; k++) {
            const struct cause_rule *rule = &cause_rules[k];
            if (!is_asked(rule) || !cause_search_shows(search, rule, sum))
                continue;
            for (int32_t rank = 0; rank < (int32_t)search->places.job->rank_count; rank++)
                if (!is_marked[rank] &&
                    cause_has_rank(&search->places, sum->host, rule->place, sum->place, sum->device, rank))
                    is_marked[rank] = (unsigned char)(++count > 0);
        }
    }
    return count;
}

/* Drops the causes that one of the two comparisons, with other steps and other places, lacks. */
static void drop_unsure(struct finding *of)
{
    size_t kept = 0;
    for (size_t i = 0; i < of->cause_count; i++) {
        const struct cause *cause = &of->causes[i];
        if (cause->has_others && is_asked(cause->rule) &&
            (!cause->is_not_compared || cause->rule->is_statement))
            of->causes[kept++] = of->causes[i];
        else
            cause_release(&of->causes[i]);
    }
    of->cause_count = kept;
}

/* Searches at each marked rank as if it were at fault. */
static int search_ranks(struct cause_search *search, const struct finding *steps,
                        const unsigned char *is_marked, struct findings *found, struct error *error)
{
    for (int32_t rank = 0; rank < (int32_t)search->places.job->rank_count; rank++)
        for (int i = 0; is_marked[rank] && i < KINDS; i++) {
            struct finding *of = findings_add(found);
            if (!of)
                return error_no_memory(error);
            *of = *steps;
            of->rank = rank;
            of->kind = kinds[i];
            cause_accuse(&search->places, of);
            if (cause_search_take(search, of, error))
                return -1;
            drop_unsure(of);
        }
    return 0;
}

/* What all causes have in common. */
struct common_place {
    int32_t host;  /* -1: they are of several, or there is none */
    int32_t rank;  /* of those that are of ranks; -1: none; -2: several */
    int is_of_cpu; /* those of ranks are of their processes: what holds up a host holds them up */
};

static struct common_place place_of(const struct findings *found)
{
    struct common_place place = {.host = -1, .rank = -1, .is_of_cpu = 1};
    int is_first = 1;
    for (size_t i = 0; i < found->count; i++)
        for (size_t k = 0; k < found->items[i].cause_count; k++) {
            const struct cause *cause = &found->items[i].causes[k];
            int32_t rank = found->items[i].rank;
            place.host = is_first || place.host == (int32_t)cause->at_host ? (int32_t)cause->at_host : -1;
            is_first = 0;
            if (place.host < 0)
                return place;
            if (!is_of_rank(cause))
                continue;
            place.rank = place.rank == -1 || place.rank == rank ? rank : -2;
            place.is_of_cpu &= cause->rule->place != CAUSE_ON_GPU;
        }
    return place;
}

static int has_rule(const struct observed_causes *observed, const struct cause_rule *rule)
{
    for (size_t i = 0; i < observed->count; i++)
        if (observed->items[i].rule == rule)
            return 1;
    return 0;
}

/* Moves the causes of the only place to `observed`; several ranks of a host count as one with it. */
static int keep_only_place(struct findings *found, struct observed_causes *observed)
{
    struct common_place place = place_of(found);
    size_t capacity = 0;
    if (place.host < 0 || (place.rank == -2 && !place.is_of_cpu))
        return 0;
    for (size_t i = 0; i < found->count; i++) {
        struct finding *of = &found->items[i];
        for (size_t k = 0; (place.rank < 0 || place.rank == of->rank) && k < of->cause_count; k++) {
            if ((place.rank == -2 && is_of_rank(&of->causes[k])) || has_rule(observed, of->causes[k].rule))
                continue;
            if (array_reserve((void **)&observed->items, &capacity, observed->count + 1,
                              sizeof *observed->items))
                return -1;
            observed->items[observed->count++] = of->causes[k];
            of->causes[k] = (struct cause){.rule = of->causes[k].rule};
        }
    }
    return 0;
}

/* Whether all hosts with ranks have the value in half of the time of the slow steps or more. */
static int is_known_of_all(const struct cause_search *search, const struct cause_rule *rule,
                           unsigned char *has_value)
{
    const struct cause_places *places = &search->places;
    memset(has_value, 0, places->hosts.count);
    for (size_t i = 0; i < search->count; i++)
        if (!search->sums[i].is_message && search->sums[i].metric == rule->metric &&
            search->sums[i].faulty_ns >= (double)search->time.faulty_ns / 2)
            has_value[search->sums[i].host] = 1;
    for (size_t i = 0; i < places->job->rank_count; i++)
        if (!has_value[places->host_of[i]])
            return 0;
    return 1;
}

/* Drops what other hosts may have shown as well, as their records do not reach the slow steps. */
static int drop_unknown(const struct cause_search *search, struct findings *found)
{
    unsigned char *has_value = array_new(search->places.hosts.count + 1, 1);
    for (size_t i = 0; has_value && i < found->count; i++) {
        struct finding *of = &found->items[i];
        size_t kept = 0;
        for (size_t k = 0; k < of->cause_count; k++)
            if (of->causes[k].rule->side == CAUSE_MESSAGE ||
                is_known_of_all(search, of->causes[k].rule, has_value))
                of->causes[kept++] = of->causes[k];
            else
                cause_release(&of->causes[k]);
        of->cause_count = kept;
    }
    free(has_value);
    return has_value ? 0 : -1;
}

static int observe(struct cause_search *search, const struct finding *steps, struct observed_causes *observed,
                   struct error *error)
{
    struct findings found = {.items = NULL};
    unsigned char *is_marked = array_new(search->places.job->rank_count + 1, 1);
    struct finding all = *steps;
    int failed = is_marked ? 0 : error_no_memory(error);
    memset(search->places.is_accused, 0, search->places.job->rank_count);
    failed = failed || cause_search_sum(search, &all, error);
    size_t count = !failed && are_all_known(search) ? mark_ranks(search, is_marked) : 0;
    if (!failed && count && count <= MOST_RANKS)
        failed =
            search_ranks(search, steps, is_marked, &found, error) ||
            ((drop_unknown(search, &found) || keep_only_place(&found, observed)) && error_no_memory(error));
    findings_release(&found);
    free(is_marked);
    return failed ? -1 : 0;
}

static void forget(struct observed_causes *observed)
{
    causes_release(observed->items, observed->count);
    observed->items = NULL;
    observed->count = 0;
}

/* How many ranks are at the place: one, or all of its host. */
static int32_t ranks_at(const struct cause_places *places, const struct observed_causes *observed)
{
    int32_t count = 0;
    for (size_t i = 0; i < observed->count; i++)
        if (is_of_rank(&observed->items[i]))
            return 1;
    for (size_t i = 0; i < places->job->rank_count; i++)
        count += places->host_of[i] == (int32_t)observed->items[0].at_host;
    return count;
}

/* What lengthens the own time of other ranks, too, is not of this place. */
static int drop_if_elsewhere(struct longer_steps *longer, const struct cause_places *places,
                             const struct baseline *baseline, const struct longer_row *row)
{
    int32_t ranks;
    if (!longer->observed.count)
        return 0;
    if (longer_row_ranks(places->job, baseline, longer, row, &ranks))
        return -1;
    if (ranks > ranks_at(places, &longer->observed))
        forget(&longer->observed);
    return 0;
}

int longer_steps_observe(struct longer_steps *longer, const struct job *job, const struct baseline *baseline,
                         struct error *error)
{
    struct cause_search search = {.time = {.first_ns = TIME_UNKNOWN}, .is_of_all = 1};
    const struct longer_row *row = longer->period ? NULL : longer_steps_unexplained(longer);
    if (!row || row->first < 0 || longer->measured_by_calls)
        return 0;
    const struct finding steps = {
        .kind = FINDING_LATE, .tag = -1, .first_step = row->first, .last_step = row->last};
    longer->observed.run_first = row->run_first;
    int failed = cause_places_init(&search.places, job, error);
    if (!failed && search.places.host_count) {
        failed = fault_time_measure(&search.time, &search.places, &steps, baseline->first_step, error) ||
                 (search.time.faulty_count && observe(&search, &steps, &longer->observed, error)) ||
                 (drop_if_elsewhere(longer, &search.places, baseline, row) && error_no_memory(error));
        cause_search_forget(&search);
    }
    free(search.sums);
    cause_places_release(&search.places);
    return failed ? -1 : 0;
}
