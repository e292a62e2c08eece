#ifndef NCCLPROF_JOIN_RECORDERS_H
#define NCCLPROF_JOIN_RECORDERS_H

#include "join/internal.h"

#include <stddef.h>
#include <stdint.h>

struct logs;
struct store;

/* -------------------- recorders.c -------------------- */

/*
 * One job recorded by several recorders (a profiler plugin, PyTorch's profiler, Flight Recorder): their runs
 * are united into one. The recorder that recorded most is kept. The operations of the others are removed and
 * counted in the ledger; what only they know (source lines, hosts, GPUs) is added to the kept ones.
 *
 * Two files belong to the same rank of the same job if the rank has the same global rank in a job of the same
 * size and the same communicators, and if both files have each call at the same time on a clock that both
 * recorders read, with a constant difference between the positions of the calls. An equal rank alone is never
 * enough. If this is possible but not certain, the runs stay separate, and table witness_doubt has the
 * reason.
 */

/*
 * Must be called before the base tables are loaded. For jobs whose files changed, forgets which recorders
 * were united and marks all their processes as changed, so that they are compared again.
 */
int recorders_rematch(struct store *store, struct error *error);

/*
 * Needs ranks and runs. 1: runs were united and the base tables changed, so the caller must load them again;
 * 0: no change; -1 on error.
 */
int recorders_unite(struct work *work, struct store *store, struct error *error);

/*
 * Must be called after the runs are saved: assigns the processes whose operations were removed to the run
 * that replaced theirs.
 */
int recorders_save(struct store *store, struct error *error);

/* -------------------- recorder_match.c -------------------- */

/* The calls of one member as one recorder has them, to be compared with those of another recorder. */

struct recorded_call {
    int64_t place;   /* position in its series, ascending */
    int64_t number;  /* sequence number in the record; COUNT_UNKNOWN */
    int64_t time_ns; /* when the host called it, on the wall clock, in ns since the epoch; TIME_UNKNOWN */
    int64_t bytes;   /* COUNT_UNKNOWN */
    int64_t block_id;
    int64_t ordinal; /* of the row, in the order of its file */
    int32_t series;  /* calls of one function and, if sends or receives, with one peer */
    int32_t source;  /* file:line, interned; -1 */
    uint16_t row;    /* in the block */
    uint8_t function;
    uint8_t datatype;
    uint8_t is_unfinished;
};

struct recorded_calls {
    struct recorded_call *items; /* owned; sorted by series, then by place */
    size_t count;
    size_t capacity;
};

/* Moments at which a process read both its own clock and the wall clock. */
struct wall_clock {
    int64_t *local_ns; /* owned; ascending */
    int64_t *wall_ns;  /* owned */
    size_t count;
};

int wall_clock_load(struct wall_clock *clock, struct store *store, int64_t process_id, struct error *error);
void wall_clock_release(struct wall_clock *clock);

/*
 * Converts a time of the process to the wall clock, with the last moment before it at which the process read
 * both clocks (the first one for earlier times). Without such moments a time is returned as it is if it can
 * only be counted since the epoch; else TIME_UNKNOWN.
 */
int64_t wall_clock_at(const struct wall_clock *clock, int64_t local_ns);

/*
 * Reads the calls of a member. `by_number`: the recorder numbers the calls of each function without gaps, so
 * missing numbers are calls that it lost. Otherwise the position of a call is its place in the order of time.
 * Sources are added to work->texts.
 */
int recorded_calls_load(struct recorded_calls *calls, struct work *work, struct logs *logs, int64_t member_id,
                        const struct wall_clock *clock, int by_number, struct error *error);
void recorded_calls_release(struct recorded_calls *calls);

/* The index after the last call of the series that begins at `first`. */
size_t recorded_calls_end(const struct recorded_calls *calls, size_t first);

/* -------------------- recorder_ranks.c -------------------- */

/* Compares the calls of one rank in two recordings, communicator by communicator. */

/* A field of a call that one recording lacks and the other has. */
struct recorder_extra_field {
    int64_t block_id; /* of the call that lacks it; `row` is its row there */
    uint16_t row;
    int32_t source; /* interned */
};

/* Calls for which the two recordings have different values: how many, and the values of the first. */
struct recorder_conflict {
    int64_t count;
    uint8_t function;
    int64_t kept; /* the value of the recording that is kept */
    int64_t other;
};

/* A member of the other recording and the one that it equals; ids of the base tables. */
struct recorder_member {
    int64_t other_id;
    int64_t one_id;
};

struct recorder_members {
    struct recorder_member *items; /* owned */
    size_t count;
    size_t capacity;
};
int recorder_members_add(struct recorder_members *member_list, const struct work *work, int32_t one,
                         int32_t other); /* -1: out of memory */

/* Result for one rank, or the sum over several. */
struct rank_match {
    size_t pairs;       /* calls that both recordings have */
    size_t collectives; /* those of them that are no sends and receives */
    size_t timed;       /* those of them in series that were aligned by time */
    size_t left_over;   /* calls of the other recording that the one should have but has not */
    int clocks;         /* both have times on the wall clock */
    int overlap;        /* both recorded at the same time */
    /* the other has unfinished calls that were made after the end of the one's record */
    int only_other_stops;
    struct recorder_conflict sizes;
    struct recorder_conflict datatypes;
    struct recorder_members member_list;
    struct recorder_extra_field *extra_fields; /* owned */
    size_t extra_field_count;
    size_t extra_field_capacity;
};

/* State that is shared by all ranks. */
struct recorder_match {
    struct work *work; /* borrowed, like logs */
    struct logs *logs;
    struct map alike; /* (communicator, communicator) -> whether their ranks agree; indexes in work */
};

struct recorder_side {
    int32_t rank;                   /* index in work */
    const struct wall_clock *clock; /* of its process */
    int by_number;                  /* see recorded_calls_load */
};

/*
 * The members of one rank that have operations, with their calls. Call members_release even after an error.
 */
struct member_list {
    int32_t *members; /* owned; indexes in work */
    struct recorded_calls *calls;
    unsigned char *is_taken;
    size_t count;
};
int members_load(struct member_list *list, struct recorder_match *matching, const struct recorder_side *side,
                 struct error *error);
void members_release(struct member_list *list);

/* Whether two members may be the same: equal rank in communicators of the same ranks. -1: out of memory. */
int members_match(struct recorder_match *matching, int32_t one, int32_t other);

/* Adds the result for one rank to `match`. Call rank_match_release even after an error. */
int ranks_match(struct recorder_match *matching, const struct recorder_side *one,
                const struct recorder_side *other, struct rank_match *match, struct error *error);
void rank_match_release(struct rank_match *match);

/* Whether enough of a rank's calls match that both recordings are of the same rank. */
int rank_match_fits(const struct rank_match *match);

/* -------------------- recorder_runs.c -------------------- */

/* The recorder of each run, and whether two runs are the same job. */

enum recorder_kind {
    KIND_UNKNOWN,
    KIND_FRAMEWORK_LOG,
    KIND_LOG,
    KIND_DUMP,
    KIND_INSPECTOR, /* from here on: recorders that know the duration of operations */
    KIND_PROFILER,
    KIND_PLUGIN
};

struct recorder_run {
    enum recorder_kind kind; /* of its recorders, the one that knows most about an operation */
    int by_number;           /* see recorded_calls_load */
    int is_changed;
    int is_merged; /* its operations were removed */
    int64_t operations;
    int64_t collectives;   /* in processes with false kernel times */
    int64_t misattributed; /* operations without kernel times in these processes */
    int64_t first_ns;      /* times of its first and last call on the wall clock; without times */
    int64_t last_ns;       /* INT64_MAX and TIME_UNKNOWN */
    char dialect[32];      /* of that recorder */
};

struct recorder_runs {
    struct recorder_run *items; /* owned; one for each run */
    struct wall_clock *clocks;  /* owned; one for each process */
    struct grouping ranks;      /* ranks that recorded something, by run */
    size_t process_count;
};

/* Call recorder_runs_release even after an error. */
int recorder_runs_load(struct recorder_runs *runs, struct work *work, struct store *store,
                       struct error *error);
void recorder_runs_release(struct recorder_runs *runs);

/* Of two runs of the same job: 1 if `run` is the one to keep, 0 if `other` is. */
int recorder_counts(const struct recorder_runs *runs, int32_t run, int32_t other);

/* Two processes that are the same rank, and what their records contradict each other in. */
struct recorder_pair {
    int32_t one;
    int32_t other;
    struct recorder_conflict sizes;
    struct recorder_conflict datatypes;
};

enum run_pair_verdict { RUN_PAIR_DIFFERENT, RUN_PAIR_DOUBTFUL, RUN_PAIR_SAME };

struct run_pair {
    int32_t one; /* index of the run that is kept */
    int32_t other;
    enum run_pair_verdict verdict;
    const char *why;             /* the reason if doubtful */
    size_t collectives;          /* that both recordings have, over all ranks */
    struct recorder_pair *pairs; /* owned */
    size_t pair_count;
    size_t pair_capacity;
    struct recorder_members member_list;
    struct recorder_extra_field *extra_fields; /* owned */
    size_t extra_field_count;
    size_t extra_field_capacity;
};

/* Compares pair->one and pair->other. Call run_pair_release even after an error. */
int run_pair_compare(struct run_pair *pair, struct recorder_match *matching, const struct recorder_runs *runs,
                     struct error *error);
void run_pair_release(struct run_pair *pair);

/*
 * Exchanges the two runs of the same job if `one` is a plugin whose kernel times are known to be false, and
 * `other` is PyTorch's profiler, which saw the same operations. What only `other` knows of calls of `one` is
 * dropped.
 */
void run_pair_prefer_true_times(struct run_pair *pair, const struct recorder_runs *runs);

/* -------------------- recorder_match.c -------------------- */

/*
 * Aligns the calls of one series of one member in two recordings: the difference between the positions of a
 * call in the two is constant. Both recorders read the clock of the same machine at almost the same time, so
 * the right difference is the one with which the times of the calls agree best.
 */

/*
 * The most that the times of one call in two recorders of a process may differ, in the median. Both read the
 * clock in the same thread, a few function calls apart: up to 0.1 ms with the plugin, Inspector, Flight
 * Recorder and PyTorch's profiler. Steps of another job that runs at the same time are rarely so close, rank
 * by rank.
 */
#define RECORDER_LAG_MOST_NS INT64_C(2000000)

/* The fewest calls that a series needs to be aligned by itself. */
enum { RECORDER_PAIRS_LEAST = 3 };

struct series_match {
    int64_t shift;      /* place of a call in the one minus its place in the other */
    int64_t lag_ns;     /* median of the time in the one minus the time in the other */
    int64_t spread_ns;  /* median deviation from lag_ns */
    size_t pairs;       /* calls that both recordings have */
    size_t timed;       /* those of them with times in both */
    size_t other_sizes; /* those of `pairs` whose sizes differ */
};

/*
 * 1 with the match; 0 if the times do not decide or too few calls are in both; -1: out of memory. Both arrays
 * are sorted by place.
 */
int series_align(const struct recorded_call *one, size_t one_count, const struct recorded_call *other,
                 size_t other_count, struct series_match *match);

/*
 * The same for series with too few calls for series_align, with the time difference `lag_ns` of other series.
 * match->timed is 0 then. 1 with the match, 0: none.
 */
int series_align_near(const struct recorded_call *one, size_t one_count, const struct recorded_call *other,
                      size_t other_count, int64_t lag_ns, struct series_match *match);

/*
 * Iterates over the pairs of two series in order. Start with {0, 0}. 1 with the indexes of the next pair in
 * at_one and at_other, 0 after the last.
 */
struct pair_cursor {
    size_t one;
    size_t other;
    size_t at_one; /* the current pair */
    size_t at_other;
};
int series_next_pair(struct pair_cursor *cursor, const struct recorded_call *one, size_t one_count,
                     const struct recorded_call *other, size_t other_count, int64_t shift);

#endif
