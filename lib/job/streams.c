#include "job/streams.h"

#include "base/array.h"
#include "base/map.h"
#include "job/excerpts.h"
#include "job/groups.h"

#include <stdlib.h>

struct stream_end {
    uint64_t stream;
    int32_t newest; /* of the group under way, the one that was issued last */
    int32_t last;   /* and the one that ends last */
    int32_t before; /* of the group before it, likewise */
};

/* The stream that the trace names; 0: it names none. */
static uint64_t named_stream(const struct job *job, size_t at)
{
    return job->drafts.streams ? job->drafts.stream_ids[job->drafts.streams[at]] : 0;
}

/*
 * Where a trace names no streams, operations of different communicators that overlap on the device cannot
 * share one: then each communicator counts as a stream. A few pairs in so many may seem to overlap by the
 * rough times of hosts.
 */
enum { MOST_OVERLAPS = 10 };

static int communicators_overlap(const struct job *job, const struct job_rank *rank)
{
    size_t overlaps = 0, pairs = 0;
    for (size_t i = 1; i < rank->count; i++) {
        const struct job_operation *before = &job->operations[rank->first + i - 1];
        const struct job_operation *after = before + 1;
        if (named_stream(job, rank->first + i) || before->communicator == after->communicator ||
            before->end_ns == TIME_UNKNOWN || after->start_ns == TIME_UNKNOWN ||
            before->start_ns == TIME_UNKNOWN)
            continue;
        pairs++;
        overlaps += after->start_ns < before->start_ns + (before->end_ns - before->start_ns) / 2;
    }
    return overlaps * MOST_OVERLAPS > pairs;
}

static uint64_t stream_of(const struct job *job, size_t at, int by_communicator)
{
    if (named_stream(job, at))
        return named_stream(job, at);
    return by_communicator ? (uint64_t)job->operations[at].communicator + 1 : 0;
}

static void chain_operation(struct job *job, struct stream_end *end, int32_t at)
{
    struct job_operation *operation = &job->operations[at];
    if (end->newest >= 0 && job_same_group(job, (size_t)end->newest, (size_t)at)) {
        operation->group = job->operations[end->last].group;
        if (job->drafts.free_ns[at] > job->drafts.free_ns[end->last])
            end->last = at;
    } else {
        operation->group = at;
        end->before = end->last;
        end->last = at;
    }
    end->newest = at;
    operation->previous = end->before;
}

/* The streams of a rank, as they come. */
struct streams {
    struct stream_end *ends; /* owned */
    size_t count;
    size_t capacity;
    struct map numbers; /* stream -> its index in ends */
};

/* NULL when memory is out. */
static struct stream_end *end_of(struct streams *streams, uint64_t stream)
{
    int added;
    int64_t *number = map_put(&streams->numbers, (struct map_key){{stream}}, (int64_t)streams->count, &added);
    if (!number)
        return NULL;
    if (!added)
        return &streams->ends[*number];
    if (array_reserve((void **)&streams->ends, &streams->capacity, streams->count + 1, sizeof *streams->ends))
        return NULL;
    streams->ends[streams->count] = (struct stream_end){stream, -1, -1, -1};
    return &streams->ends[streams->count++];
}

/* Across a break nothing comes before anything. */
static void cut_at_break(const struct job *job, int32_t step, struct streams *streams, size_t *excerpt)
{
    size_t here = step < 0 || !job->excerpt_count ? *excerpt : job_excerpt_of(job, step);
    for (size_t i = 0; here != *excerpt && i < streams->count; i++)
        streams->ends[i] = (struct stream_end){streams->ends[i].stream, -1, -1, -1};
    *excerpt = here;
}

int job_chain_rank(struct job *job, struct job_rank *rank)
{
    struct streams streams = {0};
    size_t excerpt = 0;
    struct stream_end *end = NULL;
    int by_communicator = communicators_overlap(job, rank), failed = 0;
    map_init(&streams.numbers);
    for (size_t i = rank->first; !failed && i < rank->first + rank->count; i++) {
        uint64_t stream = stream_of(job, i, by_communicator);
        cut_at_break(job, job->operations[i].step, &streams, &excerpt);
        if (!end || end->stream != stream)
            end = end_of(&streams, stream);
        failed = !end;
        if (!failed)
            chain_operation(job, end, (int32_t)i);
    }
    rank->has_streams = streams.count > 1;
    map_release(&streams.numbers);
    free(streams.ends);
    return failed ? -1 : 0;
}
