#include "analyse/finding.h"

#include "base/array.h"

#include <stdlib.h>

/* What a recorder that leaves point-to-point operations out hides. */

static int32_t root_of(int32_t *parent, int32_t at)
{
    while (parent[at] != at)
        at = parent[at] = parent[parent[at]];
    return at;
}

int job_is_in_stages(const struct job *job)
{
    int32_t *parent = array_new(job->rank_count, sizeof *parent);
    size_t united = 0, groups = 0;
    if (!parent)
        return -1;
    for (size_t i = 0; i < job->rank_count; i++)
        parent[i] = (int32_t)i;
    for (size_t i = 0; i < job->communicator_count; i++) {
        const struct job_communicator *communicator = &job->communicators[i];
        int32_t first = -1;
        if (communicator->size >= (int64_t)job->rank_count)
            continue;
        groups++;
        for (size_t j = 0; j <= communicator->seat_count; j++) {
            int32_t rank = j < communicator->seat_count ? communicator->seats[j].rank : communicator->silent;
            if (rank < 0)
                continue;
            int32_t root = root_of(parent, rank);
            first = first < 0 ? root : root_of(parent, first);
            united += root != first;
            parent[root] = first;
        }
    }
    free(parent);
    return groups && united + 1 < job->rank_count;
}

/* The least usual own time that the rank has before other operations of the kind in the same step. */
static int64_t least_of_kind(const struct job *job, const struct job_operation *operation)
{
    int64_t least = -1;
    if (operation->step < 0)
        return least;
    struct job_range range = job_operations_in(job, operation->rank, operation->step, operation->step);
    for (size_t i = range.first; i < range.end; i++) {
        const struct job_operation *other = &job->operations[i];
        if (other != operation && other->step == operation->step &&
            other->communicator == operation->communicator && other->function == operation->function &&
            other->own_ns != TIME_UNKNOWN && (least < 0 || other->own_ns - other->beyond_ns < least))
            least = other->own_ns - other->beyond_ns;
    }
    return least;
}

int may_hide_pair(const struct job *job, const struct job_operation *operation)
{
    int64_t least = least_of_kind(job, operation);
    return operation->previous >= 0 && (least < 0 || operation->own_ns - operation->beyond_ns > 3 * least);
}
