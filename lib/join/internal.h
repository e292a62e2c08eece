#ifndef NCCLPROF_JOIN_INTERNAL_H
#define NCCLPROF_JOIN_INTERNAL_H

#include "model/model.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct numbers;
struct statement;
struct store;
struct cursor_entry;
struct cursor_source;

/* -------------------- join_state.c -------------------- */

/*
 * The state of the join in memory: everything except the operations, which are read block by block
 * (operation_cursor.c). Indexes point into the arrays of struct work; -1 means none. Times are on the clock
 * of the recording process, as in the base tables.
 */

/* The most ranks of a run that get a row although nothing was recorded on them. */
enum { MOST_SILENT_RANKS = 1024 };

struct work_process {
    int64_t id;
    char *file_set; /* owned */
    char *host;     /* owned */
    int64_t pid;
    int64_t first_file;        /* smallest id of the files that refer to it */
    int64_t declared_rank;     /* global rank that its files declare; -1: they declare none */
    int64_t declared_job_size; /* number of global ranks in its job that its files declare; 0: none */
    int32_t run;
};

struct work_communicator {
    int64_t id;
    int64_t hash;
    char *name; /* owned; NULL: unknown */
    /* owned; path of the file, if the hash is unknown and so only this file refers to it; else NULL */
    char *path;
    int64_t declared_size;
    /* owned; global ranks of its members that files list, by rank in the communicator; NULL: not listed */
    int64_t *told;
    size_t told_count;
    int64_t greatest_peer;
    int is_named;        /* its hash is made of its name and members (communicator_hash_of) */
    int is_without_nccl; /* of a library: recorders of NCCL's operations do not see it */
    int64_t size;        /* the declared size, else a lower bound from the ranks and peers seen */
    int32_t run;
    int32_t member_count;
    char *label; /* owned */
};

struct work_member {
    int64_t id;
    int32_t communicator;
    int64_t rank;
    int32_t process;
    int32_t job_rank;
    int64_t declared_rank; /* global rank that files declare for this member only; -1: none */
    int64_t affinity;      /* host clock minus GPU clock, in ns (split_runs.c); INT64_MIN: unknown */
    int64_t first_ns;      /* when its first operation was issued, on the clock of its process; 0: unknown */
    int64_t last_ns;
    size_t operations;
    size_t tagged; /* how many of these carry a tag themselves */
    /*
     * Owned. The numbers at which its operations start, if the recorder does not number them
     * (partial_recordings.c); else NULL.
     */
    struct numbers *first_numbers;
};

struct work_mark {
    int64_t at_ns;
    size_t order;   /* position among all marks of the process, by time */
    int32_t member; /* -1: applies to the whole process */
    int32_t depth;
    int32_t text; /* interned; -1: end of a range */
    int is_end;
};

struct work_rank {
    int32_t run;
    int32_t process; /* -1: it recorded nothing */
    int64_t global_rank;
    char *name;      /* owned */
    int is_numbered; /* the steps, tags and numbers of its operations are final */
    int by_tags;     /* its steps were detected from its own tags */
    int32_t step_count;
};

/* Source of a run's steps. In table run: "none", "tags", "period", "told" (the program numbers its steps). */
enum step_source { STEPS_NONE, STEPS_BY_TAGS, STEPS_BY_PERIOD, STEPS_TOLD };

struct work_run {
    int64_t rank_count;
    int64_t expected_ranks;
    int32_t world; /* the communicator that gives global ranks; -1: none */
    int world_is_settled;
    int is_told; /* files declare the global rank of each of its ranks */
    int32_t step_count;
    enum step_source step_source;
    int32_t first_step; /* first step that a rank recorded, if the program numbers its steps */
    int64_t step_base;  /* the program's number of step 0 */
    int is_changed;     /* files of it were added or removed: its operations are joined again */
    int64_t number;     /* shown to users, from 1, like the name (run_names.c) */
    int64_t name;       /* number of the text in work.run_names */
};

/*
 * Two statements about the global rank of a process that contradict each other. Either may be declared by a
 * file or derived from other records.
 */
struct work_contradiction {
    int32_t process;
    int64_t kept; /* global rank that is used; -1: none */
    int64_t other;
};

/* Indexes of items, by group: group i has items[first[i]] to items[first[i + 1] - 1]. */
struct grouping {
    int32_t *items; /* owned, as is first */
    size_t *first;
};

struct work {
    struct intern texts;
    struct work_process *processes;
    size_t process_count;
    size_t process_capacity;
    struct work_communicator *communicators;
    size_t communicator_count;
    size_t communicator_capacity;
    struct work_member *members;
    size_t member_count;
    size_t member_capacity;
    struct work_mark *marks;
    size_t mark_count;
    size_t mark_capacity;
    /* 1 + index of the process whose marks are loaded, sorted by member and order; 0: no process */
    int32_t marked_process;
    struct map tag_names; /* of the same process: text of a tag's number -> text of its name */
    struct work_rank *ranks;
    size_t rank_count;
    size_t rank_capacity;
    struct work_contradiction *contradictions;
    size_t contradiction_count;
    size_t contradiction_capacity;
    struct work_run *runs;
    size_t run_count;
    int64_t last_run; /* largest number that a run ever had */
    struct intern run_names;
    struct grouping by_rank; /* indexes of the members of each job rank, communicator and process */
    struct grouping by_communicator;
    struct grouping by_process;
    struct grouping ranks_of_run; /* indexes of the ranks and communicators of each run */
    struct grouping communicators_of_run;
};

void work_release(struct work *work);

/* Records that a different global rank (`other`) than the one used (`kept`) was stated for a process. */
int join_add_conflict(struct work *work, int32_t process, int64_t kept, int64_t other, struct error *error);

/* Returns the index of the new rank; -1: out of memory. */
int64_t work_add_rank(struct work *work, int32_t run, int32_t process);

/*
 * Fill the groupings of struct work. First the members by process and communicator, once the members are
 * loaded; then the ranks by run; at the end, once all ranks exist, the others, and the ranks by run again.
 */
int work_group_members(struct work *work, struct error *error);
int work_group_ranks(struct work *work, struct error *error);
int work_group_joined(struct work *work, struct error *error);

/*
 * Numbers for operations of one member that have none of their own. Collectives are numbered by function,
 * sends and receives by function and peer. As work_member.first_numbers it holds the numbers at which each
 * kind starts; as a counter, how many operations of each kind have been counted.
 */
struct numbers {
    int64_t collectives[FUNCTION_COUNT];
    /* (function, peer) -> how far below `most_pairs` the numbers start; in a counter, the count */
    struct map pairs;
    int64_t most_pairs; /* most operations of one function and peer, over all members */
};

struct numbers *numbers_new(void); /* all 0; NULL: out of memory */
void numbers_free(struct numbers *numbers);

/*
 * Counts an operation in `counted` and returns its number, the next one of its kind after `first`. -1: out of
 * memory.
 */
int64_t numbers_next(const struct numbers *first, struct numbers *counted, int function, int32_t peer);

/* -------------------- blocks.c -------------------- */

/* What the join finds out about one operation. */
struct joined_row {
    /*
     * at first what distinguishes it from equal operations of its member (load.c), at the end the id of its
     * instance
     */
    int64_t number;
    int32_t step; /* -1: none */
    int32_t tag;  /* interned; -1: none */
};

/* A block of operations in memory, with the results of the join, both by row. */
struct operation_rows {
    int64_t block_id;
    int32_t member;
    struct block_reader reader;
    int32_t tags[BLOCK_ROWS];   /* index in work's texts, for each text of the block */
    uint16_t order[BLOCK_ROWS]; /* rows in the order in which their operations were issued */
    int64_t issued_ns[BLOCK_ROWS];
    uint8_t at_end[BLOCK_ROWS]; /* whether that is its end */
    size_t next;                /* index into order[] */
    struct joined_row joined[BLOCK_ROWS];
};

/*
 * Reads blocks from the store and writes them to it. Each thread has one of these on the same store. A thread
 * holds the mutex `inside` while it uses the store (blocks_enter), but not while it packs or unpacks blocks.
 */
struct blocks {
    struct intern *texts;    /* borrowed */
    pthread_mutex_t *inside; /* borrowed */
    struct statement *list;
    struct statement *read;
    struct statement *read_joined;
    struct statement *write_joined;
    struct statement *write_instances;
    struct block_reader joined;
    struct block_writer joined_rows;
    struct block_writer instance_rows;
    struct buffer packed;
};

/* Call blocks_release even after an error. */
int blocks_init(struct blocks *blocks, struct store *store, pthread_mutex_t *inside, struct intern *texts,
                struct error *error);
void blocks_release(struct blocks *blocks);

/*
 * Locks and unlocks the mutex of the threads that share a store. They hold it for so short that another one
 * tries again for a while before it sleeps.
 */
void inside_enter(pthread_mutex_t *inside);
void inside_leave(pthread_mutex_t *inside);

/* Enclose every other use of the store while threads run. */
void blocks_enter(struct blocks *blocks);
void blocks_leave(struct blocks *blocks);

/* A block of a member: its id, and when its earliest operation was issued. */
struct block_place {
    int64_t id;
    int64_t earliest_ns;
};

/* Lists the blocks of a member by their earliest operation. Appends to an array that the caller frees. */
int blocks_list(struct blocks *blocks, int64_t member_id, struct block_place **places, size_t *count,
                struct error *error);

/*
 * Reads a block into `rows`, which operation_rows_new made. With `joined`, also reads what an earlier pass of
 * the join wrote about its operations.
 */
int blocks_read(struct blocks *blocks, int64_t block_id, int joined, struct operation_rows *rows,
                struct error *error);

/* Writes the results of the join for a block's operations to the store. */
int blocks_write_joined(struct blocks *blocks, const struct operation_rows *rows, struct error *error);

/* Writes the rows of `instance_rows` to the store as block `block_id`. */
int blocks_write_instances(struct blocks *blocks, int64_t block_id, int64_t communicator_id,
                           struct error *error);

/*
 * The number that the record of a send or receive has; it orders operations that were issued at the same
 * time. COUNT_UNKNOWN: it has none.
 */
int64_t operation_rows_call(const struct operation_rows *rows, size_t row);

struct operation_rows *operation_rows_new(void); /* NULL: out of memory */
void operation_rows_free(struct operation_rows *rows);

/* -------------------- join_state.c -------------------- */

/*
 * Threads for work that consists of independent pieces: the operations of one rank, the instances of one
 * communicator. All threads read what struct work points to and do not change it, and use the store one at a
 * time (blocks.c). Each has its own texts and marks.
 */
struct pool_worker {
    struct work work; /* a copy of the shared one, with its own texts and marks */
    struct blocks blocks;
};

struct worker_pool {
    struct store *store;       /* borrowed */
    pthread_mutex_t inside;    /* held by the thread that is using the store */
    struct pool_worker *items; /* owned */
    size_t count;
};

/*
 * `count` is at least 1. Threads other than the caller's run only during worker_pool_run. Call
 * worker_pool_release even after an error.
 */
int worker_pool_init(struct worker_pool *pool, const struct work *work, struct store *store, size_t count,
                     struct error *error);
void worker_pool_release(struct worker_pool *pool);

/* Does piece `number`. No other thread uses `pool_worker` meanwhile. */
typedef int (*worker_task)(void *context, struct pool_worker *pool_worker, size_t number,
                           struct error *error);

/*
 * Does pieces 0 to `count` - 1, in any order and in parallel. If pieces fail: -1, with the error of one of
 * them.
 */
int worker_pool_run(struct worker_pool *pool, worker_task piece, void *context, size_t count,
                    struct error *error);

/* -------------------- load.c -------------------- */

/* Loads the base tables, except for the operations and the marks. */
int work_load(struct work *work, struct store *store, struct error *error);

/*
 * Loads the tag marks of one process and the names of its tags in place of those loaded before. -1 as
 * `process`: loads none.
 */
int work_load_marks(struct work *work, struct store *store, int32_t process, struct error *error);

/* The marks of one member, by time; -1: those of the whole process. Returns their number. */
size_t work_marks_of(const struct work *work, int32_t member, const struct work_mark **marks);

/* -------------------- operation_cursor.c -------------------- */

/*
 * Operations of some members in the order in which they were issued, whatever the order of the files.
 * Operations issued at the same time come in the order of the hashes of their communicators. On one
 * communicator, sends and receives issued at the same time come by their own numbers (across three blocks at
 * most; across blocks, after operations without such a number). Operations without a timestamp come by id.
 *
 * A block is in memory from the turn of its first operation to that of its last. If blocks begin at the same
 * time, up to two more are opened with the first. So memory grows with the number of blocks that overlap in
 * time, not with the number of all blocks.
 *
 *     struct cursor cursor;
 *     struct swept swept;
 *     if (cursor_begin(&cursor, blocks, work, members, count, error) == 0)
 *         while ((more = cursor_next(&cursor, &swept, error)) == 1) ...
 *     cursor_end(&cursor);
 */

/* An operation, with what the join needs of it. */
struct issued_operation {
    /* of a collective; also of sends and receives if the member has first_numbers; COUNT_UNKNOWN */
    int64_t sequence;
    /* of a send or receive: the rank's own number, which does not match between ranks; COUNT_UNKNOWN */
    int64_t own_number;
    /* the program's own number of a collective on its communicator; COUNT_UNKNOWN */
    int64_t told_sequence;
    int64_t told_step;       /* the program's own number of the step; COUNT_UNKNOWN */
    int64_t bytes;           /* COUNT_UNKNOWN */
    int64_t issued_ns;       /* 0: unknown */
    int at_end;              /* whether that is its end, for lack of an earlier time */
    int64_t duration_ns;     /* COUNT_UNKNOWN */
    int64_t initial_sync_ns; /* initial synchronization of a collective's symmetric kernel; 0: unknown */
    int32_t member;
    size_t source; /* index of the member in the list given to cursor_begin */
    int32_t peer;  /* COUNT_UNKNOWN */
    int32_t tag;   /* that the record itself carries; -1: none */
    int tag_is_number;
    int kind;
    int function;
    struct joined_row *joined; /* the caller may read and change it until the next cursor_next */
};

struct cursor {
    struct blocks *blocks;
    int joined; /* also read the results of an earlier pass; set it before the first cursor_next */
    int writes; /* write the results to the store; set it before the first cursor_next */
    struct cursor_source *sources; /* owned; one for each member */
    size_t source_count;
    struct cursor_entry *heap; /* owned; blocks, open or still closed, by their next operation */
    size_t heap_count;
    size_t heap_capacity;
    struct operation_rows *spare; /* owned; an allocation to use again, or NULL */
    int is_given;                 /* the next operation of heap[0] has been returned to the caller */
};

/* `members` are indexes in `work`. Call cursor_end even after an error. */
int cursor_begin(struct cursor *cursor, struct blocks *blocks, const struct work *work,
                 const int32_t *members, size_t count, struct error *error);
/* The same for the members of a rank. */
int cursor_begin_rank(struct cursor *cursor, struct blocks *blocks, const struct work *work, int32_t rank,
                      struct error *error);
void cursor_end(struct cursor *cursor);

/* 1 with the next operation, 0 after the last, -1 on error. */
int cursor_next(struct cursor *cursor, struct issued_operation *issued, struct error *error);

/* What a pass does with the results of an earlier pass: `joined` and `writes` of its cursor. */
enum pass_results { PASS_WITHOUT_RESULTS, PASS_READS_RESULTS, PASS_CHANGES_RESULTS };

/* Reads the operations of a rank once. `take` returns -1 if out of memory. */
int rank_pass(struct blocks *blocks, const struct work *work, int32_t rank, enum pass_results results,
              int (*take)(void *context, const struct work *work, const struct issued_operation *issued),
              void *context, struct error *error);

/* -------------------- load.c -------------------- */

/* Marks that have not been applied yet. */
struct tag_marks {
    const struct work_mark *next;
    size_t left;
};

/*
 * The tags that are set on one member, as time goes on. The marks of its process must be loaded
 * (work_load_marks).
 */
struct tag_state {
    struct tag_marks own;
    struct tag_marks common; /* of the whole process */
    struct tag_stack set;
};

struct tag_state tag_state_at_start(const struct work *work, int32_t member);

/*
 * The tag that the record of an operation carries; -1: none. If that is a number that its process gave a
 * name, the name. The marks of the process must be loaded.
 */
int32_t tag_carried(const struct work *work, const struct issued_operation *issued);

/* The tag that is set at a time; -1: none. The time must not be before that of the previous call. */
int32_t tag_at(struct tag_state *state, int64_t at_ns);

/*
 * Occurrence numbers distinguish operations of one member that have the same sequence number in the trace.
 * For collectives: if a sequence number repeats (a replayed CUDA graph, or communicators that the format
 * cannot distinguish), each repetition gets the next occurrence number, from 0. Sends and receives without a
 * number are counted by peer and function.
 */

/* The sequence numbers of a member, kind and function. If they only rise, none repeats. */
struct series {
    int64_t last;
    int repeats;
};

struct series_table {
    struct map numbers;    /* (member, kind, function) -> index in `series` */
    struct series *series; /* owned */
    size_t capacity;
    int64_t last_number; /* index of the series that was looked up last; -1: none yet */
    int32_t last_member; /* its member, kind and function */
    int last_kind;
    int last_function;
    struct map seen; /* occurrences so far of each number or peer, of one rank */
    int has_found;   /* a series was found to repeat numbers */
};

void series_table_init(struct series_table *table);
void series_table_release(struct series_table *table);

/*
 * Call it for every operation of a rank in the order of issue. Returns its occurrence number; -1: out of
 * memory. To count each number takes memory for each operation, so a series is assumed not to repeat until
 * one number comes again. Then has_found is set, and the caller must pass all operations of the rank again.
 */
int64_t series_number(struct series_table *table, const struct issued_operation *issued);

/* Call it after the last operation of a rank, and before passing them again. */
void series_forget_counts(struct series_table *table);

/* Whether the series of a member, kind and function repeats numbers. */
int series_repeats(const struct series_table *table, int32_t member, uint8_t kind, uint8_t function);

/* -------------------- blocks.c -------------------- */

/* Writes the derived tables, except for instances and the results for operations. */
int work_save(const struct work *work, struct store *store, struct error *error);

/* -------------------- instances.c -------------------- */

/*
 * Sends and receives of one communicator that differ in size: how many pairs, and the first of them by
 * ordinal, sender and receiver.
 */
struct unequal_pairs {
    int64_t count;
    int64_t sequence;
    int64_t sender; /* ranks in the communicator */
    int64_t receiver;
    int64_t sent_bytes;
    int64_t received_bytes;
};

/*
 * An instance is one collective or one send with its receive: the operations of all ranks that belong
 * together. A collective is identified by (communicator, function, sequence number), a pair by (communicator,
 * sender, receiver, ordinal).
 *
 * Makes the instances of one communicator from its operations, which have their numbers already
 * (numbering.c), and writes both to the store. The operations of all members are read alternately: next comes
 * the member that is furthest behind in the sequence of collectives, so that few instances are unfinished at
 * a time. `series` has one entry for each rank.
 */
int instances_join(const struct work *work, int32_t communicator, struct blocks *blocks,
                   const struct series_table *series, struct unequal_pairs *unequal, struct error *error);

/* -------------------- numbering.c -------------------- */

/*
 * Finds the tag, step and number (load.c) of every operation of a run and writes them to the store; sets
 * step_count and step_source of the run. Fills the entries of `series` for its ranks, which instances_join
 * needs. `work` is the one that the workers have copies of.
 */
int run_number(struct work *work, int32_t run, struct worker_pool *pool, struct series_table *series,
               struct error *error);

/* -------------------- ranks.c -------------------- */

/* Finds runs, job ranks, global ranks, and the sizes and labels of communicators. */
int work_find_ranks(struct work *work, struct error *error);

/* -------------------- declared_ranks.c -------------------- */

/*
 * Takes the global ranks that files declare instead of those from the world communicator, if every rank of a
 * run has a declared one, or if the run has no world. Sets is_told of such a run, and records contradictions.
 */
int work_take_declared_ranks(struct work *work, struct error *error);

/*
 * Lists processes that have a declared global rank but are in no communicator, e.g. a rank whose missing dump
 * another file explains: (run, global rank) -> process. Processes must be grouped and have their runs.
 */
int work_list_unplaced(const struct work *work, struct map *unplaced, struct error *error);

/*
 * For a run whose ranks are all declared: adds the ranks that recorded nothing, as the member lists of its
 * communicators and the declared size show them. A rank gets its process if that is in `unplaced`. Sets
 * expected_ranks. Ranks must be grouped by run.
 */
int work_add_silent_ranks(struct work *work, int32_t run, const struct map *unplaced, struct error *error);

/*
 * Unites processes of one job that have no recorded communicator in common. A process joins those of a
 * communicator if files list the global ranks in the communicator, the process is in the same directory and
 * has one of these global ranks, and no other process there has it. Members must be grouped
 * (work_group_members). `parent` has an entry for each process (disjoint_init in base/base.h).
 */
int work_unite_declared(const struct work *work, int32_t *parent, struct error *error);

/* The most communicators in one struct shared_communicators. */
enum { MOST_SHARED = 64 };

/*
 * Communicators of all ranks (or of all that are left), none used before the previous one was last used: the
 * first one and those that replaced it when communicators were created again.
 */
struct shared_communicators {
    int32_t items[MOST_SHARED];
    size_t count;
};

/* The index of a communicator in the list; -1: it is not there. */
int32_t shared_turn(const struct shared_communicators *shared, int32_t communicator);

/*
 * Lists `first` and the communicators that a rank used before and after it. Each has more than half as many
 * ranks as `first`, since a communicator that divides the world has at most half of it. `lives` has an entry
 * for each member of the rank. -1: out of memory.
 */
int shared_list(struct shared_communicators *shared, const struct work *work, int32_t rank,
                const struct communicator_life *lives, int32_t first);

/* The largest communicator that a rank used; of several the one with the smaller hash; -1: none. */
int32_t shared_widest(const struct work *work, int32_t rank, const struct communicator_life *lives);

/*
 * Sets *hold: whether each rank of the run that recorded anything is in one of the communicators. -1: out of
 * memory.
 */
int communicators_cover_run(const struct shared_communicators *shared, const struct work *work, int32_t run,
                            int *hold);

/* -------------------- split_runs.c -------------------- */

/*
 * Makes the ranks of a process that is several times in one communicator: one rank for each of its members
 * there. Its other members are assigned to these ranks by their clocks if those allow it; else they keep
 * job_rank -1. -1: out of memory.
 */
int work_split_process(struct work *work, int32_t process);

/* Makes ranks for all remaining members of the processes marked in `shared`. */
int work_place_alike(struct work *work, const unsigned char *shared, struct error *error);

/*
 * Assigns members that still have no rank after work_split_process, by the regular layout of the job, once
 * global ranks are known. -1: out of memory.
 */
int work_place_members(struct work *work);

/* Whether a communicator has a member whose rank is not known yet. */
int join_has_unassigned_member(const struct work *work, size_t communicator);

/* -------------------- run_names.c -------------------- */

/*
 * Gives runs their numbers and names, which stay as long as a process of the run is in the store. A run takes
 * the smallest number that one of its processes had before; if a run was split, the part with its first
 * process takes it. A new run takes a number that no run had before, and the name of the folder that contains
 * all its files, with "-2", "-3" ... if that name is taken. A name has no blanks, commas or control
 * characters, does not begin with a dash and is not a number.
 */
int work_name_runs(struct work *work, struct store *store, struct error *error);

/* Names ranks and labels communicators. A label occurs only once in its run. */
int work_label(struct work *work, struct error *error);

/* -------------------- partial_recordings.c -------------------- */

/*
 * Aligns recordings that cover only part of a job, from a different operation on each rank, without sequence
 * numbers: profilers of frameworks. Operations are then counted from one that is known to be the same on all
 * ranks. That is the first operation of a step that the program numbers; or the first number of a
 * communicator that the program records; or, on a communicator of all ranks, the operations that end at the
 * same time, if the order of functions and sizes fits and the clocks leave no other choice. If none of these
 * is available, operations of different ranks are not joined.
 *
 * Sets first_numbers of members, and the steps of the run if all ranks have numbered steps.
 */
int run_align_windows(struct work *work, int32_t run, struct worker_pool *pool, struct error *error);

/* -------------------- foreign_proxies.c -------------------- */

/*
 * Sets the operations of proxy operations that were made for other processes of the host (PXN). One whose
 * process has no trace, or that fits operations of several communicators, keeps none. What an earlier join
 * set must have been cleared (schemas/join/foreign.sql).
 */
int foreign_proxies_place(struct store *store, struct error *error);

/* -------------------- lost_files.c -------------------- */

/*
 * For each run, whether lost files explain the free places in its communicators (the world excepted): the
 * ranks that are in fewer communicators than most could take all these places, by their number and their
 * order. The caller frees it; NULL: out of memory.
 */
unsigned char *work_find_lost_files(const struct work *work);

/*
 * Unfinished instances of one communicator: some of their operations may still come. They are numbered 0, 1,
 * 2 ... in the order in which they were first seen, and leave in this order.
 */

/*
 * Identifies an instance. Collective: kind and function; sequence number; occurrence number. Pair:
 * PENDING_PAIR; ranks of sender and receiver, 32 bits each; ordinal between the two.
 */
struct pending_key {
    uint64_t part[3];
};

/*
 * How long members stayed in an operation that none can leave before all have arrived. The last to arrive
 * stayed shortest.
 */
struct pending_stays {
    int32_t count;
    int32_t last_member;
    int64_t least_ns;
    int64_t margin_ns; /* second shortest stay minus the shortest */
};

struct pending_instance {
    struct pending_key key;
    uint8_t kind;
    uint8_t function;
    int is_done;          /* no more operations can come */
    int32_t seen;         /* operations that have come */
    int32_t first_member; /* with the lowest rank: kind, function and size are taken from it */
    int32_t tag_member;
    int32_t tag;
    int32_t step;
    int64_t size_bytes;
    int64_t sent_bytes; /* of a pair: the size that each side recorded; COUNT_UNKNOWN */
    int64_t received_bytes;
    int64_t effective_ns;
    struct pending_stays durations;     /* in the whole operation */
    struct pending_stays initial_syncs; /* in the initial synchronization of a symmetric kernel */
    int64_t behind_sync_ns;             /* shortest duration without the initial synchronization */
};

struct pending {
    struct pending_instance *ring; /* owned; number n is at index n modulo capacity */
    size_t capacity;               /* a power of two, or 0 */
    uint64_t first;                /* smallest number that has not left */
    uint64_t next;
    uint64_t *slots; /* owned; hash table of number + 1; 0: free */
    size_t slot_count;
    uint64_t seed;
};

void pending_init(struct pending *pending);
void pending_release(struct pending *pending);

/*
 * Returns the number of the instance with that key. If there is none, adds one, zeroed except for the key,
 * and sets *added. -1: out of memory.
 */
int64_t pending_put(struct pending *pending, const struct pending_key *key, int *added);

/* Valid until the next pending_put. */
struct pending_instance *pending_at(const struct pending *pending, uint64_t number);

/* Removes the first one. */
void pending_pop(struct pending *pending);

#endif
