#include "job/estimated_ends.h"

#include "base/array.h"

#include <stdlib.h>

/* Until when the kernel of a group may have run, on its rank's device timeline; by its first operation. */
struct bounds {
    int64_t *over_ns;    /* owned; when it ended, or when the next of its stream began; TIME_UNKNOWN */
    unsigned char *told; /* owned; it is when it ended */
};

static int bounds_init(struct bounds *bounds, const struct job *job)
{
    size_t count = job->operation_count;
    *bounds =
        (struct bounds){.over_ns = array_new(count, sizeof *bounds->over_ns), .told = array_new(count, 1)};
    if (!bounds->over_ns || !bounds->told)
        return -1;
    for (size_t i = 0; i < count; i++)
        bounds->over_ns[i] = TIME_UNKNOWN;
    for (size_t i = 0; i < count; i++) {
        int32_t group = job->operations[i].group;
        if (job->operations[i].end_ns == TIME_UNKNOWN)
            continue;
        bounds->told[group] = 1;
        if (job->drafts.free_ns[i] > bounds->over_ns[group])
            bounds->over_ns[group] = job->drafts.free_ns[i];
    }
    for (size_t i = 0; i < count; i++) {
        const struct job_operation *operation = &job->operations[i];
        int32_t before = operation->previous < 0 ? -1 : job->operations[operation->previous].group;
        if (before >= 0 && operation->group == (int32_t)i && !bounds->told[before])
            bounds->over_ns[before] = operation->start_ns;
    }
    return 0;
}

static void bounds_release(struct bounds *bounds)
{
    free(bounds->over_ns);
    free(bounds->told);
}

/* In common time. */
static int64_t bound_of(const struct job *job, const struct bounds *bounds,
                        const struct job_operation *operation)
{
    int64_t over_ns = bounds->over_ns[operation->group];
    return over_ns == TIME_UNKNOWN ? TIME_UNKNOWN : job_common_time(job, operation, over_ns);
}

/* When the operation of an instance was over, in common time, at the latest; TIME_UNKNOWN. */
static int64_t instance_over(const struct job *job, const struct bounds *bounds,
                             const struct job_instance *instance)
{
    int64_t least_ns = TIME_UNKNOWN;
    int is_pair = instance->function == FUNCTION_SEND;
    if ((!is_pair && !function_is_full_exchange(instance->function)) ||
        instance->members < instance->expected)
        return TIME_UNKNOWN;
    for (int32_t i = 0; i < instance->members; i++) {
        int64_t over_ns = bound_of(job, bounds, job_member(job, instance, i));
        if (over_ns != TIME_UNKNOWN && (least_ns == TIME_UNKNOWN || over_ns < least_ns))
            least_ns = over_ns;
    }
    return least_ns;
}

/* The latest of what a group's operations were over at, on the timeline of its rank; TIME_UNKNOWN. */
static int64_t group_over(const struct job *job, const struct bounds *bounds, const int64_t *instances_over,
                          size_t head)
{
    const struct job_operation *first = &job->operations[head];
    int64_t last_ns = TIME_UNKNOWN, bound_ns = bounds->over_ns[head];
    int64_t common_ns = job_common_time(job, first, bound_ns);
    for (size_t i = head; i < job->operation_count && job->operations[i].group == first->group; i++) {
        const struct job_operation *operation = &job->operations[i];
        int64_t over_ns = operation->instance < 0 ? TIME_UNKNOWN : instances_over[operation->instance];
        if (operation->start_ns == TIME_UNKNOWN || over_ns == TIME_UNKNOWN)
            return TIME_UNKNOWN;
        last_ns = last_ns == TIME_UNKNOWN || over_ns > last_ns ? over_ns : last_ns;
    }
    if (common_ns == TIME_UNKNOWN || last_ns == TIME_UNKNOWN)
        return TIME_UNKNOWN;
    int64_t end_ns = bound_ns + (last_ns - common_ns);
    end_ns = end_ns < bound_ns ? end_ns : bound_ns;
    return end_ns > first->start_ns ? end_ns : first->start_ns;
}

static void end_group(struct job *job, size_t head, int64_t end_ns)
{
    int32_t group = job->operations[head].group;
    for (size_t i = head; i < job->operation_count && job->operations[i].group == group; i++) {
        job->operations[i].end_ns = job->drafts.free_ns[i] = end_ns;
        job->operations[i].ends = ENDS_ESTIMATED;
    }
}

/* Whether most kernels note no end: `told` is of their first operations. */
static int are_most_untold(const struct job *job, const struct bounds *bounds)
{
    size_t kernels = 0, untold = 0;
    for (size_t i = 0; i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->group != (int32_t)i || operation->start_ns == TIME_UNKNOWN)
            continue;
        kernels++;
        untold += !bounds->told[i] && operation->incomplete;
    }
    return untold * 2 > kernels;
}

int job_estimate_ends(struct job *job, int *estimated)
{
    struct bounds bounds;
    int64_t *over_ns = array_new(job->instance_count, sizeof *over_ns);
    int failed = bounds_init(&bounds, job) || !over_ns;
    *estimated = 0;
    int is_wanted = !failed && are_most_untold(job, &bounds);
    for (size_t i = 0; is_wanted && i < job->instance_count; i++)
        over_ns[i] = instance_over(job, &bounds, &job->instances[i]);
    for (size_t i = 0; is_wanted && i < job->operation_count; i++) {
        const struct job_operation *operation = &job->operations[i];
        if (operation->group != (int32_t)i || bounds.told[i] || !operation->incomplete ||
            bounds.over_ns[i] == TIME_UNKNOWN)
            continue;
        int64_t end_ns = group_over(job, &bounds, over_ns, i);
        if (end_ns == TIME_UNKNOWN)
            continue;
        end_group(job, i, end_ns);
        *estimated = 1;
    }
    bounds_release(&bounds);
    free(over_ns);
    return failed ? -1 : 0;
}
