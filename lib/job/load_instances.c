#include "job/load_instances.h"

#include "base/array.h"
#include "model/block_read.h"
#include "store/scan.h"
#include "store/tables.h"

/* The instances of a run, by ascending id: each block holds some of one communicator. */

static const int columns[] = {INSTANCE_ORDINAL, INSTANCE_KIND,     INSTANCE_FUNCTION, INSTANCE_SEQUENCE,
                              INSTANCE_SENDER,  INSTANCE_RECEIVER, INSTANCE_MEMBERS,  INSTANCE_EXPECTED,
                              INSTANCE_TAG,     INSTANCE_STEP,     INSTANCE_TRANSFER};

static struct job_instance make_instance(const struct loader *loader, int32_t communicator,
                                         const struct block_scan *scan, size_t row)
{
    const struct job *job = loader->job;
    const struct block_reader *rows = &scan->rows;
    int64_t sender = block_value(rows, INSTANCE_SENDER, row, -1);
    int64_t receiver = block_value(rows, INSTANCE_RECEIVER, row, -1);
    int64_t function = block_value(rows, INSTANCE_FUNCTION, row, 0);
    return (struct job_instance){.sequence = block_value(rows, INSTANCE_SEQUENCE, row, 0),
                                 .transfer_ns = TIME_UNKNOWN,
                                 .communicator = communicator,
                                 .sender = job_rank_in(job, communicator, sender),
                                 .receiver = job_rank_in(job, communicator, receiver),
                                 .step = loader_step(loader, block_value(rows, INSTANCE_STEP, row, -1)),
                                 .tag = -1,
                                 .members = (int32_t)block_value(rows, INSTANCE_MEMBERS, row, 0),
                                 .expected = (int32_t)block_value(rows, INSTANCE_EXPECTED, row, 0),
                                 .kind = (unsigned)block_value(rows, INSTANCE_KIND, row, 0) & 3,
                                 .function = function >= 0 && function < FUNCTION_COUNT ? (unsigned)function
                                                                                        : FUNCTION_UNKNOWN};
}

static int take_block(struct loader *loader, struct block_scan *scan, struct error *error)
{
    struct job *job = loader->job;
    const struct block_reader *rows = &scan->rows;
    int64_t communicator = loader_communicator(loader, scan->owner_id);
    if (communicator < 0)
        return 0;
    if (scan_columns(scan, columns, sizeof columns / sizeof *columns, error))
        return -1;
    size_t count = job->instance_count + rows->count;
    if (array_reserve((void **)&job->instances, &loader->instance_capacity, count, sizeof *job->instances))
        return error_no_memory(error);
    for (size_t row = 0; row < rows->count; row++) {
        if (loader_leaves_out(loader, block_value(rows, INSTANCE_STEP, row, -1)))
            continue;
        if (id_runs_add(&loader->instance_ids, scan->block_id + rows->values[INSTANCE_ORDINAL][row]))
            return error_no_memory(error);
        struct job_instance *instance = &job->instances[job->instance_count++];
        *instance = make_instance(loader, (int32_t)communicator, scan, row);
        job->has_durations |= !rows->absent[INSTANCE_TRANSFER][row];
        int32_t tag;
        if (loader_tag(loader, block_text(rows, INSTANCE_TAG, row), &tag, error))
            return -1;
        instance->tag = tag;
    }
    return 0;
}

int loader_read_instances(struct loader *loader, struct error *error)
{
    struct block_scan scan;
    int more = scan_instances(&scan, loader->job->store, loader->job->run_id, error) ? -1 : 1;
    while (more == 1 && (more = scan_next(&scan, error)) == 1)
        if (take_block(loader, &scan, error))
            more = -1;
    scan_release(&scan);
    return more;
}
