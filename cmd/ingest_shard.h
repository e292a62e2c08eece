#ifndef NCCLPROF_CMD_INGEST_SHARD_H
#define NCCLPROF_CMD_INGEST_SHARD_H

struct arguments;
struct context;
struct ingest_wishes;
struct report;
struct task;
struct walk;

/* The name of this task's shard in place of context->store_path: it stays until the program ends. Returns an
 * exit_status. */
int ingest_shard_name(struct context *context, const struct task *task, int is_range);

/*
 * Makes context->store, if it is NULL, and has it say that it is this task's shard, which is not all there so
 * far. Refuses a store that is another's shard, or none. Returns an exit_status.
 */
int ingest_shard_begin(struct context *context, const struct task *task, int is_range);

/* The ingest has run to its end: the shard is whole, or lacks files. Returns an exit_status. */
int ingest_shard_end(struct context *context, const struct task *task, int is_range, const struct walk *walk,
                     const struct report *report);

/* Refuses a store that is a shard, to commands that would join it. Returns an exit_status. */
int ingest_refuse_shard(struct context *context);

#endif
