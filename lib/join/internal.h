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
 * The join's work in memory: all but the operations, which pass by (operation_cursor.c). Indexes are into the
 * arrays of struct work; -1 is none. Times are on the recording process's own clock, as in the base tables.
 */

/* Ranks of a run that are named though nobody recorded anything there. */
enum { MOST_SILENT_RANKS = 1024 };

struct work_process {
    int64_t id;
    char *file_set; /* owned */
    char *host;     /* owned */
    int64_t pid;
    int64_t first_file; /* the least of those that speak of it */
    int64_t told_rank;  /* global, as files say; -1: they do not */
    int64_t told_size;  /* global ranks of its job, likewise; 0 */
    int32_t run;
};

struct work_communicator {
    int64_t id;
    int64_t hash;
    char *name; /* owned; NULL */
    char *path; /* owned: of the file that is all that speaks of it, where its hash is not known; NULL */
    int64_t declared_size;
    int64_t *told; /* owned: the global ranks of its members, in order of its own, as files list them; NULL */
    size_t told_count;
    int64_t greatest_peer;
    int is_named; /* its hash is made of its name and members (model/communicator_hash.h) */
    int64_t size; /* declared, else a lower bound from the ranks and peers seen */
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
    int64_t told_rank; /* as work_process, of this rank of its process alone */
    int64_t affinity;  /* host clock minus GPU clock (split_runs.c); INT64_MIN unknown */
    int64_t first_ns;  /* when its operations were issued, on its process's clock; 0 not known */
    int64_t last_ns;
    size_t operations;
    size_t tagged; /* of these, carry a tag themselves */
    /* Owned: what its first operations of each kind count as, where they have no numbers
     * (partial_recordings.c); NULL.
     */
    struct numbers *first_numbers;
};

struct work_mark {
    int64_t at_ns;
    size_t order;   /* among all of the process, in order of time */
    int32_t member; /* -1: all of the process */
    int32_t depth;
    int32_t text; /* interned; -1 for an end */
    int is_end;
};

struct work_rank {
    int32_t run;
    int32_t process; /* -1: nothing recorded by it */
    int64_t global_rank;
    char *name;      /* owned */
    int is_numbered; /* steps, tags and numbers of its operations are settled */
    int by_tags;     /* tags of its own told its steps */
    int32_t step_count;
};

/* Where a run's steps come from; in table run "none", "tags", "period", "told": by the program. */
enum step_source { STEPS_NONE, STEPS_BY_TAGS, STEPS_BY_PERIOD, STEPS_TOLD };

struct work_run {
    int64_t rank_count;
    int64_t expected_ranks;
    int32_t world; /* the communicator that gives global ranks; -1 */
    int world_is_settled;
    int is_told; /* files say of all its ranks which global ranks they are */
    int32_t step_count;
    enum step_source step_source;
    int32_t first_step; /* that some rank recorded, where the program tells them */
    int64_t step_base;  /* what the program calls step 0 */
    int is_changed;     /* files of it came or went: its operations are joined anew */
    int64_t number;     /* for users, from 1, as is its name: see run_names.c */
    int64_t name;       /* in work.run_names */
};

/* What files say against each other; `other` is a rank, too, that was said or follows from other records. */
struct work_contradiction {
    int32_t process;
    int64_t kept; /* global rank; -1: none */
    int64_t other;
};

/* Numbers of items, group by group: those of group i are items[first[i]] to items[first[i + 1] - 1]. */
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
    int32_t marked_process; /* whose these are, by member and order: 1 + its number; 0 nobody's */
    struct map tag_names;   /* of the same: the text of a number -> that of its name */
    struct work_rank *ranks;
    size_t rank_count;
    size_t rank_capacity;
    struct work_contradiction *contradictions;
    size_t contradiction_count;
    size_t contradiction_capacity;
    struct work_run *runs;
    size_t run_count;
    int64_t last_run; /* the greatest number that a run ever had */
    struct intern run_names;
    struct grouping by_rank; /* members of each job rank, communicator and process, by number */
    struct grouping by_communicator;
    struct grouping by_process;
    struct grouping ranks_of_run; /* ranks and communicators of each run likewise */
    struct grouping communicators_of_run;
};

void work_release(struct work *work);

/* Notes that something else than what counts was said of a process. */
int join_add_conflict(struct work *work, int32_t process, int64_t kept, int64_t other, struct error *error);

int64_t work_add_rank(struct work *work, int32_t run, int32_t process); /* -1: out of memory */

/*
 * Members by process and by communicator, once loaded; ranks by run; and all the rest, with the ranks by run
 * anew, once all ranks are there.
 */
int work_group_members(struct work *work, struct error *error);
int work_group_ranks(struct work *work, struct error *error);
int work_group_joined(struct work *work, struct error *error);

/*
 * Numbers of one member's operations that have none of their own, by kind: function, and of pairs peer. What
 * the first of each counts as, or how many have been counted.
 */
struct numbers {
    int64_t collectives[FUNCTION_COUNT];
    struct map pairs;   /* function and peer -> by how much less than `most_pairs` they begin, or how many */
    int64_t most_pairs; /* of one kind, at any member */
};

struct numbers *numbers_new(void); /* all 0; NULL: out of memory */
void numbers_free(struct numbers *numbers);

/* The number of an operation that comes after those counted so far, which counts it. -1: out of memory. */
int64_t numbers_next(const struct numbers *first, struct numbers *counted, int function, int32_t peer);

/* -------------------- blocks.c -------------------- */

/* What the join finds out of one operation. */
struct joined_row {
    int64_t number; /* first what tells it from others of its member (load.c), in the end its
                       instance's id */
    int32_t step;   /* -1 none */
    int32_t tag;    /* interned; -1 none */
};

/* A block of operations in memory, and what the join says of them, both by row. */
struct operation_rows {
    int64_t block_id;
    int32_t member;
    struct block_reader reader;
    int32_t tags[BLOCK_ROWS];   /* the numbers of its texts among work's */
    uint16_t order[BLOCK_ROWS]; /* rows as their operations were issued */
    int64_t issued_ns[BLOCK_ROWS];
    size_t next; /* in order[] */
    struct joined_row joined[BLOCK_ROWS];
};

/*
 * Blocks out of the store, and into it. Several threads may each have one on the same store: whoever is in it
 * holds `inside` (blocks_enter), and nobody holds it while blocks are packed and unpacked.
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

/* Release it whatever comes back. */
int blocks_init(struct blocks *blocks, struct store *store, pthread_mutex_t *inside, struct intern *texts,
                struct error *error);
void blocks_release(struct blocks *blocks);

/* Around everything else that is done with the store meanwhile. */
void blocks_enter(struct blocks *blocks);
void blocks_leave(struct blocks *blocks);

/* A block of a member: its number, and when its first operation was issued. */
struct block_place {
    int64_t id;
    int64_t earliest_ns;
};

/* The blocks of a member, in the order in which they begin. Adds them to an array that the caller frees. */
int blocks_list(struct blocks *blocks, int64_t member_id, struct block_place **places, size_t *count,
                struct error *error);

/* Reads a block; `rows` was initialised by operation_rows_new. With `joined` also what was said of it. */
int blocks_read(struct blocks *blocks, int64_t block_id, int joined, struct operation_rows *rows,
                struct error *error);

/* Puts into the store what the join says of a block's operations. */
int blocks_write_joined(struct blocks *blocks, const struct operation_rows *rows, struct error *error);

/* Puts the rows of `instance_rows` into the store as the block of that number. */
int blocks_write_instances(struct blocks *blocks, int64_t block_id, int64_t communicator_id,
                           struct error *error);

/* The number that a send or receive has of its own, which orders those of one moment; COUNT_UNKNOWN. */
int64_t operation_rows_call(const struct operation_rows *rows, size_t row);

struct operation_rows *operation_rows_new(void); /* NULL when memory is out */
void operation_rows_free(struct operation_rows *rows);

/* -------------------- join_state.c -------------------- */

/*
 * Threads for work that falls into pieces, none of which needs another: the operations of a rank, the
 * instances of a communicator. They share what struct work points to and do not change it, and enter the
 * store one at a time (blocks.c). Texts and marks each has of its own.
 */
struct pool_worker {
    struct work work; /* the one of all, but for texts and marks */
    struct blocks blocks;
};

struct worker_pool {
    struct store *store;       /* borrowed */
    pthread_mutex_t inside;    /* whoever is in the store holds it */
    struct pool_worker *items; /* owned */
    size_t count;
};

/* `count` is 1 at least; no threads but the caller's run until worker_pool_run. Release it whatever comes
 * back. */
int worker_pool_init(struct worker_pool *worker_pool, const struct work *work, struct store *store,
                     size_t count, struct error *error);
void worker_pool_release(struct worker_pool *worker_pool);

/* Does piece `number` with a hand that nobody else uses meanwhile. */
typedef int (*worker_task)(void *context, struct pool_worker *pool_worker, size_t number,
                           struct error *error);

/* Does pieces 0 to `count` - 1, in any order and side by side. -1, with one of the errors, when one failed.
 */
int worker_pool_run(struct worker_pool *worker_pool, worker_task piece, void *context, size_t count,
                    struct error *error);

/* -------------------- load.c -------------------- */

/* The base tables, but for the operations themselves and the marks. */
int work_load(struct work *work, struct store *store, struct error *error);

/* The marks of one process and the names of its tags, which take the place of the last one's; -1: none. */
int work_load_marks(struct work *work, struct store *store, int32_t process, struct error *error);

/* Those of one member, -1 all of the process, in order of time. Returns how many. */
size_t work_marks_of(const struct work *work, int32_t member, const struct work_mark **marks);

/* -------------------- operation_cursor.c -------------------- */

/*
 * Operations of some members, in the order in which they were issued, whatever the order of the files: of one
 * moment, by the hashes of their communicators; and of one communicator, sends and receives by the numbers
 * that they have of their own, as far as three blocks go, and among blocks after what has none. What has no
 * time goes by id. A block is in memory from its first operation's turn (two more from the one before them,
 * where they begin in one moment) to its last one's: memory grows with how much blocks overlap in time, not
 * with how many there are.
 *
 *     struct sweep sweep;
 *     struct swept swept;
 *     if (cursor_begin(&sweep, blocks, work, members, count, error) == 0)
 *         while ((more = cursor_next(&sweep, &swept, error)) == 1) ...
 *     cursor_end(&sweep);
 */

/* An operation as the join needs it. */
struct swept {
    int64_t sequence; /* of collectives, and where members' records are windows of pairs; COUNT_UNKNOWN */
    int64_t told_sequence;   /* as the program counts a communicator's collectives; COUNT_UNKNOWN */
    int64_t told_step;       /* likewise */
    int64_t bytes;           /* COUNT_UNKNOWN */
    int64_t issued_ns;       /* 0 unknown */
    int64_t duration_ns;     /* COUNT_UNKNOWN */
    int64_t initial_sync_ns; /* of a collective's symmetric kernel; 0 unknown */
    int32_t member;
    size_t source; /* which of the members given to cursor_begin that is */
    int32_t peer;  /* COUNT_UNKNOWN */
    int32_t tag;   /* that the record carries; -1 */
    int tag_is_number;
    int kind;
    int function;
    struct joined_row *joined; /* to be read and written until the next call */
};

struct cursor {
    struct blocks *blocks;
    int joined; /* read also what was said of the operations; set before the first cursor_next */
    int writes; /* put what is said of them into the store; likewise */
    struct cursor_source *sources; /* owned, a member each */
    size_t source_count;
    struct cursor_entry *heap; /* owned: blocks, open or still to be opened, by what comes next of them */
    size_t heap_count;
    size_t heap_capacity;
    struct operation_rows *spare; /* one that is not in use */
    int is_given;                 /* the first of the heap has given its next operation away */
};

/* `members` are numbers in `work`. Release it whatever comes back. */
int cursor_begin(struct cursor *cursor, struct blocks *blocks, const struct work *work,
                 const int32_t *members, size_t count, struct error *error);
void cursor_end(struct cursor *cursor);

/* 1 with the next operation, 0 after the last, -1. */
int cursor_next(struct cursor *cursor, struct swept *swept, struct error *error);

/* -------------------- load.c -------------------- */

enum { TAG_DEPTH = 64 };

/* Marks that are still to come. */
struct tag_marks {
    const struct work_mark *next;
    size_t left;
};

/* The tags that are set on one member, as time goes on. Its process's marks are in memory (work_load_marks).
 */
struct tag_state {
    struct tag_marks own;
    struct tag_marks common; /* of the whole process */
    int32_t top;             /* -1: none */
    int32_t stack[TAG_DEPTH];
};

struct tag_state tag_state_at_start(const struct work *work, int32_t member);

/*
 * The tag that an operation's record carries, by its name where it is a number that its process, whose marks
 * are in memory, gave one; -1 none.
 */
int32_t tag_carried(const struct work *work, const struct swept *swept);

/* The tag that is set at that time, not before that of the last call; -1 none. */
int32_t tag_at(struct tag_state *state, int64_t at_ns);

/*
 * Numbers that tell the operations of one member apart where the trace does not. Point-to-point operations of
 * each peer and direction are counted. A sequence number that comes again (a replayed CUDA graph,
 * communicators that a dialect cannot tell apart) is counted as another occurrence; 0 is the first.
 */

/* The sequence numbers that a member showed for one function. One that only ever rises repeats none. */
struct series {
    int64_t last;
    int repeats;
};

struct series_table {
    struct map numbers;    /* of series, by member, kind and function */
    struct series *series; /* owned */
    size_t capacity;
    int64_t last_number; /* the series that was asked for last; -1: none was */
    int32_t last_member; /* whose it is, and of what */
    int last_kind;
    int last_function;
    struct map seen; /* how often, by what must be told apart; of one rank */
    int has_found;   /* a series has turned out to repeat numbers */
};

void series_table_init(struct series_table *table);
void series_table_release(struct series_table *table);

/*
 * Every operation of a rank in order of issue: its number among its like, -1 when memory is out. Counting
 * number by number takes memory for each operation, so a series is taken to repeat none until one comes
 * again. Then has_found is set, and the rank has to pass by once more.
 */
int64_t series_number(struct series_table *table, const struct swept *swept);

/* The rank is through, or begins anew. */
void series_forget_counts(struct series_table *table);

/* Whether a member's series of that kind and function repeats numbers. */
int series_repeats(const struct series_table *table, int32_t member, uint8_t kind, uint8_t function);

/* -------------------- blocks.c -------------------- */

/* The derived tables, but for instances and what is said of operations. */
int work_save(const struct work *work, struct store *store, struct error *error);

/* -------------------- instances.c -------------------- */

/* Pairs whose send and receive differ in size: how many, and the first by ordinal, sender and receiver. */
struct unequal_pairs {
    int64_t count;
    int64_t sequence;
    int64_t sender; /* ranks in the communicator */
    int64_t receiver;
    int64_t sent_bytes;
    int64_t received_bytes;
};

/*
 * Collective instance = (communicator, function, sequence number); point-to-point instance = (communicator,
 * sender, receiver, ordinal). Makes the instances of one communicator out of its operations, which have their
 * numbers (numbering.c) already, and puts both into the store. Its members pass side by side, whoever is
 * furthest behind in the sequence of collectives next, so that what is unfinished stays little. `series` are
 * those of each rank.
 */
int instances_join(const struct work *work, int32_t communicator, struct blocks *blocks,
                   const struct series_table *series, struct unequal_pairs *unequal, struct error *error);

/* -------------------- numbering.c -------------------- */

/*
 * Tag, step and number (load.c) of every operation of a run, put into the store; the run's step_count
 * and step_source. The series, a table for each rank, are needed again for its instances. `work` is what the
 * hands have copies of.
 */
int run_number(struct work *work, int32_t run, struct worker_pool *worker_pool, struct series_table *series,
               struct error *error);

/* -------------------- ranks.c -------------------- */

/* Runs, job ranks, global ranks, communicator sizes and labels. */
int work_find_ranks(struct work *work, struct error *error);

/* -------------------- declared_ranks.c -------------------- */

/*
 * Global ranks as files tell them, instead of those that a communicator of all gives: where they are told of
 * each rank of a run, and where there is no such communicator. Says so of the run, and notes what
 * contradicts.
 */
int work_take_told_ranks(struct work *work, struct error *error);

/*
 * Processes that are told to be a rank and are in no communicator, as where a file says why there is no dump
 * of one: (run, global rank) -> process. Wants processes grouped, and their runs.
 */
int work_list_unplaced(const struct work *work, struct map *unplaced, struct error *error);

/*
 * Of a run whose ranks are all told: adds those that recorded nothing, as members of its communicators are
 * listed and as its size is told, with their processes where these are listed; and how many are expected.
 * Wants the ranks grouped by run.
 */
int work_fill_told(struct work *work, int32_t run, const struct map *unplaced, struct error *error);

/*
 * Unites processes of one job that share no communicator in what they recorded: where files list the global
 * ranks that are in a communicator, and a process of the same directory is told to be one of these, and no
 * other is. Processes are grouped (work_group_members). `parent` is of each process (base/disjoint.h).
 */
int work_unite_told(const struct work *work, int32_t *parent, struct error *error);

/* So many are made anew of each other, one after the other, at most. */
enum { MOST_SHARED = 64 };

/*
 * Communicators that all ranks share, or all that are left, none used before the one before it was last used:
 * one, and those that took its place when communicators were made anew.
 */
struct shared_communicators {
    int32_t items[MOST_SHARED];
    size_t count;
};

/* Which of them that is; -1: none. */
int32_t shared_turn(const struct shared_communicators *shared, int32_t communicator);

/*
 * `first` and those that come before and after it in what a rank did: by more than half of as many ranks, as
 * what divides a world has half of it at most. `lives` are those of the rank's members. -1: out of memory.
 */
int shared_list(struct shared_communicators *shared, const struct work *work, int32_t rank,
                const struct communicator_life *lives, int32_t first);

/* The widest of those that a rank used; of several the one of the lesser hash; -1: there is none. */
int32_t shared_widest(const struct work *work, int32_t rank, const struct communicator_life *lives);

/* Whether each rank of a run that recorded anything is in one of them. -1: out of memory. */
int communicators_cover_run(const struct shared_communicators *shared, const struct work *work, int32_t run,
                            int *hold);

/* -------------------- split_runs.c -------------------- */

/*
 * Makes the ranks of a process that appears several times in one communicator, one for each of its members
 * there, and gives them its members elsewhere where clocks tell which; the others' stay -1. -1 when memory is
 * out.
 */
int work_split_process(struct work *work, int32_t process);

/* A rank for all that are left of the processes marked in `shared`. */
int work_place_alike(struct work *work, const unsigned char *shared, struct error *error);

/*
 * Members of split processes (split_runs.c) that have no rank yet, by the regular shape of the job, once
 * global ranks are known. -1: out of memory.
 */
int work_place_members(struct work *work);

/* Whether of some member it is not known which of its process's ranks it is, yet. */
int join_has_unassigned_member(const struct work *work, size_t communicator);

/* -------------------- run_names.c -------------------- */

/*
 * Numbers and names of runs, which stay as long as a process of the run does. A run takes the least number
 * that one of its processes had before; of one that fell apart, the part with its first process does. A new
 * run takes a number that no run had before, and the name of the folder that all its files lie in, with "-2",
 * "-3"... where that is taken. A name has no blanks, commas and control characters, does not begin with a
 * dash and is no number.
 */
int work_name_runs(struct work *work, struct store *store, struct error *error);

/* Names of ranks and labels of communicators: the latter each once in its run. */
int work_label(struct work *work, struct error *error);

/* -------------------- partial_recordings.c -------------------- */

/*
 * Recorders that are on for a while only, each rank's from another operation on, and that do not number what
 * they record: profilers of frameworks. Operations are counted then, from one that all ranks know to be the
 * same: the first of a training step that the program counts; the first number of a communicator that the
 * program tells; or, on a communicator of all ranks, by what ends together, where the order of functions and
 * sizes fits and the clocks leave no doubt. Where nothing tells, each rank's operations stay its own.
 *
 * Fills in first_numbers of members, and first_step of the run where all ranks' steps are told.
 */
int run_align_windows(struct work *work, int32_t run, struct worker_pool *worker_pool, struct error *error);

/* -------------------- lost_files.c -------------------- */

/*
 * Of each run, whether files that were lost explain the places left in its communicators, the world aside:
 * ranks that are in fewer than most could take all of them, by number and by their order. Owned by the
 * caller; NULL: out of memory.
 */
unsigned char *work_find_lost_files(const struct work *work);

/*
 * Instances of one communicator that are not through: some of their operations may still come. They have
 * numbers, 0, 1, 2 ... in order of first sight, and leave in that order.
 */

/*
 * What makes operations one. Collectives: kind and function; sequence number; occurrence. Pairs:
 * PENDING_PAIR; ranks of sender and receiver, 32 bits each; ordinal between the two.
 */
struct pending_key {
    uint64_t part[3];
};

/* How long members stayed in something that nobody leaves before all have come: the last to come stayed
 * least. */
struct pending_stays {
    int32_t count;
    int32_t last_member;
    int64_t least_ns;
    int64_t margin_ns; /* of the second least beyond that */
};

struct pending_instance {
    struct pending_key key;
    uint8_t kind;
    uint8_t function;
    int is_done;  /* nothing more can come */
    int32_t seen; /* operations that have come */
    int32_t
        first_member; /* whose kind, size and tag count: that of the least rank; with a tag, for the tag */
    int32_t tag_member;
    int32_t tag;
    int32_t step;
    int64_t size_bytes;
    int64_t sent_bytes; /* pairs: what each side said; COUNT_UNKNOWN */
    int64_t received_bytes;
    int64_t effective_ns;
    struct pending_stays durations;     /* in the whole operation */
    struct pending_stays initial_syncs; /* in the first phase of a symmetric kernel */
    int64_t behind_sync_ns;             /* the least duration beyond that phase */
};

struct pending {
    struct pending_instance *ring; /* owned; number n stands at n modulo capacity */
    size_t capacity;               /* a power of two, or 0 */
    uint64_t first;                /* the least number that has not left */
    uint64_t next;
    uint64_t *slots; /* owned; hash table of number + 1, 0 is free */
    size_t slot_count;
    uint64_t seed;
};

void pending_init(struct pending *pending);
void pending_release(struct pending *pending);

/*
 * The number of the instance with that key, which is added (zeroed, but for the key) when there is none;
 * -1 when memory is out.
 */
int64_t pending_put(struct pending *pending, const struct pending_key *key, int *added);

/* Valid until the next pending_put. */
struct pending_instance *pending_at(const struct pending *pending, uint64_t number);

/* Takes the first one away. */
void pending_pop(struct pending *pending);

#endif
