#include "analyse/load.h"

#include <stdlib.h>

/*
 * When an AllReduce by a tree was over. NCCL splits the threads of such a kernel into those that reduce up
 * the tree and those that broadcast down, and notes the kernel's stop when the first kind is done: a leaf has
 * its stop once it has passed its data on, whoever is missing (src/device/all_reduce.h, runTreeSplit). The
 * root's stop is the operation's. So where the clocks are aligned all members end with the last one, or when
 * the next operation of their stream begins, if that is sooner.
 */

/* The end of the last member, in common time; TIME_UNKNOWN where that of a member is. */
static int64_t last_end(const struct job *job, const struct job_instance *instance)
{
    int64_t last = TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        const struct job_operation *member =
            &job->operations[job->instance_members[instance->first_member + (size_t)i]];
        int64_t end = job_common_time(job, member, member->end_ns);
        if (!member->is_tree || end == TIME_UNKNOWN)
            return TIME_UNKNOWN;
        if (last == TIME_UNKNOWN || end > last)
            last = end;
    }
    return last;
}

static int mend(struct job *job, const struct job_instance *instance, const int64_t *next)
{
    int mended = 0;
    int64_t last = instance->members == instance->expected ? last_end(job, instance) : TIME_UNKNOWN;
    for (int32_t i = 0; last != TIME_UNKNOWN && i < instance->members; i++) {
        int32_t at = job->instance_members[instance->first_member + (size_t)i];
        struct job_operation *member = &job->operations[at];
        int64_t end = member->end_ns + (last - job_common_time(job, member, member->end_ns));
        if (next[at] != TIME_UNKNOWN && next[at] < end)
            end = next[at];
        if (end <= member->end_ns)
            continue;
        member->end_ns = end;
        if (job->drafts[at].free_ns < end)
            job->drafts[at].free_ns = end;
        mended = 1;
    }
    return mended;
}

int job_mend_trees(struct job *job, int *mended, struct error *error)
{
    *mended = 0;
    size_t trees = 0;
    for (size_t i = 0; i < job->operation_count; i++)
        trees += job->operations[i].is_tree;
    if (!trees)
        return 0;
    int64_t *next = job_next_starts(job);
    if (!next)
        return error_no_memory(error);
    for (size_t i = 0; i < job->instance_count; i++)
        *mended |= mend(job, &job->instances[i], next);
    free(next);
    return 0;
}
