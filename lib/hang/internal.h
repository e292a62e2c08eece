#ifndef NCCLPROF_HANG_INTERNAL_H
#define NCCLPROF_HANG_INTERNAL_H

#include "diagnose/diagnose.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct extents;
struct job;
struct job_instance;
struct job_rank;

/* -------------------- call_states.c -------------------- */

/*
 * How far each rank came with a call, where the recorder tells that itself (Flight Recorder's dumps): from
 * what the rank recorded, from the numbers around it where the record is no longer there, and from how far it
 * says that it came.
 */
enum call_state {
    CALL_UNKNOWN = 0, /* it left no record, or one that is cut before */
    CALL_NEVER,       /* its host did not make it */
    CALL_OPEN,        /* made, and not ended */
    CALL_DONE
};

struct call_at {
    enum call_state state;
    int32_t operation;     /* where it is recorded; -1 */
    int is_sure;           /* else CALL_NEVER may be CALL_DONE: records of the like are lost */
    int64_t never_from_ns; /* CALL_NEVER holds for who called from then on, CALL_UNKNOWN before; 0: for all */
};

/* What a rank recorded on a communicator. */
struct call_reach {
    int32_t rank;
    int32_t communicator;
    int64_t greatest;      /* number of its collectives, as recorded or as it says; -1: none */
    int64_t recorded;      /* the greatest that is recorded; -1: none */
    int64_t greatest_done; /* of those that have ended; -1: none */
    int64_t first_pair;    /* number of its sends and receives; -1: none */
    int64_t last_pair;
    int64_t pairs_counted; /* different numbers of those */
    int has_progress;      /* how far it says that it came is known */
};

struct call_states {
    const struct job *job;
    int32_t *oldest;          /* owned: of each rank, its first call that is open; -1 */
    unsigned char *is_done;   /* owned: of each rank, whether any of its calls has ended */
    unsigned char *is_stale;  /* owned: of each rank, whether its record was written before others' ended */
    unsigned char *has_told;  /* owned: of each rank, whether it says how far it came */
    unsigned char *has_open;  /* owned: of each rank, whether it says that it enqueued more than completed */
    unsigned char *has_pairs; /* owned: of each communicator */
    struct map wanted;        /* (communicator, number) of collectives that are somebody's oldest */
    struct map calls;         /* (rank, communicator, number) -> operation, of wanted ones */
    struct map reach_of;      /* (rank, communicator) -> index below */
    struct call_reach *reach; /* owned */
    size_t reach_count;
    size_t reach_capacity;
    struct map
        pairs; /* (rank, communicator and function, peer, n) -> the nth open one; n -1: how many ended */
};

/* -1 when memory is out; to be released all the same. */
int call_states_init(struct call_states *states, const struct job *job);
void call_states_release(struct call_states *states);

/* Of a collective that is somebody's oldest open call: how far `rank` came with it. */
struct call_at call_of(const struct call_states *states, int32_t rank, int32_t operation);

/* Of an open send or receive: how far its other end came with its own; *peer is that rank, -1 unknown. */
struct call_at call_of_peer(const struct call_states *states, int32_t operation, int32_t *peer);

/* Whether the next operation of a rank was launched at once with this one. */
int call_is_launched_with(const struct job *job, int32_t operation, int32_t next);

/* What a rank recorded on a communicator; NULL: nothing. */
const struct call_reach *call_reach_of(const struct call_states *states, int32_t rank, int32_t communicator);

/* Whether the end of a rank's record may be missing: it was cut, or most are. */
int call_is_cut(const struct job *job, int32_t rank);

/* Whether a rank left a record at all. */
int call_is_recorded(const struct job *job, int32_t rank);

/* -------------------- call_sequence.c -------------------- */

/*
 * Each rank's own programme: what it calls in a step, over all communicators and in order, as its earlier
 * steps show it; and whether what it called since keeps to that. Who stopped or waits has called a part of
 * the programme and nothing else. Who called something that is not next in it departs from it.
 */
enum sequence_check {
    SEQUENCE_UNKNOWN = 0, /* no two of its earlier steps are alike, or records of it may be lost */
    SEQUENCE_FOLLOWED,
    SEQUENCE_LEFT
};

struct sequence_check_of_rank {
    enum sequence_check sequence_check;
    int32_t usual;      /* the first operation of a usual step; so many are one */
    int32_t length;     /* 0: not known */
    int32_t same_usual; /* of another step like it */
    int32_t first;      /* the first operation of the job after its last whole step */
    int32_t called;     /* since then */
    int32_t followed;   /* of these, by its programme, before it departs from it */
    int32_t departs_at; /* SEQUENCE_LEFT: the first operation that is not next; -1 */
    int32_t expected;   /* the operation of the usual step that is; -1 */
};

struct call_sequence {
    const struct job *job;
    struct sequence_check_of_rank *ranks; /* owned: of each rank */
};

/*
 * `first_stuck`: the first step in which somebody waits; INT32_MAX where that is in none. -1 when memory is
 * out; to be released all the same.
 */
int call_sequence_init(struct call_sequence *call_sequence, const struct job *job, int32_t first_stuck);
void call_sequence_release(struct call_sequence *call_sequence);

/* How many ranks keep to their programme, and how many depart from it. */
struct courses {
    int32_t kept;
    int32_t left;
};

struct courses call_sequence_count(const struct call_sequence *call_sequence);

/*
 * Whether it keeps to its programme and is in the middle of a step, as its very first one began: steps that
 * are told apart by what recurs alone may begin anywhere.
 */
int call_sequence_is_midway(const struct call_sequence *call_sequence, int32_t rank);

/* -------------------- progress.c -------------------- */

/* How far each operation of a job got, as it stands where the traces end. */
struct operation_progress {
    const struct job *job;
    int32_t *finished_step; /* per rank: the last step in which its GPU finished something; -1 */
    int32_t *next;          /* per operation that is the first of its group: the next on its stream; -1 */
    unsigned char *lacking; /* per instance: somebody is absent whose record would show that it came */
    struct map likes; /* (rank, communicator, function, peer, bytes) -> what was seen of them, and what the
                         last with one after it lacks */
};

/* -1 when memory is out; to be released all the same. */
int operation_progress_init(struct operation_progress *operation_progress, const struct job *job);
void operation_progress_release(struct operation_progress *operation_progress);

/* It ended, or the next on its stream began, or its rank was done with later steps. Its proxies may be done
 * while its kernel still waits. */
int operation_progress_is_over(const struct operation_progress *operation_progress, int32_t operation);

/*
 * It did not get past, and that is not for want of a record: its rank's has its end, something is recorded of
 * its like, and the last of them that others followed has its end, or there is none. Where only calls are
 * recorded: somebody never made it.
 */
int operation_progress_is_held(const struct operation_progress *operation_progress, int32_t operation);

/* Its GPU began it, as recorded, and is held in it: there it waits. */
int operation_progress_waits(const struct operation_progress *operation_progress, int32_t operation);

/*
 * Its host called it and its GPU never got to it: it has no start, as the last of its like (what its rank
 * called of that kind and size) that others followed had.
 */
int operation_progress_never_began(const struct operation_progress *operation_progress, int32_t operation);

/* Operations that some of their members began and nobody got past, and who is missing from them. */

/* Where a rank is, and where it is not. */
struct attendance {
    int32_t missing_from; /* the first pending instance that it is missing from; -1 */
    int32_t place;        /* of that, in its step */
    int32_t came_to;      /* the last pending instance looked at that it is a member of; -1 */
    int is_waiting;       /* in a pending operation, or on its GPU for one that never got there */
    int is_lost;          /* its record ends before what others got past with it */
};

struct absence {
    int64_t pieces; /* of the store, see job_count_pieces */
    const struct job *job;
    const int32_t *positions; /* the baseline's, by operation */
    const struct extents *extents;
    unsigned char *pending; /* per instance */
    struct attendance *ranks;
    struct operation_progress operation_progress;
    struct call_sequence call_sequence;
    struct courses courses;
    int32_t last_step;       /* of all operations */
    int32_t last_begun_step; /* of those that a GPU began; last_step where none tells */
    int32_t first_stuck;     /* the first step in which somebody is held up, else last_step */
    int is_stuck;            /* somebody is */
    int is_sure;             /* that the instance looked at is pending */
    size_t absent_count;     /* ranks that are merely absent, by records that have their end */
    size_t unrecorded_count; /* others whose record is not there, or was cut */
};

/*
 * Whether none of those who began an instance got past it, and somebody never came. Where nobody can be done
 * before all have come, an end beside others that never came is no end: the leaf of a tree has its stop once
 * it has passed on what it had. To be sure, who lacks an end as always is past it.
 */
int is_pending(const struct absence *absence, const struct job_instance *instance, int to_be_sure);

/* Notes who waits in a pending instance, and who is missing from it. */
void note_pending(struct absence *absence, int32_t instance);

/*
 * Notes who waits on its GPU in an instance that all hosts called: where somebody's GPU has not begun it, or
 * nobody's got past.
 */
void note_waiting(struct absence *absence, const struct job_instance *instance);

/* Names who waits in a pending instance, as the finding's peers and in its evidence. -1 when memory is out.
 */
int append_waiting(const struct absence *absence, int32_t instance, struct finding *finding);

/* -------------------- call_states.c -------------------- */

/*
 * Jobs of which only calls are recorded (struct job, calls_only): NCCL's log, and its RAS. What became of a
 * call is not known. Yet nobody gets past one that others never made; and hosts that wait call nothing more.
 */

/*
 * How sure it is that a rank which never made a call others made is what they wait for. Low where the log may
 * be of a job that still ran: who made the call went on to different places, which hosts that wait do not;
 * where the rank may itself wait for one of which there is no log; and where NCCL's RAS
 * saw what hosts that run look like, too.
 */
enum confidence open_calls_confidence(const struct absence *absence, int32_t rank);

/*
 * Whether those who made the call are the exception, in one moment that NCCL's RAS saw: of hosts that run
 * some are always ahead, and nobody is missing.
 */
int open_calls_are_ahead(const struct job *job, const struct job_instance *instance);

/* Whose calls a record would show. */

/* Whether the record of a rank would show that it came: it is there, and has its end. */
int is_recorded(const struct job *job, int32_t rank);

/* By instance, whether somebody is absent from it whose record would show that it came. Freed by the caller;
 * NULL: no memory. */
unsigned char *list_lacking(const struct job *job);

/* -------------------- mismatch.c -------------------- */

/*
 * Who called a collective with another size, datatype or root than the other members, or two in
 * another order: of each communicator the first that holds somebody up, else the first. `stuck` says so, by
 * instance; `positions` are the baseline's. -1 when memory is out.
 */
int find_disagreements(const struct job *job, const int32_t *positions, const unsigned char *stuck,
                       struct findings *findings);

/* -------------------- call_sequence.c -------------------- */

/*
 * What a rank is used to call, for telling which of two sides that disagree about an operation is the odd
 * one: what followed the operation before it on the same communicator whenever that came at the same position
 * of its step; where positions are not known, whenever that was the same function with as many bytes.
 */
enum call_pattern {
    HABIT_UNKNOWN = 0, /* it never came before, or as often with one outcome as with others */
    HABIT_KEPT,        /* mostly the same function with as many bytes */
    HABIT_BROKEN
};

/* Looks back a bounded way, at operations of that rank alone. `positions` are the baseline's. */
enum call_pattern call_pattern_at(const struct job *job, const int32_t *positions, int32_t operation);

/*
 * What a rank usually calls after what it called last: the operation of its own record that followed the
 * longest run of calls like its last ones, the latest of several; -1 where nothing like its last call came
 * before. Calls are alike in communicator, function, size, peer and line of the program. Wants job->calls.
 */
int32_t usual_next(const struct job *job, int32_t rank);

/* -------------------- divergence.c -------------------- */

/*
 * Where nobody is merely absent: on one communicator, some wait in one operation and some in another. Who of
 * them is to blame. -1 when memory is out.
 */
int find_mismatches(const struct absence *absence, struct findings *findings);

/* -------------------- wait_graph.c -------------------- */

/*
 * Who waits for whom, over all communicators. Each rank waits at its oldest open call, with all that was
 * launched at once with it. Of the other members of that call, those whose oldest it is, too, are with it;
 * those that have it open behind something older, or never made it, are waited for; where they have it done,
 * the waiting rank's own GPU has not finished what all others have.
 *
 * All that wait in one collective wait for the same ranks: their waits are held once, with the call. So the
 * graph is as large as the calls that ranks wait in have members, whatever number of them waits.
 */

/* That who waits in a call waits for a rank. */
struct wait {
    int32_t to;           /* a rank; one that waits itself does not wait for itself */
    int32_t call;         /* in `calls` */
    int32_t operation;    /* the send or receive that is waited in; -1: the collective that the call is */
    int32_t behind;       /* where `to` has it open, the call; -1: it never made it, or that is not known */
    int64_t sure_from_ns; /* who made the call before may not wait for it: nothing tells what it did */
    int32_t next_to;      /* the next wait for the same rank; -1 */
};

/* Ranks that wait in the same, whose operations are of one instance. */
struct wait_party {
    int32_t instance;
    int32_t count;
    int32_t earliest; /* the rank that called it first; of several the least */
    int32_t next;     /* of the same call; -1 */
};

/* A collective that ranks wait in, or the sends and receives of one rank that were launched at once. */
struct wait_call {
    int32_t first_waiter; /* the next ones stand in struct waiter; ascending */
    int32_t last_waiter;
    int32_t first_party; /* -1: of sends and receives */
    int32_t first;       /* of its waits */
    int32_t count;
    int64_t sure_from_ns; /* the least of its waits' */
    int32_t with; /* ends of what is waited in that are as far as who waits, which may be one of them */
    int32_t done; /* ends that have it behind them */
};

/* A rank at its oldest open call. */
struct waiter {
    int32_t operation; /* -1: it has none open */
    int32_t call;      /* -1 */
    int32_t next;      /* rank that waits in the same; -1 */
    int32_t count;     /* of its waits */
    int is_sure;       /* one of them is */
    int32_t with;      /* ends of what it waits in that are as far as it is */
    int32_t done;
};

struct wait_graph {
    const struct job *job;
    struct call_states states;
    struct waiter *waiters; /* owned: of each rank */
    int32_t *waits_for;     /* owned: of each rank, the first wait for it; -1 */
    struct wait *waits;     /* owned: by call, in order of the call's first waiter */
    size_t wait_count;
    size_t wait_capacity;
    struct wait_call *calls; /* owned */
    size_t call_count;
    size_t call_capacity;
    struct wait_party *parties; /* owned */
    size_t party_count;
    size_t party_capacity;
    struct map call_of;  /* (communicator, number) of a collective -> call */
    struct map party_of; /* (call, instance) -> party */
    int is_cut;          /* there are more waits than can be looked at: it is not whole */
};

/* -1 when memory is out; to be released all the same. */
int wait_graph_init(struct wait_graph *graph, const struct job *job);
void wait_graph_release(struct wait_graph *graph);

/* The operation that a rank waits in, of one of its waits. */
int32_t wait_operation(const struct wait_graph *graph, const struct wait *wait, int32_t from);

/* Whether a rank is sure to wait for that. */
int wait_is_sure(const struct wait_graph *graph, const struct wait *wait, int32_t from);

/* The party of a call whose operations are of an instance; NULL: there is none. */
const struct wait_party *wait_party_of(const struct wait_graph *graph, int32_t call, int32_t instance);

/* -------------------- divergence.c -------------------- */

/*
 * Where ranks wait: who made another call than the others under the same number: another function, datatype
 * or size, and of AlltoAll, whose sizes may differ, another width of its rows. The majority is right; where
 * there is none, all are candidates. -1 when memory is out.
 */
int find_call_mismatches(const struct wait_graph *graph, struct findings *findings);

/* Whether a rank departs from its programme and waits there, or others where it should have been. */
int departs_and_waits(const struct absence *absence, int32_t rank);

/*
 * Where everybody waits: who departs from its own programme, when the others keep to theirs. Replaces what is
 * of low confidence from number `from` on, where it finds somebody. -1 when memory is out.
 */
int find_departures(const struct absence *absence, size_t from, struct findings *findings);

/* The same where nothing else explains why all wait: who departed in a call that ended, and waits since. At
 * most of medium confidence. */
int find_earlier_departures(const struct absence *absence, struct findings *findings);

/*
 * Where only one rank's record is there, and it has its end: whether the rank left in the middle of a step,
 * with nothing unfinished. It does not wait for anybody, so others wait for it. -1 when memory is out.
 */
int find_left_loop(const struct absence *absence, struct findings *findings);

/* -------------------- progress.c -------------------- */

/*
 * Whether somebody waits in an operation that its GPU began for longer than any operation or step of its rank
 * ever took (but the first step), when its record ends, on the host's clock. Then the job hung, and was not
 * merely stopped while it ran: whoever waits in a healthy job has waited as long before, or nearly.
 */
int job_has_unprecedented_wait(const struct operation_progress *operation_progress);

/* The last that is known of a rank, on the host's clock: a call, or what its recorder wrote beside; 0:
 * nothing.
 */
int64_t record_end(const struct job *job, const struct job_rank *rank);

/*
 * Who waits for a rank in the instance of an operation: "Ranks 0, 2 wait in ", "Rank 3 waits in ", "7 ranks
 * wait in ". -1 when memory is out.
 */
int append_who_waits(const struct wait_graph *graph, int32_t rank, int32_t operation, struct buffer *text);

/*
 * What can be said of ranks that left no record of their calls. A rank without one need not have ended, and
 * need not be at fault: its file may not have been given. So it is only a candidate, and only where the
 * others wait for it, and most of those that there are left a record.
 */
struct unrecorded {
    const struct job *job;
    int32_t *recorded; /* owned: of each communicator, how many of its members left a record */
    int64_t ranks;     /* of the job, that left one */
    int64_t present;   /* of which anything is known */
};

/* -1 when memory is out; to be released all the same. */
int unrecorded_init(struct unrecorded *unrecorded, const struct job *job);
void unrecorded_release(struct unrecorded *unrecorded);

/* Whether members of a communicator that left no record can be named: else those that did are too few. */
int unrecorded_can_be_named(const struct unrecorded *unrecorded, int32_t communicator);

/* Asks the rules that doubt a finding of such ranks in a communicator. */
void unrecorded_doubt(const struct unrecorded *unrecorded, const struct findings *findings,
                      int32_t communicator, struct finding *finding);

/* -------------------- late_start.c -------------------- */

/* Whose GPU never began what its host had called, where others wait. -1 when memory is out. */
int find_frozen(const struct operation_progress *operation_progress, struct findings *findings);

/* -------------------- reported_errors.c -------------------- */

/* Whether it reports a failure of the rank's own, which ends a job. */
int reported_is_own(enum warning_kind kind);

/* -------------------- stuck_sender.c -------------------- */

/*
 * A pipeline of sends and receives that stands still though all hosts ran ahead: a send and its receive were
 * both called, neither has ended, and all others wait behind them. A stage computes between what it receives
 * and what it sends, so that the GPU of the sender is stuck there, where nothing keeps the receiver from
 * receiving: its call before was a send, or receives of the sender itself do not end either, which on other
 * ranks do not wait for sends. -1 when memory is out.
 */
int find_stuck_sender(const struct wait_graph *graph, struct findings *findings);

/* "AllReduce number 8 on communicator 0-3 with 2048 bytes of float32, at train.py:66": of what is known. -1
 * when memory is out. */
int append_call(const struct job *job, int32_t operation, struct buffer *text);

/* ", at train.py:66"; nothing where that is not known. */
int append_source(const struct job *job, int32_t operation, struct buffer *text);

/* -------------------- waited_for.c -------------------- */

/*
 * Whose fault it is that a job stands still, where its recorder tells how far each call came (job->calls): by
 * the graph of who waits for whom. Never who waits. -1 with `error` set when memory is out.
 */
int find_waited_for(const struct job *job, struct findings *findings, struct error *error);

#endif
