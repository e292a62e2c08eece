#include "store/views.h"

#include "base/buffer.h"
#include "store/internal.h"

/* Names, types, units and meaning of all columns; a test holds them against the store. */
#define COLUMN(called, is, in, says)                                        \
    {                                                                       \
        .name = (called), .type = (is), .unit = (in), .description = (says) \
    }

static const struct column run_columns[] = {
    COLUMN("run_id", CELL_INTEGER, NULL, "number of the run"),
    COLUMN("name", CELL_TEXT, NULL, "name of the run, as in ncclprof info --runs"),
    COLUMN("rank_count", CELL_INTEGER, NULL, "ranks with at least one record"),
    COLUMN("expected_ranks", CELL_INTEGER, NULL, "number of ranks, as far as the communicators show"),
    COLUMN("first_step", CELL_INTEGER, NULL, "first recorded training step"),
    COLUMN("step_count", CELL_INTEGER, NULL,
           "training steps, including those before the first recorded one; 0: none were detected"),
    COLUMN("step_base", CELL_INTEGER, NULL, "number that the program gives to step 0"),
    COLUMN("step_source", CELL_TEXT, NULL, "source of the steps: tags, period, told or none"),
    COLUMN("global_ranks", CELL_INTEGER, NULL, "1: the global ranks are known"),
};

static const struct column file_columns[] = {
    COLUMN("file_id", CELL_INTEGER, NULL, "number of the file"),
    COLUMN("path", CELL_TEXT, NULL, "absolute path; - for standard input"),
    COLUMN("dialect", CELL_TEXT, NULL, "format and version of the file"),
    COLUMN("status", CELL_TEXT, NULL, "ingested, or partial (read only in part)"),
    COLUMN("bytes", CELL_INTEGER, "bytes", "size on disk"),
    COLUMN("unpacked_bytes", CELL_INTEGER, "bytes", "size after decompression"),
    COLUMN("events", CELL_INTEGER, NULL, "events read"),
    COLUMN("skipped", CELL_INTEGER, NULL, "lines without an event"),
    COLUMN("modified_ns", CELL_INTEGER, "ns", "time of the last modification, since 1970"),
};

static const struct column v_rank_columns[] = {
    COLUMN("run_id", CELL_INTEGER, NULL, "run"),
    COLUMN("rank", CELL_INTEGER, NULL, "global rank"),
    COLUMN("rank_name", CELL_TEXT, NULL, "name of the rank: its number, or host and process"),
    COLUMN("process_id", CELL_INTEGER, NULL,
           "process that recorded the rank; NULL: known only from its peers"),
    COLUMN("host", CELL_TEXT, NULL, "host"),
    COLUMN("pid", CELL_INTEGER, NULL, "process id of the operating system"),
    COLUMN("file_set", CELL_TEXT, NULL, "directory of its files"),
    COLUMN("local_rank", CELL_INTEGER, NULL, "rank on its host, as the launcher counts"),
    COLUMN("gpu", CELL_INTEGER, NULL, "CUDA device number of its GPU in the process"),
    COLUMN("gpu_bus_id", CELL_TEXT, NULL, "PCI address of its GPU"),
    COLUMN("gpu_serial", CELL_TEXT, NULL, "serial number of its GPU"),
    COLUMN("vm", CELL_TEXT, NULL, "virtual machine"),
    COLUMN("nic", CELL_TEXT, NULL, "network card"),
    COLUMN("framework_name", CELL_TEXT, NULL, "name of the rank in the framework"),
    COLUMN("job_rank_id", CELL_INTEGER, NULL, "number of the rank, unique across runs"),
};

static const struct column v_rank_fact_columns[] = {
    COLUMN("job_rank_id", CELL_INTEGER, NULL, "number of the rank, unique across runs"),
    COLUMN("run_id", CELL_INTEGER, NULL, "run"),
    COLUMN("rank", CELL_INTEGER, NULL, "global rank"),
    COLUMN("process_id", CELL_INTEGER, NULL, "process that the fact is about"),
    COLUMN("process_fact_id", CELL_INTEGER, NULL, "number of the fact"),
    COLUMN("of_process", CELL_INTEGER, NULL,
           "0: about the rank alone; 1: about its process; 2: from another recorder"),
    COLUMN("told_rank", CELL_INTEGER, NULL, "global rank according to the file"),
    COLUMN("world_size", CELL_INTEGER, NULL, "ranks of the job according to the file"),
    COLUMN("local_rank", CELL_INTEGER, NULL, "rank on its host"),
    COLUMN("gpu", CELL_INTEGER, NULL, "CUDA device number of its GPU in the process"),
    COLUMN("gpu_bus_id", CELL_TEXT, NULL, "PCI address of its GPU"),
    COLUMN("gpu_serial", CELL_TEXT, NULL, "serial number of its GPU"),
    COLUMN("nic", CELL_TEXT, NULL, "network card"),
    COLUMN("host", CELL_TEXT, NULL, "host"),
    COLUMN("framework_name", CELL_TEXT, NULL, "name of the rank in the framework"),
    COLUMN("file_id", CELL_INTEGER, NULL, "file"),
};

static const struct column v_communicator_columns[] = {
    COLUMN("communicator_id", CELL_INTEGER, NULL, "number of the communicator"),
    COLUMN("run_id", CELL_INTEGER, NULL, "run"),
    COLUMN("communicator", CELL_TEXT, NULL, "label: name of the communicator, or its global ranks"),
    COLUMN("communicator_hash", CELL_TEXT, NULL, "NCCL's hash, decimal"),
    COLUMN("communicator_hash_hex", CELL_TEXT, NULL, "NCCL's hash, hexadecimal"),
    COLUMN("name", CELL_TEXT, NULL, "name of the communicator in the trace"),
    COLUMN("size", CELL_INTEGER, NULL, "ranks in it"),
    COLUMN("size_is_known", CELL_INTEGER, NULL, "1: a trace contains the size; 0: the size is a lower bound"),
    COLUMN("ranks_seen", CELL_INTEGER, NULL, "ranks in it with a record"),
    COLUMN("node_count", CELL_INTEGER, NULL, "number of hosts that it spans"),
    COLUMN("member_list", CELL_TEXT, NULL, "global ranks in it, in the order of the communicator, as JSON"),
    COLUMN("description", CELL_TEXT, NULL, "description by the framework"),
};

static const struct column v_operation_columns[] = {
    COLUMN("operation_id", CELL_INTEGER, NULL,
           "number of the operation: file number x 2^32 + position in the file"),
    COLUMN("instance_id", CELL_INTEGER, NULL,
           "instance that it is part of: the operation of the whole communicator"),
    COLUMN("run_id", CELL_INTEGER, NULL, "run"),
    COLUMN("rank", CELL_INTEGER, NULL, "global rank"),
    COLUMN("rank_name", CELL_TEXT, NULL, "name of the rank"),
    COLUMN("process_id", CELL_INTEGER, NULL, "process that recorded it"),
    COLUMN("communicator_id", CELL_INTEGER, NULL, "communicator"),
    COLUMN("communicator", CELL_TEXT, NULL, "label of the communicator"),
    COLUMN("communicator_hash", CELL_TEXT, NULL, "NCCL's hash of the communicator, decimal"),
    COLUMN("communicator_hash_hex", CELL_TEXT, NULL, "NCCL's hash of the communicator, hexadecimal"),
    COLUMN("communicator_rank", CELL_INTEGER, NULL, "rank in the communicator"),
    COLUMN("kind", CELL_TEXT, NULL, "collective, point-to-point or copy engine"),
    COLUMN("function", CELL_TEXT, NULL, "NCCL's function: AllReduce, Send ..."),
    COLUMN("sequence", CELL_INTEGER, NULL, "sequence number on its communicator, per function"),
    COLUMN("count", CELL_INTEGER, NULL, "number of elements, as passed to the call"),
    COLUMN("datatype", CELL_TEXT, NULL, "element type"),
    COLUMN("bytes", CELL_INTEGER, "bytes", "count x element size"),
    COLUMN("root", CELL_INTEGER, NULL, "root, as rank in the communicator"),
    COLUMN("root_rank", CELL_INTEGER, NULL, "root, as global rank"),
    COLUMN("peer", CELL_INTEGER, NULL, "peer, as rank in the communicator"),
    COLUMN("peer_rank", CELL_INTEGER, NULL, "peer, as global rank"),
    COLUMN("algorithm", CELL_TEXT, NULL, "NCCL's algorithm"),
    COLUMN("protocol", CELL_TEXT, NULL, "NCCL's protocol"),
    COLUMN("channels", CELL_INTEGER, NULL, "channels used"),
    COLUMN("stream", CELL_TEXT, NULL, "CUDA stream, hexadecimal"),
    COLUMN("tag", CELL_TEXT, NULL, "phase: user tag of the operation"),
    COLUMN("step", CELL_INTEGER, NULL, "training step"),
    COLUMN("enqueue_begin_us", CELL_REAL, "us",
           "time at which the host started to enqueue it, on the clock of its process"),
    COLUMN("enqueue_end_us", CELL_REAL, "us",
           "time at which the host had enqueued it, on the clock of its process"),
    COLUMN("device_begin_us", CELL_REAL, "us", "start on the device, as seen by the host"),
    COLUMN("device_end_us", CELL_REAL, "us", "end on the device, as seen by the host"),
    COLUMN("duration_us", CELL_REAL, "us", "duration on the device; on the clock of the GPU, if recorded"),
    COLUMN("initial_sync_us", CELL_REAL, "us", "first phase of its kernel: wait for the other ranks"),
    COLUMN("end_source", CELL_TEXT, NULL, "source of its end: kernel, proxy or host"),
    COLUMN("gpu_begin", CELL_TEXT, NULL, "GPU clock at its start, decimal"),
    COLUMN("gpu_end", CELL_TEXT, NULL, "GPU clock at its end, decimal"),
    COLUMN("unfinished", CELL_INTEGER, NULL, "1: it did not end within the trace"),
    COLUMN("graph_captured", CELL_INTEGER, NULL, "1: captured in a CUDA graph"),
    COLUMN("symmetric", CELL_INTEGER, NULL, "1: a symmetric kernel"),
    COLUMN("source", CELL_TEXT, NULL, "line of the program that called it"),
    COLUMN("file_id", CELL_INTEGER, NULL, "file"),
    COLUMN("byte_offset", CELL_INTEGER, "bytes", "byte offset in the unpacked file"),
};

static const struct column v_instance_columns[] = {
    COLUMN("instance_id", CELL_INTEGER, NULL, "number of the instance"),
    COLUMN("run_id", CELL_INTEGER, NULL, "run"),
    COLUMN("communicator_id", CELL_INTEGER, NULL, "communicator"),
    COLUMN("communicator", CELL_TEXT, NULL, "label of the communicator"),
    COLUMN("ranks", CELL_INTEGER, NULL, "ranks of the communicator"),
    COLUMN("function", CELL_TEXT, NULL, "NCCL's function; Send for a send with its receive"),
    COLUMN("sequence", CELL_INTEGER, NULL, "sequence number on its communicator, per function"),
    COLUMN("sender", CELL_INTEGER, NULL, "for a send with its receive: rank in the communicator"),
    COLUMN("sender_rank", CELL_INTEGER, NULL, "for a send with its receive: global rank"),
    COLUMN("receiver", CELL_INTEGER, NULL, "for a send with its receive: rank in the communicator"),
    COLUMN("receiver_rank", CELL_INTEGER, NULL, "for a send with its receive: global rank"),
    COLUMN("tag", CELL_TEXT, NULL, "phase"),
    COLUMN("step", CELL_INTEGER, NULL, "training step"),
    COLUMN("size_bytes", CELL_INTEGER, "bytes", "message size as defined by nccl-tests"),
    COLUMN("members", CELL_INTEGER, NULL, "ranks with a record of it"),
    COLUMN("expected", CELL_INTEGER, NULL, "ranks that should have a record of it"),
    COLUMN("transfer_us", CELL_REAL, "us", "transfer time: shortest duration over its ranks"),
    COLUMN("effective_us", CELL_REAL, "us", "longest duration over its ranks, including wait time"),
    COLUMN("margin_us", CELL_REAL, "us", "time between the arrivals of the last rank and the last but one"),
    COLUMN("last_rank", CELL_TEXT, NULL, "name of the rank that arrived last"),
    COLUMN("transfer_algbw_gbs", CELL_REAL, "GB/s", "size / transfer_us, 1e9 bytes per second"),
    COLUMN("transfer_busbw_gbs", CELL_REAL, "GB/s", "bus bandwidth by transfer_us, as in nccl-tests"),
    COLUMN("effective_busbw_gbs", CELL_REAL, "GB/s", "bus bandwidth by effective_us, as in nccl-tests"),
};

static const struct column v_proxy_operation_columns[] = {
    COLUMN("proxy_operation_id", CELL_INTEGER, NULL, "number of the proxy operation"),
    COLUMN("operation_id", CELL_INTEGER, NULL, "operation that it belongs to; NULL: unknown"),
    COLUMN("run_id", CELL_INTEGER, NULL, "run"),
    COLUMN("rank", CELL_INTEGER, NULL, "global rank"),
    COLUMN("rank_name", CELL_TEXT, NULL, "name of the rank"),
    COLUMN("communicator_id", CELL_INTEGER, NULL, "communicator"),
    COLUMN("communicator", CELL_TEXT, NULL, "label of the communicator"),
    COLUMN("communicator_rank", CELL_INTEGER, NULL, "rank in the communicator"),
    COLUMN("direction", CELL_TEXT, NULL, "send or recv"),
    COLUMN("channel", CELL_INTEGER, NULL, "channel"),
    COLUMN("peer", CELL_INTEGER, NULL, "peer, as rank in the communicator"),
    COLUMN("peer_rank", CELL_INTEGER, NULL, "peer, as global rank"),
    COLUMN("function", CELL_TEXT, NULL, "NCCL's function of the operation"),
    COLUMN("tag", CELL_TEXT, NULL, "phase of the operation"),
    COLUMN("training_step", CELL_INTEGER, NULL, "training step of the operation"),
    COLUMN("steps", CELL_INTEGER, NULL, "network steps"),
    COLUMN("steps_recorded", CELL_INTEGER, NULL, "recorded network steps"),
    COLUMN("chunk_bytes", CELL_INTEGER, "bytes", "size of a network step"),
    COLUMN("transferred_bytes", CELL_INTEGER, "bytes", "bytes transferred in total"),
    COLUMN("schedule_begin_us", CELL_REAL, "us",
           "time at which it was scheduled, on the clock of its process"),
    COLUMN("progress_begin_us", CELL_REAL, "us",
           "time at which work on it started, on the clock of its process"),
    COLUMN("progress_end_us", CELL_REAL, "us", "time at which it was done, on the clock of its process"),
    COLUMN("continued", CELL_INTEGER, NULL, "1: it continues the network steps of another record"),
    COLUMN("file_id", CELL_INTEGER, NULL, "file"),
    COLUMN("byte_offset", CELL_INTEGER, "bytes", "byte offset in the unpacked file"),
};

static const struct column proxy_step_columns[] = {
    COLUMN("proxy_operation_id", CELL_INTEGER, NULL, "proxy operation"),
    COLUMN("operation_id", CELL_INTEGER, NULL, "operation that it belongs to"),
    COLUMN("member_id", CELL_INTEGER, NULL, "rank of a communicator"),
    COLUMN("direction", CELL_INTEGER, NULL, "0 send, 1 receive"),
    COLUMN("channel", CELL_INTEGER, NULL, "channel"),
    COLUMN("peer", CELL_INTEGER, NULL, "peer, as rank in the communicator"),
    COLUMN("step", CELL_INTEGER, NULL, "number of the network step"),
    COLUMN("buffer_begin_ns", CELL_INTEGER, "ns", "start of the wait for a free buffer"),
    COLUMN("buffer_end_ns", CELL_INTEGER, "ns", "end of the wait for a free buffer"),
    COLUMN("buffer_us", CELL_REAL, "us", "duration of the wait for a free buffer"),
    COLUMN("gpu_begin_ns", CELL_INTEGER, "ns", "start of the wait for its own GPU"),
    COLUMN("gpu_end_ns", CELL_INTEGER, "ns", "end of the wait for its own GPU"),
    COLUMN("gpu_us", CELL_REAL, "us", "duration of the wait for its own GPU"),
    COLUMN("peer_begin_ns", CELL_INTEGER, "ns", "start of the wait for the receiver's credit"),
    COLUMN("peer_end_ns", CELL_INTEGER, "ns", "end of the wait for the receiver's credit"),
    COLUMN("peer_us", CELL_REAL, "us", "duration of the wait for the receiver's credit"),
    COLUMN("network_begin_ns", CELL_INTEGER, "ns", "start of the wait for the network"),
    COLUMN("network_end_ns", CELL_INTEGER, "ns", "end of the wait for the network"),
    COLUMN("network_us", CELL_REAL, "us", "duration of the wait for the network"),
    COLUMN("flush_begin_ns", CELL_INTEGER, "ns", "start of the wait for the receiver's GPU to see the data"),
    COLUMN("flush_end_ns", CELL_INTEGER, "ns", "end of the wait for the receiver's GPU to see the data"),
    COLUMN("flush_us", CELL_REAL, "us", "duration of the wait for the receiver's GPU to see the data"),
};

static const struct column v_tag_columns[] = {
    COLUMN("tag_mark_id", CELL_INTEGER, NULL, "number of the mark"),
    COLUMN("process_id", CELL_INTEGER, NULL, "process"),
    COLUMN("communicator_id", CELL_INTEGER, NULL, "communicator; NULL: all communicators of the process"),
    COLUMN("communicator_rank", CELL_INTEGER, NULL, "rank in the communicator"),
    COLUMN("rank", CELL_INTEGER, NULL, "global rank"),
    COLUMN("tag", CELL_TEXT, NULL, "text"),
    COLUMN("at_us", CELL_REAL, "us", "time, on the clock of the process"),
    COLUMN("depth", CELL_INTEGER, NULL, "number of open tags that enclose it"),
    COLUMN("is_end", CELL_INTEGER, NULL, "1: end of the tag"),
    COLUMN("file_id", CELL_INTEGER, NULL, "file"),
};

static const struct column v_call_columns[] = {
    COLUMN("call_description_id", CELL_INTEGER, NULL, "number of the description"),
    COLUMN("run_id", CELL_INTEGER, NULL, "run"),
    COLUMN("rank", CELL_INTEGER, NULL, "global rank"),
    COLUMN("rank_name", CELL_TEXT, NULL, "name of the rank"),
    COLUMN("said_rank", CELL_INTEGER, NULL, "global rank according to the program"),
    COLUMN("name", CELL_TEXT, NULL, "name of the call in torch.distributed"),
    COLUMN("source", CELL_TEXT, NULL, "line of the program"),
    COLUMN("message_bytes", CELL_INTEGER, "bytes",
           "message size as defined by the description: without data that stays on the rank"),
    COLUMN("device", CELL_INTEGER, NULL, "CUDA device number of the GPU in the process"),
    COLUMN("gpu_serial", CELL_TEXT, NULL, "serial number of the GPU"),
    COLUMN("vm", CELL_TEXT, NULL, "virtual machine"),
    COLUMN("group_ranks", CELL_TEXT, NULL, "global ranks of the group, as JSON; NULL: all"),
    COLUMN("peer_rank", CELL_INTEGER, NULL, "peer, as global rank"),
    COLUMN("root_rank", CELL_INTEGER, NULL, "root, as global rank"),
    COLUMN("correlation_id", CELL_TEXT, NULL, "the same for all records of one call"),
    COLUMN("said_s", CELL_REAL, "s", "time at which it was printed, since 1970"),
    COLUMN("at_us", CELL_REAL, "us", "time at which it was marked, on the clock of the process"),
    COLUMN("process_id", CELL_INTEGER, NULL, "process"),
    COLUMN("operation_id", CELL_INTEGER, NULL, "operation that it describes"),
    COLUMN("reason", CELL_TEXT, NULL, "why there is no such operation"),
    COLUMN("file_id", CELL_INTEGER, NULL, "file"),
    COLUMN("byte_offset", CELL_INTEGER, "bytes", "byte offset in the unpacked file"),
};

static const struct column v_sample_columns[] = {
    COLUMN("sample_id", CELL_INTEGER, NULL, "number of the sample"),
    COLUMN("time", CELL_TEXT, NULL, "time at which the file was written, UTC"),
    COLUMN("job", CELL_TEXT, NULL, "job number of the scheduler"),
    COLUMN("node", CELL_TEXT, NULL, "host"),
    COLUMN("gpu", CELL_TEXT, NULL, "GPU"),
    COLUMN("communicator", CELL_TEXT, NULL, "name of the communicator"),
    COLUMN("node_count", CELL_INTEGER, NULL, "hosts of the communicator"),
    COLUMN("rank_count", CELL_INTEGER, NULL, "ranks of the communicator"),
    COLUMN("function", CELL_TEXT, NULL, "NCCL's function"),
    COLUMN("message_size", CELL_TEXT, NULL, "range of sizes, as written in the file"),
    COLUMN("least_bytes", CELL_INTEGER, "bytes", "smallest size in the range"),
    COLUMN("algorithm", CELL_TEXT, NULL, "NCCL's algorithm"),
    COLUMN("protocol", CELL_TEXT, NULL, "NCCL's protocol"),
    COLUMN("busbw_gbs", CELL_REAL, "GB/s", "geometric mean of bus bandwidths, 1e9 bytes per second"),
    COLUMN("duration_us", CELL_REAL, "us", "mean of durations"),
    COLUMN("tag", CELL_TEXT, NULL, "user tag"),
    COLUMN("sequence", CELL_INTEGER, NULL, "number of the last operation"),
    COLUMN("file_id", CELL_INTEGER, NULL, "file"),
    COLUMN("byte_offset", CELL_INTEGER, "bytes", "byte offset in the unpacked file"),
};

static const struct column v_ledger_columns[] = {
    COLUMN("file_id", CELL_INTEGER, NULL, "file"),
    COLUMN("path", CELL_TEXT, NULL, "path of the file"),
    COLUMN("dialect", CELL_TEXT, NULL, "format and version of the file"),
    COLUMN("reason", CELL_TEXT, NULL, "why the input gave no event"),
    COLUMN("damage", CELL_INTEGER, NULL, "1: lost or unreadable; 0: understood, but not stored"),
    COLUMN("count", CELL_INTEGER, NULL, "number of occurrences"),
    COLUMN("first_offset", CELL_INTEGER, "bytes", "byte offset of the first occurrence in the unpacked file"),
    COLUMN("example", CELL_TEXT, NULL, "text of the first occurrence, shortened"),
};

static const struct column v_loss_columns[] = {
    COLUMN("loss_id", CELL_INTEGER, NULL, "number of the record"),
    COLUMN("process_id", CELL_INTEGER, NULL, "process"),
    COLUMN("what", CELL_TEXT, NULL, "kind of event"),
    COLUMN("events", CELL_INTEGER, NULL, "number of occurrences"),
    COLUMN("member_id", CELL_INTEGER, NULL, "rank of a communicator; NULL: the process as a whole"),
    COLUMN("is_total", CELL_INTEGER, NULL, "1: total so far; 0: since the previous record"),
    COLUMN("file_id", CELL_INTEGER, NULL, "file"),
};

static const struct column v_dropped_columns[] = {
    COLUMN("process_id", CELL_INTEGER, NULL, "process"),
    COLUMN("member_id", CELL_INTEGER, NULL, "rank of a communicator; NULL: the process as a whole"),
    COLUMN("what", CELL_TEXT, NULL, "kind of event"),
    COLUMN("events", CELL_INTEGER, NULL, "number of occurrences"),
};

#define MEMBERS_OF_RUN "SELECT member_id FROM member_join JOIN job_rank USING (job_rank_id) WHERE run_id = ?1"
#define OF_RUN "run_id = ?1"
#define OF_MEMBERS "member_id IN (" MEMBERS_OF_RUN ")"
#define OF_PROCESSES "process_id IN (SELECT process_id FROM job_rank WHERE run_id = ?1)"
#define OF_FILES "file_id IN (SELECT file_id FROM file_member WHERE member_id IN (" MEMBERS_OF_RUN "))"

/* Averages are of no run. */
#define OF_NONE "?1 IS NULL"

#define COLUMNS(name) \
    .columns = name##_columns, .column_count = sizeof name##_columns / sizeof *name##_columns

const struct view store_views[STORE_VIEWS] = {
    {.name = "run", .description = "a job", COLUMNS(run), .of_run = OF_RUN, .has_number = 1},
    {.name = "file",
     .description = "a file that was read",
     COLUMNS(file),
     .of_run = OF_FILES,
     .has_number = 1},
    {.name = "v_rank",
     .description = "a rank of a job",
     COLUMNS(v_rank),
     .of_run = OF_RUN,
     .keys = {"run_id, rank"}},
    {.name = "v_rank_fact",
     .description = "what a file states about the process of a rank",
     COLUMNS(v_rank_fact),
     .of_run = OF_RUN,
     .keys = {"run_id, rank"}},
    {.name = "v_communicator",
     .description = "a communicator",
     COLUMNS(v_communicator),
     .of_run = OF_RUN,
     .keys = {"run_id"},
     .has_number = 1},
    {.name = "v_operation",
     .description = "an operation as one rank recorded it",
     COLUMNS(v_operation),
     .of_run = OF_RUN,
     .keys = {"instance_id", "run_id, step, rank"},
     .has_number = 1},
    {.name = "v_instance",
     .description = "an operation of a whole communicator: a collective, or a send with its receive",
     COLUMNS(v_instance),
     .of_run = OF_RUN,
     .keys = {"run_id, step", "communicator_id"},
     .has_number = 1},
    {.name = "v_proxy_operation",
     .description = "work of the network thread of a rank for one channel of an operation",
     COLUMNS(v_proxy_operation),
     .of_run = OF_RUN,
     .keys = {"operation_id", "run_id, training_step, rank"},
     .has_number = 1},
    {.name = "proxy_step",
     .description = "a network step of a proxy operation",
     COLUMNS(proxy_step),
     .of_run = OF_MEMBERS,
     .keys = {"proxy_operation_id", "operation_id"},
     .is_network_steps = 1},
    {.name = "v_tag",
     .description = "a user tag as it was set",
     COLUMNS(v_tag),
     .of_run = OF_PROCESSES,
     .keys = {"process_id, at_us"},
     .has_number = 1},
    {.name = "v_call",
     .description = "a program's description of a call",
     COLUMNS(v_call),
     .of_run = OF_RUN,
     .keys = {"operation_id"},
     .has_number = 1},
    {.name = "v_sample",
     .description = "an average from Inspector's Prometheus text",
     COLUMNS(v_sample),
     .of_run = OF_NONE,
     .has_number = 1},
    {.name = "v_ledger",
     .description = "skipped input of a file, by reason",
     COLUMNS(v_ledger),
     .of_run = OF_FILES},
    {.name = "v_loss",
     .description = "events that a recorder reports as dropped",
     COLUMNS(v_loss),
     .of_run = OF_PROCESSES,
     .has_number = 1},
    {.name = "v_dropped", .description = "the same, added up", COLUMNS(v_dropped), .of_run = OF_PROCESSES},
};

struct statement *view_rows(struct store *store, const struct view *view, int64_t run_id, struct error *error)
{
    struct buffer sql = BUFFER_INIT;
    int failed = buffer_append_text(&sql, "SELECT ");
    for (size_t i = 0; i < view->column_count && !failed; i++)
        failed = buffer_printf(&sql, "%s\"%s\"", i ? ", " : "", view->columns[i].name);
    failed = failed || buffer_printf(&sql, " FROM %s", view->name) ||
             (run_id && buffer_printf(&sql, " WHERE %s", view->of_run));
    struct statement *rows = NULL;
    if (failed)
        error_no_memory(error);
    else
        rows = store_prepare_for(store, sql.data, run_id, error);
    buffer_release(&sql);
    return rows;
}
