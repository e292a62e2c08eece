#ifndef NCCLPROF_REPORT_STALLS_H
#define NCCLPROF_REPORT_STALLS_H

#include "base/base.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

struct analysis_request;
struct baseline;
struct findings;
struct job;
struct store;

/* -------------------- stalls_waits.c -------------------- */

/*
 * Network links (edges): wait times of the network steps of proxy threads, by sender and receiver. Each
 * figure uses the clock of one side only. Memory: 4 bytes per network step, and a cell per edge, kind of
 * operation and training step.
 */

/* A rank at one end of an edge. */
struct stalls_member {
    int64_t global_rank; /* -1: not known */
    char *name;          /* owned */
    int32_t run;
};

struct stalls_run {
    int64_t id;
    int32_t step_count; /* training steps */
    int32_t first_step; /* 1: step 0 is warm-up */
    int64_t network_steps;
};

/* Wait times of network steps, in units of 10 ns; a wait above 42 s is stored as 42 s. */
struct stalls_waits {
    uint32_t *items; /* owned */
    size_t count;
    size_t capacity;
};

/* What a network step of the sender waited for. */
enum stalls_wait { STALLS_NETWORK = 0, STALLS_PEER, STALLS_GPU, STALLS_WAITS };

enum stalls_verdict {
    STALLS_OK = 0,
    STALLS_UNKNOWN, /* there is nothing to compare with */
    STALLS_NO_DATA, /* the sender's GPU was late; not the network */
    STALLS_NO_CREDIT,
    STALLS_PAUSED,
    STALLS_SLOW_LINK,
    STALLS_SLOW_SENDER,
    STALLS_SLOW_RECEIVER,
    STALLS_NOT_CONFIRMED /* it was slow, but diagnose has no finding that explains it */
};

struct stalls_edge {
    int32_t run;
    int32_t sender; /* index in member_list, like `receiver` */
    int32_t receiver;
    int32_t communicator;        /* -1: all of them */
    const char *label;           /* borrowed: its label; "" for all of them */
    int32_t channel;             /* -1: all of them */
    int64_t sent_steps;          /* network steps recorded by the sender */
    struct stalls_waits send;    /* SendWait of the steps that reached that state and whose end is known */
    struct stalls_waits receive; /* RecvWait of steps recorded by the receiver, same condition */
    int64_t send_wait_max_ns;
    enum stalls_verdict verdict; /* then the figures that it is based on */
    int32_t first_step;          /* first_step and last_step are -1 if there are none */
    int32_t last_step;
    int64_t stalled_ns;
    double wait_mean_ns; /* mean SendWait in those steps, then its baseline; negative: not known */
    double usual_mean_ns;
};

/*
 * The sums over the network steps of an edge in one kind of operation and one training step.
 * judge_learn_usual later merges the kinds of operation. `busy_ns` is the time in which at least one network
 * step waited, because several can wait at the same time.
 */
struct stalls_cell {
    int32_t edge;
    int32_t place; /* kind of operation: function, size, tag */
    int32_t step;
    int64_t operations;
    int64_t steps;
    int64_t wait_ns; /* SendWait, sum over network steps */
    int64_t usual_wait_ns;
    int64_t busy_ns[STALLS_WAITS];
    int64_t usual_ns[STALLS_WAITS];
};

struct stalls {
    int by_channel;
    int by_communicator;
    struct roster roster;
    struct stalls_run *runs; /* owned, like all members below; the runs of the roster */
    size_t run_count;
    struct stalls_member *member_list; /* ranks of the roster, then unidentified ranks */
    size_t member_list_count;
    size_t member_capacity;
    struct stalls_edge *edges;
    size_t edge_count;
    size_t edge_capacity;
    struct stalls_cell *cells;
    size_t cell_count;
    size_t cell_capacity;
    size_t place_count;
    int64_t detached_steps; /* steps of other processes' communicators (PXN), which belong to no edge */
    struct intern tags;
    struct map unidentified_members; /* communicator, rank in it -> index of a rank that is not identified */
    struct map edge_of;
    struct map cell_of;
    struct map place_of;
};

struct stalls_options {
    double sigmas;    /* threshold above the spread of the links at one place of the step */
    double factor;    /* threshold as a multiple of the baseline wait */
    double min_stall; /* threshold as a part of a median step, 0.03 for 3 % */
};

void stalls_init(struct stalls *stalls);
void stalls_release(struct stalls *stalls);

/* -------------------- stalls.c -------------------- */

/* The only edge to show, if one is selected; global ranks. */
struct only_edge {
    int is_asked;
    int64_t sender;
    int64_t receiver;
};

/* Adds a row for each edge, worst first; sorts stalls->edges in that order. Returns -1 on error. */
int stalls_show_edges(struct stalls *stalls, const struct only_edge *only, struct table *table,
                      struct error *error);

/* The figures of an edge, as columns of a table. */
enum stalls_column {
    AT_SENDER,
    AT_RECEIVER,
    AT_COMMUNICATOR,
    AT_CHANNEL,
    AT_STEPS,
    AT_SEND_P50,
    AT_SEND_MAX,
    AT_RECV_P50,
    AT_STALLED,
    AT_FIRST_STEP,
    AT_LAST_STEP,
    AT_VERDICT,
    AT_WAIT_MEAN,
    AT_USUAL_MEAN,
    AT_SENDER_NAME,
    AT_RECEIVER_NAME,
    AT_RUN,
    AT_SENDER_HOST,
    AT_RECEIVER_HOST,
    STALLS_COLUMNS
};

/* -------------------- stalls_load.c -------------------- */

/* Reads every network step of the runs that stalls_load_names loaded. Returns -1 on error. */
int stalls_load_steps(struct stalls *stalls, struct store *store, struct error *error);

/* Loads runs, ranks and communicators. Call it first. `run_id` 0: all runs. Returns -1 on error. */
int stalls_load_names(struct stalls *stalls, struct store *store, int64_t run_id, struct error *error);

/*
 * The index in member_list of a rank of a communicator. A rank that is not identified gets a new entry. -1
 * when memory is out.
 */
int32_t stalls_member(struct stalls *stalls, int32_t communicator, int64_t rank);

/* The host of an entry of member_list; NULL: unknown. */
const char *stalls_host_of(const struct stalls *stalls, int32_t member);

/* -------------------- stalls_pending.c -------------------- */

/* Lists the proxy operations that never ended. Returns -1 on error. */
int stalls_list_states(struct stalls *stalls, struct store *store, struct table *table, struct error *error);

/* Upper bound for the number of different texts of stalls_pending_state and of the listing. */
enum { PENDING_STATES_MOST = 16 };

/* Number of unfinished proxy operations in one state, and the first edge that has one. */
struct pending_state_count {
    const char *reading; /* static text: the state */
    int64_t count;
    int32_t sender; /* index in member_list, like `receiver` */
    int32_t receiver;
    int has_others; /* another edge has one as well */
};

struct pending_state_counts {
    struct pending_state_count items[PENDING_STATES_MOST];
    size_t count;
};

/* Counts the same operations by state. Call it after stalls_load_names. Returns -1 on error. */
int stalls_count_states(struct stalls *stalls, struct store *store, struct pending_state_counts *counted,
                        struct error *error);

/*
 * What an unfinished proxy operation was waiting for, from the counters of profiler API v1 to v3.
 * ncclprof-stalls(1) describes their interpretation.
 */
const char *stalls_pending_state(const struct proxy_operation *proxy);

/* -------------------- stalls_verdict.c -------------------- */

/* Fills in the baseline of each wait. Call it once, after stalls_load_steps. Returns -1 on error. */
int stalls_learn(struct stalls *stalls, struct error *error);

/*
 * Gives the edges of one run (its index in stalls->runs) their verdicts from the account of diagnose. A
 * finding about the network of an edge is the verdict. Otherwise a finding about the GPU or host of one of
 * its ends is, if the edge waited for that end. An edge that was slow without such a finding is "not
 * confirmed". The findings are in steps of `told`, whose steps are those of `job` unless the run does not fit
 * in memory (struct judgement). Call it before the edges are sorted. Returns -1 on error.
 */
int stalls_judge(struct stalls *stalls, int32_t run, const struct job *job, const struct baseline *baseline,
                 const struct job *told, const struct findings *findings,
                 const struct stalls_options *options, struct error *error);

/*
 * Learns the baselines, diagnoses every run that has network steps, and judges its edges. Warns about a run
 * of which only some steps were diagnosed.
 */
int stalls_judge_all(struct stalls *stalls, const struct analysis_request *request,
                     const struct stalls_options *options, const char *memory_mib, struct table *table,
                     struct error *error);

/* Whether a verdict says that the network, or one end of it, was slow. */
int stalls_is_slow(enum stalls_verdict verdict);

const char *stalls_verdict_name(enum stalls_verdict verdict);

/* The colour of a verdict by its name; no colour for any other text. */
enum colour stalls_verdict_colour(const char *name);

/* -------------------- stalls_waits.c -------------------- */

/*
 * The waits of the network steps of one operation, by what they waited for, until they are added to its
 * cells.
 */
struct wait_span {
    int64_t begin_ns;
    int64_t end_ns;
    int32_t cell;
};

struct span_list {
    struct wait_span *items; /* owned */
    size_t count;
    size_t capacity;
};

struct spans {
    struct span_list of[STALLS_WAITS];
    struct sort_entry *by_cell; /* owned scratch memory, like the members below: room for `room` items */
    struct sort_entry *by_begin;
    struct sort_entry *scratch;
    size_t room;
};

void spans_release(struct spans *spans);

/*
 * Adds a wait of a network step to `cell`. A wait without begin or end is ignored. Returns -1 when memory is
 * out.
 */
int spans_add(struct spans *spans, int32_t cell, enum stalls_wait wait, const struct interval_ns *interval);

/* Number of waits. */
size_t spans_count(const struct spans *spans);

/*
 * Call it when an operation is complete. Adds to each of its cells the time in which at least one of its
 * network steps waited, and empties `spans`. Returns -1 when
 * memory is out.
 */
int spans_sum(struct spans *spans, struct stalls_cell *cells);

/* Returns -1 when memory is out. */
int stalls_add_wait(struct stalls_waits *waits, int64_t wait_ns);

/* The median (nearest rank) in microseconds; negative if there is none. */
double stalls_median_us(const struct stalls_waits *waits);

#endif
