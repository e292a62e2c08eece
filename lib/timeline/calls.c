#include "timeline/calls.h"

#include "base/array.h"
#include "base/ids.h"
#include "store/operations.h"

#include <stdlib.h>

static int64_t first_known(int64_t time_ns, int64_t otherwise_ns)
{
    return time_ns != TIME_UNKNOWN ? time_ns : otherwise_ns;
}

static struct call call_of(const struct operation *recorded)
{
    return (struct call){
        .begin_ns = first_known(recorded->api.begin_ns, recorded->enqueue.begin_ns),
        .end_ns = first_known(recorded->enqueue.end_ns, recorded->api.end_ns),
        .stream = recorded->stream,
    };
}

struct keyed *operations_by_id(const struct job *job)
{
    struct keyed *ids = array_new(job->operation_count, sizeof *ids);
    struct keyed *scratch = array_new(job->operation_count, sizeof *scratch);
    for (size_t i = 0; ids && scratch && i < job->operation_count; i++)
        ids[i] = (struct keyed){job_operation_id(job, i), (int32_t)i};
    if (ids && scratch)
        keyed_sort(ids, scratch, job->operation_count);
    if (!scratch) {
        free(ids);
        ids = NULL;
    }
    free(scratch);
    return ids;
}

static int read_all(const struct job *job, const struct keyed *ids, struct call *calls, struct error *error)
{
    struct operation_cursor *cursor = operation_cursor_open(job->store, job->run_id, error);
    struct stored_operation stored;
    size_t near = 0;
    int more = cursor ? 1 : -1;
    while (more == 1 && (more = operation_cursor_next(cursor, &stored, error)) == 1) {
        int64_t at = find_id(ids, job->operation_count, sizeof *ids, near, stored.id);
        if (at < 0)
            continue;
        calls[ids[at].index] = call_of(&stored.operation);
        near = (size_t)at + 1;
    }
    operation_cursor_close(cursor);
    return more;
}

int calls_read(const struct job *job, struct call **calls, struct error *error)
{
    struct keyed *ids = operations_by_id(job);
    *calls = array_new(job->operation_count, sizeof **calls);
    int failed = !ids || !*calls ? error_no_memory(error) : read_all(job, ids, *calls, error);
    free(ids);
    if (!failed)
        return 0;
    free(*calls);
    *calls = NULL;
    return -1;
}
