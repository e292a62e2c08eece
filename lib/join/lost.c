#include "join/work.h"

#include "base/array.h"

#include <stdlib.h>

/*
 * A place left in a communicator is that of a rank which recorded nothing, or of one that recorded something
 * while its file of this communicator was lost: the example plugin writes a file for each. Ranks are in as
 * many communicators as most are, as far as that can be helped.
 */

struct membership {
    int32_t run;
    int32_t communicators;
};

static int by_run(const void *a, const void *b)
{
    const struct membership *left = a, *right = b;
    if (left->run != right->run)
        return left->run < right->run ? -1 : 1;
    return (left->communicators > right->communicators) - (left->communicators < right->communicators);
}

/* How many communicators each rank is in, in the order of runs. Owned by the caller; NULL: out of memory. */
static struct membership *count_memberships(const struct work *work)
{
    struct membership *ranks = array_new(work->rank_count, sizeof *ranks);
    for (size_t i = 0; ranks && i < work->rank_count; i++)
        ranks[i].run = work->ranks[i].run;
    for (size_t i = 0; ranks && i < work->member_count; i++) {
        const struct work_member *member = &work->members[i];
        if (member->job_rank >= 0 && work->communicators[member->communicator].hash != 0)
            ranks[member->job_rank].communicators++;
    }
    if (ranks)
        array_sort(ranks, work->rank_count, sizeof *ranks, by_run);
    return ranks;
}

/* What most ranks of the run are in; of two counts that are as common the lesser one. */
static int32_t usual_count(const struct membership *ranks, size_t count)
{
    size_t most = 0, alike = 0;
    int32_t usual = 0;
    for (size_t i = 0; i < count; i++) {
        alike = i && ranks[i].communicators == ranks[i - 1].communicators ? alike + 1 : 1;
        if (alike > most) {
            most = alike;
            usual = ranks[i].communicators;
        }
    }
    return usual;
}

/* Places left in communicators of each run. Those of one rank have two: NCCL runs nothing for one alone. */
static void count_places(const struct work *work, int64_t *places)
{
    for (size_t i = 0; i < work->communicator_count; i++) {
        const struct work_communicator *communicator = &work->communicators[i];
        int64_t size = communicator->size < 2 ? 2 : communicator->size;
        if (communicator->run < 0 || communicator->hash == 0)
            continue;
        int64_t left = size - communicator->member_count;
        places[communicator->run] += left > 0 ? left : 0;
    }
}

int64_t *work_count_lost_files(const struct work *work)
{
    int64_t *lost = array_new(work->run_count, sizeof *lost);
    int64_t *places = array_new(work->run_count, sizeof *places);
    struct membership *ranks = count_memberships(work);
    if (lost && places && ranks)
        count_places(work, places);
    for (size_t first = 0, end; lost && places && ranks && first < work->rank_count; first = end) {
        int32_t run = ranks[first].run;
        for (end = first; end < work->rank_count && ranks[end].run == run; end++)
            ;
        int32_t usual = usual_count(ranks + first, end - first);
        int64_t missing = 0;
        for (size_t i = first; i < end; i++)
            missing += ranks[i].communicators < usual ? usual - ranks[i].communicators : 0;
        if (run >= 0)
            lost[run] = missing >= places[run] ? places[run] : 0;
    }
    if (!places || !ranks) {
        free(lost);
        lost = NULL;
    }
    free(places);
    free(ranks);
    return lost;
}
