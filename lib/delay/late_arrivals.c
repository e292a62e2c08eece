#include "delay/late_arrivals.h"

#include "base/array.h"
#include "base/ids.h"
#include "job/loader.h"
#include "model/event.h"
#include "store/scan.h"

#include <stdlib.h>

/* What the join says of an instance whose waiting can be read. */
struct meeting {
    int64_t id;
    int64_t shortest_ns;
    int32_t last; /* job rank; -1: cannot be read */
};

struct waits {
    struct loader loader;
    struct delay *delays;
    struct meeting *meetings; /* owned, by id */
    size_t count;
    size_t capacity;
    size_t latest; /* found last: the next operation's is as a rule the next */
};

static int add_meetings(struct waits *waits, struct block_scan *scan, struct error *error)
{
    static const int columns[] = {INSTANCE_ORDINAL, INSTANCE_TRANSFER, INSTANCE_LAST_MEMBER};
    const struct block_reader *rows = &scan->rows;
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error))
        return -1;
    if (array_reserve((void **)&waits->meetings, &waits->capacity, waits->count + rows->count,
                      sizeof *waits->meetings))
        return error_no_memory(error);
    for (size_t row = 0; row < rows->count; row++) {
        int64_t last = rows->absent[INSTANCE_LAST_MEMBER][row]
                           ? -1
                           : loader_member(&waits->loader, rows->values[INSTANCE_LAST_MEMBER][row]);
        waits->meetings[waits->count++] =
            (struct meeting){.id = scan->block_id + rows->values[INSTANCE_ORDINAL][row],
                             .shortest_ns = rows->values[INSTANCE_TRANSFER][row],
                             .last = last < 0 ? -1 : (int32_t)(last >> 32)};
    }
    return 0;
}

static const struct meeting *find_meeting(struct waits *waits, int64_t id)
{
    int64_t at = find_id(waits->meetings, waits->count, sizeof *waits->meetings, waits->latest, id);
    if (at < 0)
        return NULL;
    waits->latest = (size_t)at;
    return &waits->meetings[at];
}

static void take_operation(struct waits *waits, int32_t rank, int64_t duration_ns,
                           const struct meeting *meeting)
{
    waits->delays[rank].instances++;
    if (meeting->last == rank) {
        waits->delays[rank].times_last++;
        return;
    }
    waits->delays[meeting->last].unexplained_ns += duration_ns - meeting->shortest_ns;
}

static int says_when(const struct block_scan *scan, size_t row)
{
    static const int columns[] = {OPERATION_DEVICE_BEGIN, OPERATION_GPU_BEGIN, OPERATION_KERNEL_CHANNELS};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (!scan->rows.absent[columns[i]][row])
            return 1;
    return 0;
}

/* 1: go on; 0: an operation says when it ran. */
static int take_block(struct waits *waits, struct job *job, struct block_scan *scan, struct error *error)
{
    static const int columns[] = {OPERATION_DEVICE_BEGIN, OPERATION_GPU_BEGIN, OPERATION_KERNEL_CHANNELS,
                                  OPERATION_DURATION};
    static const int joined[] = {JOINED_INSTANCE};
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error) ||
        scan_joined_columns(scan, joined, 1, error))
        return -1;
    int64_t member = loader_member(&waits->loader, scan->owner_id);
    for (size_t row = 0; member >= 0 && row < scan->rows.count; row++) {
        if (says_when(scan, row))
            return 0;
        const struct meeting *meeting =
            find_meeting(waits, block_value(&scan->joined, JOINED_INSTANCE, row, 0));
        if (!meeting)
            continue;
        job->ranks[member >> 32].count++;
        if (meeting->last >= 0)
            take_operation(waits, (int32_t)(member >> 32),
                           block_value(&scan->rows, OPERATION_DURATION, row, meeting->shortest_ns), meeting);
    }
    return 1;
}

static int take_meetings(struct waits *waits, const struct job *job, struct error *error)
{
    struct block_scan scan;
    int more = scan_instances(&scan, job->store, job->run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1)
        if (add_meetings(waits, &scan, error))
            more = -1;
    scan_release(&scan);
    return more;
}

/* 1: all of them; 0: some say when they ran. */
static int take_operations(struct waits *waits, struct job *job, struct error *error)
{
    struct block_scan scan;
    int more = scan_operations(&scan, job->store, job->run_id, error) ? -1 : 1, untimed = 1;
    while (untimed == 1 && more == 1 && (more = scan_next(&scan, error)) == 1)
        untimed = take_block(waits, job, &scan, error);
    scan_release(&scan);
    return more < 0 ? -1 : untimed;
}

static int measure(struct waits *waits, struct job *job, struct error *error)
{
    waits->delays = array_new(job->rank_count, sizeof *waits->delays);
    if (!waits->delays)
        return error_no_memory(error);
    for (size_t i = 0; i < job->rank_count; i++)
        waits->delays[i].inherited_from = -1;
    if (loader_init(&waits->loader, job, error))
        return -1;
    /* Network steps may say when operations ended. */
    if (waits->loader.has_traffic)
        return 0;
    return take_meetings(waits, job, error) ? -1 : take_operations(waits, job, error);
}

int waits_measure(struct job *job, struct delay **delays, struct error *error)
{
    struct waits waits = {.count = 0};
    int outcome = measure(&waits, job, error);
    loader_release(&waits.loader);
    free(waits.meetings);
    if (outcome == 1) {
        *delays = waits.delays;
        return 1;
    }
    free(waits.delays);
    /* Who goes on to job_load_rest has them counted anew. */
    for (size_t i = 0; i < job->rank_count; i++)
        job->ranks[i].count = 0;
    return outcome;
}
