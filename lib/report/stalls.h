#ifndef NCCLPROF_REPORT_STALLS_H
#define NCCLPROF_REPORT_STALLS_H

#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

struct findings;
struct job;
struct store;

/* -------------------- stalls_waits.c -------------------- */

/*
 * Network edges: what the steps of the proxy threads waited for, by sender and receiver. All figures are of
 * one side's clock at a time. Memory: 4 bytes a network step, and a cell an edge, kind of operation and
 * training step.
 */

/* A rank as an end of an edge. */
struct stalls_member {
    int64_t global_rank; /* -1 */
    char *name;          /* owned */
    int32_t run;
};

struct stalls_run {
    int64_t id;
    int32_t step_count;     /* training steps */
    int32_t first_step;     /* 1: step 0 is warm-up */
    int64_t median_step_ns; /* 0: not known */
    int64_t network_steps;
};

/* Waits of network steps, in units of 10 ns; what is longer than 42 s counts as that. */
struct stalls_waits {
    uint32_t *items; /* owned */
    size_t count;
    size_t capacity;
};

/* What a step of the sending side waited for. */
enum stalls_wait { STALLS_NETWORK = 0, STALLS_PEER, STALLS_GPU, STALLS_WAITS };

enum stalls_verdict {
    STALLS_OK = 0,
    STALLS_UNKNOWN, /* nothing to compare with */
    STALLS_NO_DATA, /* the sender's GPU was late: not the network */
    STALLS_NO_CREDIT,
    STALLS_PAUSED,
    STALLS_SLOW_LINK,
    STALLS_SLOW_SENDER,
    STALLS_SLOW_RECEIVER,
    STALLS_NOT_CONFIRMED /* it was slow, and diagnose does not believe that it was the network's fault */
};

struct stalls_edge {
    int32_t run;
    int32_t sender; /* seats */
    int32_t receiver;
    int32_t communicator;        /* -1: all of them */
    const char *label;           /* borrowed: its label; "" for all of them */
    int32_t channel;             /* -1: all of them */
    int64_t sent_steps;          /* network steps that the sender recorded */
    struct stalls_waits send;    /* SendWait of those that came to it, and whose end is known */
    struct stalls_waits receive; /* RecvWait of the receiver's, likewise */
    int64_t send_wait_max_ns;
    enum stalls_verdict measured; /* by its waits alone */
    /* The verdict, which is that of diagnose where there is one, and what it rests on. */
    enum stalls_verdict verdict;
    int32_t first_step; /* -1 with last_step: none */
    int32_t last_step;
    int64_t stalled_ns;
    double wait_mean_ns; /* SendWait in those steps, and usually; negative: not known */
    double usual_mean_ns;
};

/*
 * An edge's steps in one kind of operation and one training step, summed. Later (judge_learn_usual) the same
 * over all kinds of operation. `busy_ns` is the time in which at least one network step waited: several wait
 * at once.
 */
struct stalls_cell {
    int32_t edge;
    int32_t place; /* the kind of operation: function, size, tag */
    int32_t step;
    int32_t received; /* recorded by the receiver: busy_ns[STALLS_NETWORK] is RecvWait */
    int64_t operations;
    int64_t steps;
    int64_t wait_ns; /* SendWait, summed over network steps */
    int64_t usual_wait_ns;
    int64_t busy_ns[STALLS_WAITS];
    int64_t usual_ns[STALLS_WAITS];
    int64_t standstill_ns; /* longest time in which steps were on their way and none arrived */
};

struct stalls {
    int by_channel;
    int by_communicator;
    struct roster roster;
    struct stalls_run *runs; /* owned, as all below; those of the roster */
    size_t run_count;
    struct stalls_member
        *member_list; /* the ranks of the roster, and behind them those that nobody says who they are */
    size_t seat_count;
    size_t member_capacity;
    struct stalls_edge *edges;
    size_t edge_count;
    size_t edge_capacity;
    struct stalls_cell *cells;
    size_t cell_count;
    size_t cell_capacity;
    size_t place_count;
    int64_t detached_steps; /* of other processes' communicators (PXN): nobody's edge */
    struct intern tags;
    struct map made_members; /* communicator, rank in it -> those of nobody that is known */
    struct map edge_of;
    struct map cell_of;
    struct map place_of;
};

struct stalls_options {
    double sigmas;    /* beyond an edge's own spread */
    double factor;    /* times its usual wait */
    double min_stall; /* of a median step, 0.03 for 3 % */
};

void stalls_init(struct stalls *stalls);
void stalls_release(struct stalls *stalls);

/* -------------------- stalls.c -------------------- */

/* The only edge that is shown, where one is asked for: global ranks. */
struct only_edge {
    int is_asked;
    int64_t sender;
    int64_t receiver;
};

/* A row for each edge, worst first; edges are put in that order. */
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
    AT_MEASURED,
    AT_WAIT_MEAN,
    AT_USUAL_MEAN,
    AT_SENDER_NAME,
    AT_RECEIVER_NAME,
    AT_RUN,
    STALLS_COLUMNS
};

/* -------------------- edge_verdicts.c -------------------- */

/*
 * One decision for all: edges that are judged by their waits take their verdict from what diagnose finds.
 * Where it blames the sending or the receiving side of an edge, that is the verdict; one that was slow and
 * that it does not blame is not confirmed. Before edges are put in another order.
 */
int edges_take_verdicts(struct stalls *stalls, struct store *store, struct error *error);

/* The same of one run (its place in `stalls`) that is diagnosed already. */
int edges_take_verdicts_of(struct stalls *stalls, int32_t run, const struct job *job,
                           const struct findings *findings, struct error *error);

/* -------------------- stalls_load.c -------------------- */

/* Every network step of the runs whose names are loaded (stalls_load.c). */
int stalls_load_steps(struct stalls *stalls, struct store *store, struct error *error);

/* Runs, ranks and communicators; first of all. `run_id` 0: of all runs. */
int stalls_load_names(struct stalls *stalls, struct store *store, int64_t run_id, struct error *error);

/* The seat of a rank of a communicator, made up where nobody says who it is; -1 when memory is out. */
int32_t stalls_member(struct stalls *stalls, int32_t communicator, int64_t rank);

/* -------------------- stalls_pending.c -------------------- */

/* The listing of proxy operations that never ended. */
int stalls_list_states(struct stalls *stalls, struct store *store, struct table *table, struct error *error);

/* So many texts stalls_read_states and the listing have, or less. */
enum { READINGS_MOST = 16 };

/* Unfinished proxy operations of one reading, and the first edge on which there is one. */
struct reading_count {
    const char *reading; /* static */
    int64_t count;
    int32_t sender; /* seats */
    int32_t receiver;
    int has_others; /* and on another edge */
};

struct readings_counted {
    struct reading_count items[READINGS_MOST];
    size_t count;
};

/* The same, counted. Names are loaded. */
int stalls_count_states(struct stalls *stalls, struct store *store, struct readings_counted *counted,
                        struct error *error);

/* What an unfinished proxy operation was waiting for. Counters, which API v1 to v3 keep, are read as
 * ncclprof-stalls(1) says. */
const char *stalls_read_states(const struct proxy_operation *proxy);

/* -------------------- stalls_verdict.c -------------------- */

/* Gives every edge what its waits alone say, as `measured` and as verdict. */
int stalls_judge(struct stalls *stalls, const struct stalls_options *options, struct error *error);

/* Whether a verdict is that the network, or an end of it, was slow. */
int stalls_is_slow(enum stalls_verdict verdict);

/*
 * Fills in what an edge waited beyond the usual in those training steps, where its own verdict rests on none.
 * Before edges are put in another order.
 */
void stalls_measure_steps(struct stalls *stalls, size_t edge, int32_t first_step, int32_t last_step);

const char *stalls_verdict_name(enum stalls_verdict verdict);

/* What the files that judge edges share. */

/* Consecutive training steps in which an edge's wait stands out. */
struct episode {
    int32_t edge;
    int32_t first_step;
    int32_t last_step;
    enum stalls_wait wait;
    int64_t total_ns;
    int64_t weakest_ns;
    int64_t standstill_ns;
    double wait_mean_ns;
    double usual_mean_ns;
};

/* What is usual for an edge in one kind of operation, and how long its steps wait in the middle. */
struct usual_wait {
    int32_t edge;
    int32_t place;
    double wait_ns;    /* median over training steps of SendWait per network step */
    double busy_ns;    /* per training step */
    double operations; /* likewise */
};

struct judge {
    struct stalls *stalls;
    const struct stalls_options *options;
    size_t *first; /* per edge, and one past the end: its cells */
    struct episode *episodes;
    size_t episode_count;
    size_t episode_capacity;
    struct usual_wait *usuals;
    size_t usual_count;
    size_t usual_capacity;
    int64_t *list;      /* scratch, of as many as an edge has cells */
    struct map inbound; /* seat, training step -> the most that its receives waited beyond the usual */
};

/* -------------------- stalls_episodes.c -------------------- */

/* Sigma of what an edge waited beyond the usual in a training step. */
int64_t judge_spread_ns(struct judge *judge, size_t edge, enum stalls_wait wait);

/* The least that counts in a step. */
int64_t judge_least_ns(const struct judge *judge, size_t edge);

int judge_stands_out(const struct judge *judge, const struct stalls_cell *cell, enum stalls_wait wait,
                     int64_t sigma_ns);

/* Training steps of an edge after the warm-up. */
int32_t judge_steps_seen(const struct judge *judge, size_t edge);

/* Fills in judge->episodes, once the usual is known. -1: memory is out. */
int judge_find_episodes(struct judge *judge);

/* Training steps that an edge is judged by, at the least. */
enum { LEAST_STEPS = 3 };

/*
 * Fills in what is usual for each cell and judge->usuals; then sums the cells of an edge and training step
 * over all kinds of operation, and fills in judge->first. -1: memory is out.
 */
int judge_learn_usual(struct judge *judge);

/* -------------------- stalls_waits.c -------------------- */

/* The waits of one operation's network steps, by what they waited for, until they are summed into its cells.
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
    struct sort_entry *by_cell; /* scratch, owned, as are the next two: room for `room` */
    struct sort_entry *by_begin;
    struct sort_entry *scratch;
    int64_t *ends; /* likewise */
    size_t room;
};

void spans_release(struct spans *spans);

/* Notes a wait of a step of `cell`. One without both ends says nothing; -1 when memory is out. */
int spans_add(struct spans *spans, int32_t cell, enum stalls_wait wait, const struct interval_ns *interval);

/* How many waits are noted. */
size_t spans_count(const struct spans *spans);

/*
 * The operation is complete: adds to each of its cells how long at least one of its steps waited, and keeps
 * the longest standstill of the network. There are none left afterwards. -1 when memory is out.
 */
int spans_sum(struct spans *spans, struct stalls_cell *cells);

/* -1: memory is out. */
int stalls_add_wait(struct stalls_waits *waits, int64_t wait_ns);

/* Median, nearest rank. Negative for none. */
double stalls_median_us(const struct stalls_waits *waits);

#endif
