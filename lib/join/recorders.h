#ifndef NCCLPROF_JOIN_RECORDERS_H
#define NCCLPROF_JOIN_RECORDERS_H

#include "join/internal.h"

#include <stddef.h>
#include <stdint.h>

struct logs;
struct store;

/* -------------------- recorders.c -------------------- */

/*
 * One job, told by several recorders (a profiler plugin, PyTorch's profiler, Flight Recorder): they become
 * one run. The one that tells most of it counts; operations of the others leave, counted in the ledger, and
 * what the first does not know comes from them: from where a program called, hosts and GPUs.
 *
 * Two files are of one rank of one job where it has the same global rank in a job of the same size, the same
 * communicators, and each call came at the same time in both, by clocks that both read, one number apart all
 * along: never by rank alone. What may be so and is not plain stays apart, and table recorder_doubt says why.
 */

/* To be done before the base tables are loaded: what came or went is heard anew. */
int recorders_rematch(struct store *store, struct error *error);

/* Wants ranks and runs. 1: the base tables are other ones now, to be loaded anew; 0; -1. */
int recorders_unite(struct work *work, struct store *store, struct error *error);

/* To be done once the runs are saved: witnesses belong to the run that they tell of. */
int recorders_save(struct store *store, struct error *error);

/* -------------------- recorder_match.c -------------------- */

/* Calls of one member as one recorder tells of them, to be laid beside another recorder's. */

struct told_call {
    int64_t place;   /* among those of its series: it rises */
    int64_t number;  /* as its record has it; COUNT_UNKNOWN */
    int64_t time_ns; /* when it was called, on the wall clock; TIME_UNKNOWN */
    int64_t bytes;   /* COUNT_UNKNOWN */
    int64_t block_id;
    int64_t ordinal; /* of the row, in the order of its file */
    int32_t series;  /* calls of one function, and of sends and receives with one peer */
    int32_t source;  /* file:line, interned; -1 */
    uint16_t row;    /* of the block */
    uint8_t function;
    uint8_t datatype;
    uint8_t is_unfinished;
};

struct told_calls {
    struct told_call *items; /* owned; by series, and within one by place */
    size_t count;
    size_t capacity;
};

/* Moments that a process read on its own clock and on the wall clock at once. */
struct wall_clock {
    int64_t *local_ns; /* owned; ascending */
    int64_t *wall_ns;  /* owned */
    size_t count;
};

int wall_clock_load(struct wall_clock *clock, struct store *store, int64_t process_id, struct error *error);
void wall_clock_release(struct wall_clock *clock);

/*
 * A time of the process on the wall clock: by the nearest moment that it read on both; without any, times are
 * either counted since the epoch, or nothing tells: TIME_UNKNOWN.
 */
int64_t wall_clock_at(const struct wall_clock *clock, int64_t local_ns);

/*
 * Reads a member's calls. `by_number`: its recorder numbers the calls of each function by one, so that
 * numbers that are left out are calls that it lost; else calls count as they come. Sources go to work->texts.
 */
int told_calls_load(struct told_calls *calls, struct work *work, struct logs *logs, int64_t member_id,
                    const struct wall_clock *clock, int by_number, struct error *error);
void told_calls_release(struct told_calls *calls);

/* Where the calls of the series that begins at `first` end. */
size_t told_calls_end(const struct told_calls *calls, size_t first);

/* -------------------- recorder_ranks.c -------------------- */

/* One rank as two recorders tell of it: their calls are laid beside each other, communicator by communicator.
 */

/* What the one does not know of a call, and the other does. */
struct recorder_extra_field {
    int64_t block_id; /* of the one's call, and its row there */
    uint16_t row;
    int32_t source; /* interned */
};

/* A call of which the two say different things: the first such, and how many there are. */
struct recorder_conflict {
    int64_t count;
    uint8_t function;
    int64_t kept; /* what the one says */
    int64_t other;
};

/* A member of the other and the one that it is, as the base tables number them. */
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
                         int32_t other); /* -1: no memory */

/* Of one rank, or of several added up. */
struct rank_match {
    size_t pairs;         /* calls that both tell of */
    size_t timed;         /* of these, in series that times tell apart */
    size_t left_over;     /* calls of the other's that the one must have seen, and does not tell of */
    int clocks;           /* both read the wall clock */
    int overlap;          /* at some time both recorded */
    int only_other_stops; /* the other has calls that never ended, made after the one's record ends */
    struct recorder_conflict sizes;
    struct recorder_conflict datatypes;
    struct recorder_members member_list;
    struct recorder_extra_field *gifts; /* owned */
    size_t gift_count;
    size_t gift_capacity;
};

/* What is needed for all ranks. */
struct recorder_match {
    struct work *work; /* borrowed, as are logs */
    struct logs *logs;
    struct map alike; /* whether two communicators may be one, by their numbers in work */
};

struct recorder_side {
    int32_t rank;                   /* in work */
    const struct wall_clock *clock; /* of its process */
    int by_number;                  /* see told_calls_load */
};

/* The members of one rank that called something, with their calls. Release them whatever comes back. */
struct member_list {
    int32_t *members; /* owned; numbers in work */
    struct told_calls *calls;
    unsigned char *is_taken;
    size_t count;
};
int members_load(struct member_list *member_list, struct recorder_match *recorder_match,
                 const struct recorder_side *side, struct error *error);
void members_release(struct member_list *member_list);

/* Whether two members may be one: the same number among the same ranks. -1: memory is out. */
int members_match(struct recorder_match *recorder_match, int32_t one, int32_t other);

/* Adds to `match` what comes of one rank. Release it whatever comes back. */
int ranks_match(struct recorder_match *recorder_match, const struct recorder_side *one,
                const struct recorder_side *other, struct rank_match *match, struct error *error);
void rank_match_release(struct rank_match *match);

/* What a rank's pairs have to be of all that both must have seen, so that it is one rank. */
int rank_match_fits(const struct rank_match *match);

/* -------------------- recorder_runs.c -------------------- */

/* Runs by one recorder each, and whether two of them are one job. */

enum recorder_kind {
    KIND_UNKNOWN,
    KIND_FRAMEWORK_LOG,
    KIND_LOG,
    KIND_DUMP,
    KIND_INSPECTOR, /* this and what follows knows how long operations took */
    KIND_PROFILER,
    KIND_PLUGIN
};

struct recorder_run {
    enum recorder_kind kind; /* of its recorders the one that knows most of an operation */
    int by_number;           /* see told_calls_load */
    int is_changed;
    int64_t operations;
    int64_t first_ns; /* when it called something first and last, on the wall clock; INT64_MAX and */
    int64_t last_ns;  /* TIME_UNKNOWN: nothing tells */
    char dialect[32]; /* of that recorder */
};

struct recorder_runs {
    struct recorder_run *items; /* owned: of each run */
    struct wall_clock *clocks;  /* owned: of each process */
    struct grouping ranks;      /* those that recorded something, by run */
    size_t process_count;
};

/* Release it whatever comes back. */
int recorder_runs_load(struct recorder_runs *runs, struct work *work, struct store *store,
                       struct error *error);
void recorder_runs_release(struct recorder_runs *runs);

/* Of two runs of one job, 1: the first counts. */
int recorder_counts(const struct recorder_runs *runs, int32_t run, int32_t other);

/* A process of the one and one of the other that are one rank, and what they say against each other. */
struct recorder_pair {
    int32_t one;
    int32_t other;
    struct recorder_conflict sizes;
    struct recorder_conflict datatypes;
};

enum encounter_verdict { ENCOUNTER_DIFFERENT, ENCOUNTER_DOUBTFUL, ENCOUNTER_SAME };

struct run_pair {
    int32_t one; /* run; it counts */
    int32_t other;
    enum encounter_verdict verdict;
    const char *why;             /* where doubtful */
    struct recorder_pair *pairs; /* owned */
    size_t pair_count;
    size_t pair_capacity;
    struct recorder_members member_list;
    struct recorder_extra_field *gifts; /* owned */
    size_t gift_count;
    size_t gift_capacity;
};

/* Compares encounter->one and encounter->other. Release it whatever comes back. */
int encounter_judge(struct run_pair *run_pair, struct recorder_match *recorder_match,
                    const struct recorder_runs *runs, struct error *error);
void encounter_release(struct run_pair *run_pair);

/* -------------------- recorder_match.c -------------------- */

/*
 * Which call of one recorder is which of another one's, in one series of one member: the same number apart
 * all along. Both read the clock of one machine at nearly the same moment, so that the right distance is the
 * one by which they agree best on when calls came, one after the other.
 */

/*
 * How far apart two recorders of a process read the clock for one call, in the middle: they do so in one
 * thread, a few function calls from each other; with the plugin, Inspector, Flight Recorder and PyTorch's
 * profiler it was up to 0.1 ms. Steps of a job that runs beside it are seldom so near, rank by rank.
 */
#define WITNESS_LAG_MOST_NS INT64_C(2000000)

/* A series of so many calls can be laid beside another one's. */
enum { WITNESS_PAIRS_LEAST = 3 };

struct series_match {
    int64_t shift;      /* a call's place of the one less that of the other */
    int64_t lag_ns;     /* median time by which the one tells of it later */
    int64_t spread_ns;  /* median distance from that */
    size_t pairs;       /* calls that both tell of */
    size_t timed;       /* of these, with times */
    size_t other_sizes; /* of these, with sizes that differ */
};

/*
 * 1 with the match; 0: the calls do not tell, or too few of them are in both; -1: memory is out. Both in
 * order of places.
 */
int series_align(const struct told_call *one, size_t one_count, const struct told_call *other,
                 size_t other_count, struct series_match *match);

/*
 * The same where one has too few calls to tell by themselves: by the time that it tells of others later.
 * Nothing is timed then: match->timed is 0.
 */
int series_align_near(const struct told_call *one, size_t one_count, const struct told_call *other,
                      size_t other_count, int64_t lag_ns, struct series_match *match);

/* Goes through the pairs of two series in order. Begin with {0, 0}; 1 with the next pair's indexes, 0: no
 * more. */
struct pair_cursor {
    size_t one;
    size_t other;
    size_t at_one; /* the pair */
    size_t at_other;
};
int series_next_pair(struct pair_cursor *cursor, const struct told_call *one, size_t one_count,
                     const struct told_call *other, size_t other_count, int64_t shift);

#endif
