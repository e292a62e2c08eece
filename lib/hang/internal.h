/*
 * Shared by the files of lib/hang: how far each rank came with each call (call_states), what a rank usually
 * calls (call_sequence), how far each operation came (progress), which ranks did not join an operation
 * (absence), and which rank waits for which (wait_graph).
 *
 * A rank's record is everything that was recorded of it: the file of its recorder, its dump, or its lines in
 * a log. Functions that return int return -1 when memory runs out, and 0 otherwise, unless they answer a
 * yes-or-no question. A struct whose init function failed must still be released.
 */
#ifndef NCCLPROF_HANG_INTERNAL_H
#define NCCLPROF_HANG_INTERNAL_H

#include "diagnose/diagnose.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct extents;
struct job;
struct job_instance;
struct job_rank;

/* Whether both texts are known and equal. */
static inline int is_same_text(const char *text, const char *other)
{
    return text && other && strcmp(text, other) == 0;
}

/* -------------------- call_states.c -------------------- */

/*
 * The state of a call on one rank, where the recorder itself says how far each call came (Flight Recorder
 * dumps). It follows from the rank's record of the call, or from the sequence numbers around it where that
 * record was overwritten, and from the progress that the rank reports.
 */
enum call_state {
    CALL_UNKNOWN = 0, /* the rank left no record, or its record is cut before this call */
    CALL_NEVER,       /* its host did not make the call */
    CALL_OPEN,        /* made and not finished */
    CALL_DONE
};

struct call_at {
    enum call_state state;
    int32_t operation; /* the record of the call; -1: none */
    int is_sure;       /* 0: records are lost, so that CALL_NEVER may be CALL_DONE */
    /*
     * CALL_NEVER is true if the others called at or after this time; before it, the state is CALL_UNKNOWN.
     * 0: CALL_NEVER is true at any time.
     */
    int64_t never_from_ns;
};

/* What a rank recorded on one communicator. */
struct call_reach {
    int32_t rank;
    int32_t communicator;
    /* The greatest sequence number of its collectives, recorded or reported; -1: none */
    int64_t greatest;
    int64_t recorded;      /* the greatest that is recorded; -1: none */
    int64_t greatest_done; /* the greatest of those that are finished; -1: none */
    int64_t first_pair;    /* first number of its sends and receives; -1: none */
    int64_t last_pair;
    int64_t pairs_counted; /* how many different numbers those have */
    int has_progress;      /* the rank reports how far it came */
};

struct call_states {
    const struct job *job;
    int32_t *oldest;        /* owned, by rank: its oldest open call; -1: none */
    unsigned char *is_done; /* owned, by rank: whether any of its calls is finished */
    /* Owned, by rank: whether its record was written before calls of other ranks finished */
    unsigned char *is_stale;
    unsigned char *has_told;  /* owned, by rank: whether it reports how far it came */
    unsigned char *has_open;  /* owned, by rank: whether it reports more enqueued than completed calls */
    unsigned char *has_pairs; /* owned, by communicator: whether it has sends and receives */
    /* (communicator, number) of the collectives that are the oldest open call of some rank */
    struct map wanted;
    struct map calls;         /* (rank, communicator, number) -> operation, for the collectives in `wanted` */
    struct map reach_of;      /* (rank, communicator) -> index in `reach` */
    struct call_reach *reach; /* owned */
    size_t reach_count;
    size_t reach_capacity;
    /* (rank, communicator and function, peer, n) -> the nth open one; for n = -1, how many are finished */
    struct map pairs;
};

/* -1 when memory runs out; release it anyway. */
int call_states_init(struct call_states *states, const struct job *job);
void call_states_release(struct call_states *states);

/*
 * The state of a collective on `rank`. `operation` is the collective, which must be the oldest open call of
 * some rank.
 */
struct call_at call_of(const struct call_states *states, int32_t rank, int32_t operation);

/* The state of the other end of an open send or receive; *peer is the rank of that end, -1: not known. */
struct call_at call_of_peer(const struct call_states *states, int32_t operation, int32_t *peer);

/* Whether a rank launched operation `next` in the same group call as `operation`, the one before it. */
int call_is_launched_with(const struct job *job, int32_t operation, int32_t next);

/* What a rank recorded on a communicator; NULL: nothing. */
const struct call_reach *call_reach_of(const struct call_states *states, int32_t rank, int32_t communicator);

/* Whether the end of a rank's record may be missing: it was cut, or most records were. */
int call_is_cut(const struct job *job, int32_t rank);

/* Whether a rank left a record. */
int call_is_recorded(const struct job *job, int32_t rank);

/* -------------------- call_sequence.c -------------------- */

/*
 * The call sequence of each rank: the calls of one step, over all communicators and in order, as earlier
 * steps show it, and whether the calls since then follow it. A rank that stopped or waits has made the first
 * calls of the sequence and no others. A rank that called something that does not come next has left the
 * sequence.
 */
enum sequence_check {
    SEQUENCE_UNKNOWN = 0, /* no two of its earlier steps are the same, or records may be lost */
    SEQUENCE_FOLLOWED,
    SEQUENCE_LEFT
};

struct sequence_check_of_rank {
    enum sequence_check sequence_check;
    int32_t usual;      /* the first operation of a step that is repeated; the step has `length` operations */
    int32_t length;     /* 0: not known */
    int32_t same_usual; /* the first operation of another step with the same calls */
    int32_t first;      /* the first operation after the last complete step of the rank */
    int32_t called;     /* number of calls since then */
    int32_t followed;   /* of these, the number that follow the sequence before it leaves it */
    int32_t departs_at; /* SEQUENCE_LEFT: the first operation that does not come next; -1 otherwise */
    int32_t expected;   /* the operation of the repeated step that comes next; -1: none */
};

struct call_sequence {
    const struct job *job;
    struct sequence_check_of_rank *ranks; /* owned, by rank */
};

/*
 * `first_stuck` is the first step in which a rank waits; INT32_MAX: none. -1 when memory runs out; release it
 * anyway.
 */
int call_sequence_init(struct call_sequence *sequence, const struct job *job, int32_t first_stuck);
void call_sequence_release(struct call_sequence *sequence);

/* How many ranks follow their call sequence, and how many leave it. */
struct sequence_counts {
    int32_t kept;
    int32_t left;
};

struct sequence_counts call_sequence_count(const struct call_sequence *sequence);

/*
 * Whether a rank follows its call sequence and is in the middle of a step, counted from the way its very
 * first step starts: steps that were detected only because calls recur may start anywhere in the sequence.
 */
int call_sequence_is_midway(const struct call_sequence *sequence, int32_t rank);

/* -------------------- progress.c -------------------- */

/* How far each operation of a job came when the traces end. */
struct operation_progress {
    const struct job *job;
    int32_t *finished_step; /* by rank: the last step in which its GPU finished an operation; -1: none */
    /* By operation, for the first of each group call: the next operation on its stream; -1: none */
    int32_t *next;
    unsigned char *lacking; /* by instance: a rank did not join whose record would show it if it had */
    /*
     * (rank, communicator, function, peer, bytes) -> which timestamps such operations have, and which the
     * last one that was followed by another lacks
     */
    struct map likes;
};

/* -1 when memory runs out; release it anyway. */
int operation_progress_init(struct operation_progress *progress, const struct job *job);
void operation_progress_release(struct operation_progress *progress);

/*
 * Whether an operation is over: it ended, or the next one on its stream started, or its rank finished
 * operations of later steps. The network proxy may be done while the kernel still waits.
 */
int operation_progress_is_over(const struct operation_progress *progress, int32_t operation);

/*
 * Whether an operation is held up: it is not over, and not just because a record is missing. The record of
 * its rank is complete, operations like it have timestamps, and the last one like it that was followed by
 * another has its end (or there is none). Where only calls are recorded: some rank never made the call.
 */
int operation_progress_is_held(const struct operation_progress *progress, int32_t operation);

/* Whether its GPU started the operation, as recorded, and waits in it. */
int operation_progress_waits(const struct operation_progress *progress, int32_t operation);

/*
 * Whether its host called the operation and its GPU never started it: it has no start, while the last
 * operation like it (of the same rank, kind and size) that was followed by others has one.
 */
int operation_progress_never_began(const struct operation_progress *progress, int32_t operation);

/* Operations that some of their ranks started and none got past, and the ranks that did not join them. */

/* In which operations a rank waits, and which it did not join. */
struct attendance {
    int32_t missing_from; /* the first pending instance that the rank did not join; -1: none */
    int32_t place;        /* the position of that in its step */
    /* The last pending instance that was examined and has the rank as a member; -1: none */
    int32_t came_to;
    /* It waits in a pending operation, or its GPU waits in one that others never started */
    int is_waiting;
    int is_lost; /* its record ends before operations that others finished together with it */
};

struct absence {
    int64_t pieces; /* number of pieces in the store, see job_count_pieces */
    const struct job *job;
    const int32_t *positions; /* of the baseline, by operation */
    const struct extents *extents;
    unsigned char *pending; /* by instance */
    struct attendance *ranks;
    struct operation_progress operation_progress;
    struct call_sequence call_sequence;
    struct sequence_counts sequence_counts;
    int32_t last_step;       /* of all operations */
    int32_t last_begun_step; /* of the operations that a GPU started; last_step where no start is recorded */
    int32_t first_stuck;     /* the first step in which a rank is held up; last_step: none is */
    int is_stuck;            /* a rank is held up */
    int is_sure;             /* the instance being examined is certainly pending */
    size_t absent_count;     /* ranks that did not join, by a record that is complete */
    size_t unrecorded_count; /* other ranks that did not join, whose record is missing or cut */
};

/*
 * Whether an instance is pending: some rank never joined and none of those that started it got past it. In a
 * collective that no rank can finish before all have joined, a recorded end does not count while others are
 * missing: a leaf of a tree records its stop once it has passed on its data. With `to_be_sure`, a rank whose
 * record always lacks ends counts as past it.
 */
int is_pending(const struct absence *absence, const struct job_instance *instance, int to_be_sure);

/* Records which ranks wait in a pending instance, and which did not join it. */
void note_pending(struct absence *absence, int32_t instance);

/*
 * Records which ranks wait on their GPU in an instance that all hosts called, where some GPU has not started
 * it, or none got past it.
 */
void note_waiting(struct absence *absence, const struct job_instance *instance);

/*
 * Adds the ranks that wait in a pending instance to the finding, as peers and in the evidence. -1 when memory
 * runs out.
 */
int append_waiting(const struct absence *absence, int32_t instance, struct finding *finding);

/* -------------------- call_states.c -------------------- */

/*
 * Jobs of which only calls are recorded (calls_only in struct job): NCCL's log and its RAS. What became of a
 * call is not known, but no rank gets past a call that others never made, and a host that waits makes no
 * further calls.
 */

/*
 * The confidence that a rank which did not make a call is what the others wait for. It is low where the log
 * may be of a running job (the ranks that made the call went on to different calls, which waiting hosts do
 * not), where the rank may itself wait for a rank without a log, and where RAS may have seen a running job.
 */
enum confidence open_calls_confidence(const struct absence *absence, int32_t rank);

/*
 * Whether the ranks that made the call are merely ahead: RAS looked once, and some hosts of a running job are
 * always ahead, without any missing rank.
 */
int open_calls_are_ahead(const struct job *job, const struct job_instance *instance);

/* Ranks whose record would show their calls. */

/* Whether the record of a rank would show that it joined: it exists and is complete. */
int is_recorded(const struct job *job, int32_t rank);

/*
 * By instance: whether a rank did not join whose record would show it if it had. The caller frees the array.
 * NULL when memory runs out.
 */
unsigned char *list_lacking(const struct job *job);

/* -------------------- mismatch.c -------------------- */

/*
 * Finds ranks that called a collective with another size, datatype or root than the other members, or two
 * collectives in another order. Reports one per communicator: the first that holds up a rank, or else the
 * first. `stuck` says by instance whether a rank is held up; `positions` are those of the baseline. -1 when
 * memory runs out.
 */
int find_disagreements(const struct job *job, const int32_t *positions, const unsigned char *stuck,
                       struct findings *findings);

/* Appends that the calls of earlier steps decided which rank is at fault. */
int append_habit(struct buffer *text);

/* -------------------- call_sequence.c -------------------- */

/*
 * What a rank usually calls next. Where two sides disagree about an operation, this shows which side is the
 * odd one. It compares the operation with the one that followed the same predecessor on the same communicator
 * whenever that came at the same position of a step; or, where positions are not known, whenever the
 * predecessor was the same function with as many bytes.
 */
enum call_pattern {
    CALL_PATTERN_UNKNOWN = 0, /* the predecessor has not come before, or was followed by each as often */
    CALL_PATTERN_KEPT,        /* usually the same function with as many bytes followed */
    CALL_PATTERN_BROKEN
};

/* Looks at a bounded number of earlier operations of that rank. `positions` are those of the baseline. */
enum call_pattern call_pattern_at(const struct job *job, const int32_t *positions, int32_t operation);

/*
 * The operation that a rank is likely to call next: in its own record, the operation after the longest series
 * of calls equal to its most recent calls, the latest of several; -1 where its last call has no equal. Calls
 * are equal if they agree in communicator, function, size, peer and source line. Needs job->calls.
 */
int32_t usual_next(const struct job *job, int32_t rank);

/* -------------------- divergence.c -------------------- */

/*
 * For jobs where no rank is absent: on one communicator, some ranks wait in one operation and some in
 * another. Finds those that are at fault. -1 when memory runs out.
 */
int find_mismatches(const struct absence *absence, struct findings *findings);

/* -------------------- wait_graph.c -------------------- */

/*
 * Which rank waits for which, over all communicators. Each rank waits in its oldest open call, together with
 * all calls of the same group call. Of the other members of that call:
 * - those that have the same oldest open call wait with it;
 * - those that have the call open behind an older one, or never made it, are waited for;
 * - where all others have it finished, the rank's own GPU has not finished it.
 *
 * All ranks that wait in one collective wait for the same ranks, so their waits are stored once, with the
 * call. The size of the graph is therefore the number of members of the calls that ranks wait in, however
 * many ranks wait.
 */

/* One wait: the ranks that wait in a call wait for rank `to`. */
struct wait {
    /* The rank waited for; if it waits in the call itself, this wait does not apply to it */
    int32_t to;
    int32_t call;      /* index in `calls` */
    int32_t operation; /* the send or receive that is waited in; -1: the collective of the call */
    /* The call of `to` where it has the call open; -1: it never made it, or that is not known */
    int32_t behind;
    /*
     * Ranks that made the call before this time may not wait for `to`: its record does not reach back so far
     */
    int64_t sure_from_ns;
    int32_t next_to; /* the next wait for the same rank; -1: none */
};

/* Ranks that wait in the same call and whose operations are matched to one instance. */
struct wait_party {
    int32_t instance;
    int32_t count;
    int32_t earliest; /* the rank that made the call first; of several the lowest */
    int32_t next;     /* the next party of the same call; -1: none */
};

/* A collective that ranks wait in, or the sends and receives of one rank in one group call. */
struct wait_call {
    int32_t first_waiter; /* ascending; the others are linked by struct waiter */
    int32_t last_waiter;
    int32_t first_party; /* -1: sends and receives */
    int32_t first;       /* first wait of the call, index in `waits` */
    int32_t count;
    int64_t sure_from_ns; /* the least sure_from_ns of its waits */
    int32_t with;         /* members that are as far as the ranks that wait, these included */
    int32_t done;         /* members that have finished it */
};

/* A rank in its oldest open call. */
struct waiter {
    int32_t operation; /* the oldest open call; -1: none */
    int32_t call;      /* index in `calls`; -1: none */
    int32_t next;      /* the next rank that waits in the same call; -1: none */
    int32_t count;     /* number of its waits */
    int is_sure;       /* at least one of its waits is certain */
    int32_t with;      /* other members that are as far as it is */
    int32_t done;
};

struct wait_graph {
    const struct job *job;
    struct call_states states;
    struct waiter *waiters; /* owned, by rank */
    int32_t *waits_for;     /* owned, by rank: the first wait for it; -1: none */
    struct wait *waits;     /* owned; grouped by call, in the order of the first rank that waits in each */
    size_t wait_count;
    size_t wait_capacity;
    struct wait_call *calls; /* owned */
    size_t call_count;
    size_t call_capacity;
    struct wait_party *parties; /* owned */
    size_t party_count;
    size_t party_capacity;
    struct map call_of;  /* (communicator, number) of a collective -> index in `calls` */
    struct map party_of; /* (call, instance) -> index in `parties` */
    int is_cut;          /* the graph is incomplete: there are more waits than the limit */
};

/* -1 when memory runs out; release it anyway. */
int wait_graph_init(struct wait_graph *graph, const struct job *job);
void wait_graph_release(struct wait_graph *graph);

/* The operation that rank `from` waits in, for one of its waits. */
int32_t wait_operation(const struct wait_graph *graph, const struct wait *wait, int32_t from);

/* Whether it is certain that rank `from` waits for this. */
int wait_is_sure(const struct wait_graph *graph, const struct wait *wait, int32_t from);

/* The party of a call whose operations are matched to an instance; NULL: none. */
const struct wait_party *wait_party_of(const struct wait_graph *graph, int32_t call, int32_t instance);

/* -------------------- divergence.c -------------------- */

/*
 * Finds, among the calls that ranks wait in, ranks that made a different call than the others under the same
 * sequence number: another function, datatype or size; of AlltoAll, whose sizes may differ between ranks,
 * another row size. The majority is right. Without a majority, those are at fault that left the pattern of
 * their earlier calls (call_pattern_at) while others kept theirs; where that does not decide, all are
 * candidates. `positions` are those of the baseline. -1 when memory runs out.
 */
int find_call_mismatches(const struct wait_graph *graph, const int32_t *positions, struct findings *findings);

/*
 * Whether a rank leaves its call sequence and waits there, or other ranks wait for it in the call it should
 * have made.
 */
int departs_and_waits(const struct absence *absence, int32_t rank);

/*
 * For jobs where every rank waits: finds a rank that leaves its own call sequence while the others follow
 * theirs. If it finds one, it replaces the findings of low confidence from index `from` on. -1 when memory
 * runs out.
 */
int find_departures(const struct absence *absence, size_t from, struct findings *findings);

/*
 * The same where nothing else explains why every rank waits: a rank that left its sequence in a call that
 * finished, and has waited since. At most medium confidence.
 */
int find_earlier_departures(const struct absence *absence, struct findings *findings);

/*
 * For traces of a single rank, complete to the end: finds whether the rank left in the middle of a step with
 * all its operations finished. It waits for no rank, so the others wait for it. -1 when memory runs out.
 */
int find_left_loop(const struct absence *absence, struct findings *findings);

/* -------------------- progress.c -------------------- */

/*
 * Whether a rank has waited, at the end of its record, longer in an operation that its GPU started than any
 * operation or step of that rank ever took (except the first step), by the host's clock. Then the job hung,
 * and was not stopped while it ran: in a healthy job a rank that waits has waited about as long before.
 */
int job_has_unprecedented_wait(const struct operation_progress *progress);

/*
 * The last time recorded of a rank, by the host's clock: its last call, or the last time that its recorder
 * wrote; 0: none.
 */
int64_t record_end(const struct job *job, const struct job_rank *rank);

/*
 * Appends the ranks that wait for `rank` in the instance of an operation: "Ranks 0, 2 wait in ", "Rank 3
 * waits in ", "7 ranks wait in ". -1 when memory runs out.
 */
int append_who_waits(const struct wait_graph *graph, int32_t rank, int32_t operation, struct buffer *text);

/*
 * Ranks that left no record of their calls. Such a rank need not have ended, and need not be at fault: its
 * file may be missing. So it is only a candidate, and only where the others wait for it and most of the known
 * ranks left a record.
 */
struct unrecorded {
    const struct job *job;
    int32_t *recorded; /* owned, by communicator: how many of its members left a record */
    int64_t ranks;     /* ranks of the job that left a record */
    int64_t present;   /* ranks of the job of which anything is known */
};

/* -1 when memory runs out; release it anyway. */
int unrecorded_init(struct unrecorded *unrecorded, const struct job *job);
void unrecorded_release(struct unrecorded *unrecorded);

/*
 * Whether the members of a communicator that left no record can be named. They cannot where too few members
 * left a record.
 */
int unrecorded_can_be_named(const struct unrecorded *unrecorded, int32_t communicator);

/* Applies to a finding the rules about ranks without a record in a communicator. */
void unrecorded_doubt(const struct unrecorded *unrecorded, const struct findings *findings,
                      int32_t communicator, struct finding *finding);

/* -------------------- late_start.c -------------------- */

/*
 * Finds ranks whose GPU never started an operation that their host called, while others wait in it. -1 when
 * memory runs out.
 */
int find_unstarted_gpus(const struct operation_progress *progress, struct findings *findings);

/* -------------------- reported_errors.c -------------------- */

/* Whether this kind of warning reports a failure of its own rank that ends a job. */
int reported_is_own(enum warning_kind kind);

/* -------------------- stuck_sender.c -------------------- */

/*
 * Finds the rank that stops a pipeline of sends and receives although all hosts ran ahead: a send and its
 * receive were both called, neither finished, and all other ranks wait behind them. A stage computes between
 * its receive and its send, so the GPU of the sender is stuck there, provided that nothing keeps the receiver
 * from receiving: its previous call was a send, or the sender has an unfinished receive of its own while
 * receives on other ranks do not wait for sends. -1 when memory runs out.
 */
int find_stuck_sender(const struct wait_graph *graph, struct findings *findings);

/*
 * Appends a call as far as it is known: "AllReduce number 8 on communicator 0-3 with 2048 bytes of float32,
 * at train.py:66". -1 when memory runs out.
 */
int append_call(const struct job *job, int32_t operation, struct buffer *text);

/* Appends ", at train.py:66"; nothing where the source line is not recorded. */
int append_source(const struct job *job, int32_t operation, struct buffer *text);

/* -------------------- waited_for.c -------------------- */

/*
 * Finds the rank that a stopped job waits for, from the graph of waits, where the recorder says how far each
 * call came (job->calls). It never blames a rank that only waits. `positions` are those of the baseline. -1
 * with `error` set when memory runs out.
 */
int find_waited_for(const struct job *job, const int32_t *positions, struct findings *findings,
                    struct error *error);

#endif
