#include "score/slow_senders.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int sender_search_init(struct sender_search *search, const struct job *job, const struct baseline *baseline,
                       const struct edges *edges, struct sender_belief belief)
{
    *search = (struct sender_search){.job = job, .edges = edges, .belief = belief};
    search->told = array_new(job->rank_count, sizeof *search->told);
    return search->told ? senders_init(&search->senders, job, baseline->first_step, edges) : -1;
}

void sender_search_release(struct sender_search *search)
{
    senders_release(&search->senders);
    partitions_release(&search->partitions);
    free(search->told);
    *search = (struct sender_search){0};
}

/* Hosts, as far as they are known; else the largest blocks of ranks that the network does not join. */
static const struct partition *hosts_of(const struct sender_search *search)
{
    const struct partitions *partitions = &search->partitions;
    for (size_t i = 0; i < partitions->count; i++)
        if (partitions->items[i].kind == UNIT_HOST)
            return &partitions->items[i];
    return &partitions->items[partitions->count - 1];
}

/* The certainty of a rank in steps that are given; 0 where it is told, or cannot be. -1 when memory is out.
 */
static int rate(const struct sender_search *search, size_t rank, int is_steady, struct step_set *set,
                double *certainty)
{
    double usual = search->senders.usual[rank];
    *certainty = 0;
    set->score = 0;
    if (isnan(usual) || search->told[rank] || (is_steady && usual < log(search->belief.times)))
        return 0;
    if (senders_score(&search->senders, rank, is_steady, set))
        return -1;
    *certainty = senders_certainty(&search->senders, is_steady, set);
    return 0;
}

static void keep_best(struct slow_senders *best, size_t rank, int is_steady, const struct step_set *set,
                      double certainty)
{
    if (certainty <= best->certainty)
        return;
    best->certainty = certainty;
    best->steps = *set;
    best->is_steady = is_steady;
    best->rank = (int32_t)rank;
}

/* The most certain of all ranks that are not told yet. */
static int find_best(const struct sender_search *search, struct slow_senders *best)
{
    const struct senders *senders = &search->senders;
    best->certainty = 0;
    for (size_t rank = 0; senders->count > 0 && rank < senders->ranks; rank++) {
        struct step_set all = {.first = senders->first_step, .last = senders->steps - 1, .period = 1};
        double certainty;
        if (rate(search, rank, 1, &all, &certainty))
            return -1;
        keep_best(best, rank, 1, &all, certainty);
        if (!isnan(senders->usual[rank]) && !search->told[rank] && senders->best[rank].period)
            keep_best(best, rank, 0, &senders->best[rank],
                      senders_certainty(senders, 0, &senders->best[rank]));
    }
    return 0;
}

/* Those of its host that were slow in the same steps: these are given, and cost no penalty again. */
static int gather(const struct sender_search *search, struct slow_senders *found)
{
    const struct partition *hosts = hosts_of(search);
    int32_t best = found->rank;
    struct step_set all = {.score = 0};
    found->count = 0;
    memset(found->has, 0, search->job->rank_count);
    for (size_t i = hosts->first[hosts->unit_of[best]]; i < hosts->first[hosts->unit_of[best] + 1]; i++) {
        int32_t rank = hosts->ranks[i];
        struct step_set set = found->steps;
        double certainty;
        if (rate(search, (size_t)rank, found->is_steady, &set, &certainty))
            return -1;
        if (set.score <= 0 ||
            certainty + senders_penalty(&search->senders, found->is_steady) < search->belief.certainty)
            continue;
        all.score += set.score;
        found->has[rank] = 1;
        if (!found->count++ || rank < found->rank)
            found->rank = rank;
    }
    found->certainty = senders_certainty(&search->senders, found->is_steady, &all);
    return 0;
}

/* Whether a rank is on their host and none of them, and as quick as others. */
static int is_quick_beside(const struct sender_search *search, const struct slow_senders *found, int32_t rank)
{
    const struct partition *hosts = hosts_of(search);
    return hosts->unit_of[rank] == hosts->unit_of[found->rank] && !found->has[rank] &&
           search->senders.usual[rank] < log(search->belief.times);
}

int slow_senders_on_way(const struct sender_search *search, const struct slow_senders *found)
{
    const struct partition *hosts = hosts_of(search);
    const struct edges *edges = search->edges;
    if (found->count < 2)
        return 0;
    unsigned char *to = array_new(hosts->count, sizeof *to);
    unsigned char *is_counted = array_new(search->job->rank_count, sizeof *is_counted);
    int count = 0, failed = !to || !is_counted;
    for (size_t i = 0; !failed && i < edges->count; i++)
        if (found->has[edges->items[i].sender])
            to[hosts->unit_of[edges->items[i].receiver]] = 1;
    for (size_t i = 0; !failed && i < edges->count; i++) {
        int32_t sender = edges->items[i].sender;
        if (is_counted[sender] || !to[hosts->unit_of[edges->items[i].receiver]] ||
            !is_quick_beside(search, found, sender))
            continue;
        is_counted[sender] = 1;
        count++;
    }
    free(to);
    free(is_counted);
    return failed ? -1 : count;
}

int slow_senders_next(struct sender_search *search, struct slow_senders *found)
{
    if (find_best(search, found))
        return -1;
    if (found->certainty < search->belief.certainty)
        return 0;
    int32_t best = found->rank;
    if ((!search->partitions.count && partitions_init(&search->partitions, search->job, search->edges)) ||
        gather(search, found))
        return -1;
    search->told[best] = 1;
    for (size_t rank = 0; rank < search->job->rank_count; rank++)
        search->told[rank] |= found->has[rank];
    return 1;
}

int slow_senders_have_step(const struct slow_senders *found, int32_t step)
{
    return step_set_has(&found->steps, step);
}

double slow_senders_excess(const struct sender_search *search, const struct slow_senders *found, int32_t rank,
                           int32_t step)
{
    const struct senders *senders = &search->senders;
    if (!found->has[rank] || step < 0 || step >= senders->steps || !slow_senders_have_step(found, step))
        return 0;
    const double *values = found->is_steady ? senders->ratio : senders->beyond;
    double excess = values[(size_t)rank * (size_t)senders->steps + (size_t)step];
    return excess > 0 ? excess : 0;
}
