#include "job/stages.h"

#include "base/array.h"
#include "base/disjoint.h"

#include <stdlib.h>

static int is_narrow(const struct job *job, const struct job_communicator *communicator)
{
    return communicator->size < (int64_t)job->rank_count && !communicator->is_of_the_rest;
}

/* Returns whether it made one stage of several. */
static int unite_members(const struct job_communicator *communicator, int32_t *stage)
{
    int32_t first = -1;
    int united = 0;
    for (size_t i = 0; i <= communicator->seat_count; i++) {
        int32_t rank = i < communicator->seat_count ? communicator->seats[i].rank : communicator->silent;
        if (rank < 0)
            continue;
        if (first < 0)
            first = rank;
        united |= disjoint_unite(stage, first, rank);
    }
    return united;
}

int32_t *stages_find(const struct job *job)
{
    int32_t *stage = array_new(job->rank_count, sizeof *stage);
    int united = 0;
    if (!stage)
        return NULL;
    disjoint_init(stage, job->rank_count);
    for (size_t i = 0; i < job->communicator_count; i++)
        if (is_narrow(job, &job->communicators[i]))
            united |= unite_members(&job->communicators[i], stage);
    for (size_t i = 0; i < job->rank_count; i++)
        stage[i] = united ? disjoint_root(stage, (int32_t)i) : 0;
    return stage;
}

int job_find_stages(struct job *job)
{
    int32_t *stage = stages_find(job);
    if (!stage)
        return -1;
    job->in_stages = 0;
    for (size_t i = 0; i < job->rank_count; i++)
        job->in_stages |= stage[i] != stage[0];
    free(stage);
    return 0;
}

int job_hides_pairs_of_stages(const struct job *job)
{
    return job->blind_to_pairs && job->in_stages;
}
