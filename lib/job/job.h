#ifndef NCCLPROF_JOB_JOB_H
#define NCCLPROF_JOB_JOB_H

#include "base/error.h"
#include "base/id_runs.h"
#include "base/intern.h"
#include "model/event.h"
#include "store/roster.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/*
 * One job (run) in memory, as the delay analysis wants it: per rank a timeline of operations, across ranks
 * the instances they belong to. Indexes are into the arrays of struct job; -1 is none.
 *
 * Times of a rank are nanoseconds on that rank's *device timeline*: its GPU's own clock where the trace has
 * it (durations and gaps are then exact), else the recording host's clock. Host times (enqueueing, proxies)
 * are mapped onto it by the least delay seen nearby between a kernel's start and the host noticing it; that
 * mapping is late by at most that delay, a microsecond or so. Ranks share no clock here: see lib/align.
 */

enum end_kind {
    ENDS_UNKNOWN = 0,
    ENDS_BY_KERNEL, /* the GPU's stop */
    ENDS_BY_PROXY,  /* when its GPU had last taken or given data: RecvGpuWait, SendGpuWait */
    ENDS_BY_HOST,   /* polled by the host */
    ENDS_ESTIMATED, /* by when what came next began, on all ranks (estimated_ends.c) */
    ENDS_BY_SENDER  /* of a receive: when its sender had come, by the clocks, at the least (early_stops.c) */
};

struct job_operation {
    int64_t bytes;
    int64_t enqueued_ns; /* handed to the GPU; TIME_UNKNOWN */
    int64_t start_ns;    /* on the device; TIME_UNKNOWN */
    int64_t end_ns;      /* on the device; TIME_UNKNOWN */
    int64_t own_ns;      /* start minus the end of the previous one on the stream; TIME_UNKNOWN */

    int32_t communicator;
    int32_t instance;
    int32_t previous; /* on the same stream; of a group, the one that held it longest */
    int32_t group;    /* first operation of its group: those of one group call run at once */

    signed rank : 24;
    unsigned function : 5;
    unsigned ends : 3; /* end_kind */
    signed step : 28;  /* -1 unknown */
    unsigned kind : 2;
    unsigned unfinished : 1;
    unsigned held : 1;        /* it held its stream beyond its end, by the clocks (early_stops.c) */
    signed tag : 28;          /* number in job.tags; -1 none */
    unsigned is_tree : 1;     /* its kernel's stop may come before its end (early_stops.c) */
    unsigned may_be_tree : 1; /* an AllReduce of which the algorithm is not told */
    unsigned incomplete : 1;  /* a kernel channel has a start and no stop */
    unsigned inferred : 1;    /* its start is taken to be the end of the one before, or its enqueueing */
    signed root : 24;         /* rank in the communicator; -1 */
    unsigned datatype : 6;
    unsigned all_taken : 1; /* its GPU took from the network on each of its channels, and when is known */
    unsigned by_call : 1;   /* its times are the earliest that its members' calls allow (call_times.c) */
};

/* What there is room for in an operation and in an instance: so many at most. */
enum {
    JOB_MOST_RANKS = 1 << 23,
    JOB_MOST_ROOTS = 1 << 23,
    JOB_MOST_STEPS = 1 << 27,
    JOB_MOST_TAGS = 1 << 26
};

/*
 * What of operations is forgotten when their timelines are built; of each one, owned. What is not told of any
 * has no list, nor has what is not asked for any more: NULL. Times are the recording host's until
 * job_map_rank has put them on the device timeline.
 */
struct job_drafts {
    int64_t *issued_ns; /* the call; TIME_UNKNOWN */
    int64_t *free_ns;   /* its stream was: end_ns, or later where channels without a stop took data longer */
    int64_t *durations_ns; /* of one whose start is not known, as the recorder gives it; TIME_UNKNOWN */
    int64_t *noticed_ns;   /* host clock minus GPU clock as its start was seen; TIME_UNKNOWN */
    int32_t *streams;      /* index in stream_ids */
    uint64_t *stream_ids;  /* the first is 0: not told */
};

/* An operation that held its stream beyond its end (`held`), and until when. */
struct job_hold {
    int64_t operation; /* first: find_id looks for it (ids.h) */
    int64_t until_ns;
};

struct job_instance {
    int64_t sequence;    /* per communicator and function; pairs: their ordinal */
    int64_t transfer_ns; /* shortest duration of a member; a pair's: what the wire took; TIME_UNKNOWN */
    int32_t communicator;
    int32_t sender; /* job ranks; -1 */
    int32_t receiver;
    int32_t members; /* operations present */
    int32_t expected;
    uint32_t first_member; /* in job.instance_members: indexes of operations */
    signed step : 28;
    unsigned kind : 2;
    unsigned is_synced : 1; /* all its members say how long they waited for the others (arrival.h) */
    signed tag : 27;
    unsigned function : 5;
};

/* Of an operation, where recorders tell how far calls came: what they count, beside what all tell. */
struct job_call {
    int64_t number;   /* of a collective in its communicator, whatever its function; of a send or receive
                         likewise,   as its rank counts those; -1 */
    int64_t count;    /* elements; of AlltoAll those of a row; -1 */
    int64_t peer;     /* of a send or receive: ranks in the communicator; -1 */
    int64_t own_rank; /* in the communicator */
    int is_started;   /* its GPU was seen to have begun it: when is not known */
};

/* How far a rank says that it came with the collectives of a communicator; -1: not said. */
struct job_progress {
    int32_t rank;
    int32_t communicator;
    int64_t enqueued;
    int64_t completed;
};

/* How a rank's clock was aligned with the others'. */
enum clock_method {
    CLOCK_NONE = 0,     /* nothing links it */
    CLOCK_REFERENCE,    /* it is what the others are aligned with */
    CLOCK_SHARED,       /* the same clock as the reference: one host, or anchors of one boot */
    CLOCK_MEETINGS,     /* difference constraints from what ranks did together */
    CLOCK_CONTRADICTORY /* refused: the meetings contradict each other */
};

/* How its file stops. */
enum cut {
    CUT_NOT = 0,
    CUT_AT_END, /* without an end: the process died, or the file was cut */
    CUT_MIDWAY, /* and in the middle of an operation */
    CUT_STOPPED /* its recorder stopped while the process went on: what that did afterwards is not known */
};

enum { JOB_DELAY_BLOCK = 64 };

/* What a rank warned of, alike ones together (warnings.h). */
struct job_warning {
    int64_t id; /* the row in the store of the first of them; 0: of a job made by hand */
    int32_t rank;
    enum warning_kind kind;
    int64_t status;   /* of a transfer, InfiniBand's number; COUNT_UNKNOWN */
    const char *nic;  /* its own; in job.tags; NULL */
    const char *peer; /* address or name of the other end's host; likewise */
    const char *text; /* of the first of them; likewise; NULL of WARNING_OTHER, too */
    int64_t count;
    int64_t first_ns; /* on the clock of the log; TIME_UNKNOWN */
    int64_t last_ns;
    int64_t calls; /* that its process had made by the last of them; COUNT_UNKNOWN: its file lists no calls */
    int64_t pid;   /* COUNT_UNKNOWN */
};

struct job_rank {
    int64_t id;
    int64_t process_id;        /* -1: nothing recorded by it */
    int64_t global_rank;       /* -1 */
    char *name;                /* owned */
    struct roster_facts facts; /* of its process: host, GPU ... */
    size_t first;              /* its operations, in order of issue */
    size_t count;
    int has_gpu_clock;
    int has_streams;    /* several */
    int64_t *delays_ns; /* owned: host clock minus device timeline, for each JOB_DELAY_BLOCK operations; for
                           each one where the run is loaded in excerpts */
    int64_t first_issued_ns; /* first call, on the host's clock; 0 unknown */
    int32_t clock;           /* ranks with the same number share a host clock */
    enum clock_method clock_method;
    int64_t clock_offset_ns;      /* host clock to the run's common time, at clock_origin_ns */
    int64_t clock_uncertainty_ns; /* half the interval that the offset is in */
    int64_t clock_origin_ns;
    double clock_scale;
    enum cut cut;
    int64_t seen_until_ns; /* its recorder was still there, on the host's clock: marks beside operations; 0
                              unknown */
    int tells_progress;    /* it says how far it came with the calls of some communicator */
    int told_late;         /* its recorder tells of what has no end only once it was pending for a second */
    int may_lack_file;   /* it is in fewer communicators than another, and some have a place for it, or a rank
                            is silent */
    int32_t tail_step;   /* from there on others did with it what it has no record of; INT32_MAX: nowhere */
    const char *address; /* at which its host is reached; in job.tags; NULL */
    int is_part; /* its process has more ranks with operations than any communicator has of it: some are not
                    told apart */
};

/* What the network steps of one directed edge in one operation waited for, summed. */
struct job_traffic {
    int32_t sender; /* job ranks */
    int32_t receiver;
    int32_t operation;
    int32_t steps;
    uint8_t by_receiver;     /* recorded on the receiving side */
    int64_t network_wait_ns; /* SendWait or RecvWait */
    int64_t network_wait_max_ns;
    int64_t
        busy_ns; /* time in which at least one step waited for the network: overlapping waits count once */
};

/* Indexes from `first` to before `end`. */
struct job_range {
    size_t first;
    size_t end;
};

/* The same where there are many: of operations. */
struct job_span {
    int32_t first;
    int32_t end;
};

/* Why times of kernels are not those of their operations (formats: ledger; astray_kernels.h), in bits. */
enum astray {
    ASTRAY_AFTER_SELF_SEND = 1, /* NCCL's host does not count what a rank sends to itself */
    ASTRAY_AFTER_BROADCAST = 2, /* nor its Broadcasts */
    ASTRAY_IMPOSSIBLE = 4       /* they began before their operation was called */
};

/* A job that was looked at while it may still have run, once or again: NCCL's RAS. */
struct job_watch {
    int is_watched;
    int has_counts; /* some look told how far ranks had come: not all counts were 0 */
    int has_moved;  /* between the last two looks that did some rank launched something */
    int64_t
        stood_for_ns; /* time between those, if nothing was; 0: it was looked at once, or when is not known */
};

/* Steps of a run that is too large to be loaded whole: those from `first` to before `end` (excerpts.h). */
struct job_excerpt {
    int32_t first;
    int32_t end;
    int32_t at; /* the number of its first in the job */
};

/* What was seen of the steps that are not loaded (screening.h). */
struct job_screened {
    int64_t operations; /* of the run */
    int is_told;        /* how long operations took could be read */
    int32_t unusual;    /* steps that stood out */
    int32_t left_out;   /* of those, that are not loaded, nor any near them */
    int32_t left_steps; /* how many steps these are */
    int32_t left_first; /* the first of these */
};

struct job {
    struct store *store; /* borrowed */
    int64_t run_id;
    size_t threads;       /* to work on it with, as many as its store has; 0: one */
    char *run_name;       /* owned; hostile: of the folder of its files (join/run_names.h) */
    struct roster roster; /* while it is loaded: of this run */
    int64_t expected_ranks;
    int32_t step_count;           /* that are loaded, with breaks between excerpts */
    int32_t first_step;           /* that is recorded, where steps have the program's numbers; else 0 */
    int64_t step_base;            /* what the program calls step 0 */
    struct job_excerpt *excerpts; /* owned; NULL: it is loaded whole */
    size_t excerpt_count;
    int32_t *step_numbers;  /* owned: of each step that in the run, of a break -1; NULL: the same */
    int32_t run_step_count; /* of a run that is loaded in excerpts */
    int is_later_round; /* others of its steps, the first and the last among them, are judged in the first */
    struct job_screened screened;
    char *step_source; /* owned */
    int has_global_ranks;
    struct job_rank *ranks;
    size_t rank_count;
    struct job_communicator *communicators;
    size_t communicator_count;
    struct job_call *calls; /* of each operation, where all that is recorded tells how far calls came; NULL */
    struct job_progress *progress;
    size_t progress_count;
    size_t progress_capacity;
    struct job_start
        *starts; /* owned: how ranks came into communicators, as a log tells (start_ups.h); NULL */
    size_t start_count;
    size_t start_capacity;
    struct job_warning *warnings; /* owned, by rank; NULL */
    size_t warning_count;
    size_t warning_capacity;
    struct job_operation *operations; /* by rank, in order of issue */
    struct id_runs operation_ids; /* their rows in the store, as they were read; none in a job made by hand */
    int32_t *read_order;          /* of each operation: the index of its id there */
    struct job_drafts drafts;     /* while it is loaded */
    int64_t *initial_sync_ns; /* of each operation by a symmetric kernel; 0 unknown; NULL: there is none */
    int32_t
        *sources; /* of each operation: from where it was called, a number in job.tags, -1 unknown; NULL */
    int32_t *described;   /* likewise, as descriptions of calls say, which not all ranks make; NULL */
    int64_t *gpu_busy_ns; /* likewise: that its GPU computed since the one before had ended */
    size_t operation_count;
    struct job_hold *holds; /* by operation */
    size_t hold_count;
    struct job_instance *instances;
    size_t instance_count;
    int32_t *instance_members;
    struct job_traffic *traffic; /* by operation */
    size_t traffic_count;
    size_t traffic_capacity;
    struct job_span *operations_of_step; /* [rank * step_count + step], job_operations_in */
    int32_t *by_step;                    /* indexes of instances that have a step, by step */
    size_t *step_end;                    /* [step]: where in by_step they end */
    struct intern tags;
    /* Coverage of this run, for confidence. */
    int64_t damaged_lines;
    int64_t lost_events;
    int64_t overwritten;      /* of those, operations: they may count in missing_sequence as well */
    int64_t bare_calls;       /* that moved data and have no operation */
    int64_t missing_sequence; /* operations absent between others of their sequence */
    int64_t left_out;         /* of those, that Inspector told on no rank, as what its filter leaves out */
    int64_t left_out_by_all;  /* ... of communicators that hold all ranks */
    int64_t sequences;        /* of operations: by rank, communicator and function */
    int64_t late_sequences;   /* of those, that begin in the middle */
    int finished_only;        /* its recorders only list what finished */
    int calls_only;           /* its recorders only list calls: whether any of them ended is not known */
    struct job_watch watch;   /* what NCCL's RAS saw of it */
    int dumped_running;       /* all dumps of what its calls came to were written while it made calls */
    unsigned astray_kernels;  /* enum astray: kernels with times of others were left out: they have none */
    int64_t kernels_before;   /* operations whose kernel began before they were enqueued: it has no times */
    int is_windows;           /* its recorders were on for a while only: how records end says nothing */
    uint8_t lacks_files;      /* some rank left no trace, or may lack a file */
    uint8_t most_cut;         /* enum cut: how most traces stop */
    int blind_to_pairs;       /* its recorder leaves point-to-point operations out */
    int in_stages;            /* its ranks are of several stages (stages.h) */
    int64_t bounded_ends;     /* for which more operations would have to be looked at (early_stops.c) */
    int64_t timed_operations; /* with a start on the device */
    int calls_are_no_measure; /* of when its operations ran, though they have durations (call_times.c) */
    int has_durations;        /* it says of some operation how long that was on the device */
};

/*
 * From where the program called an operation: "train.py:123"; NULL: unknown. Where nothing tells it of a
 * collective, but of others of its instance the same of all, then that.
 */
const char *job_source(const struct job *job, size_t operation);

/* How many operations have a delay in common: across a break clocks may have drifted apart. */
static inline size_t job_delay_block(const struct job *job)
{
    return job->excerpt_count ? 1 : JOB_DELAY_BLOCK;
}

/* Host clock minus device timeline at an operation. */
int64_t job_delay(const struct job *job, const struct job_operation *operation);

/*
 * When a member had left its operation, as far as its kernel tells: of a tree's leaf, which has its stop
 * early, and of one with a channel that tells no stop, not before the next of its stream began (`next_ns`).
 */
static inline int64_t job_left_ns(const struct job_operation *member, int64_t next_ns)
{
    return member->is_tree || member->incomplete ? next_ns : member->end_ns;
}

/* A member of an instance: its number among all operations, and itself. */
static inline int32_t job_member_at(const struct job *job, const struct job_instance *instance,
                                    int32_t member)
{
    return job->instance_members[instance->first_member + (size_t)member];
}

static inline struct job_operation *job_member(const struct job *job, const struct job_instance *instance,
                                               int32_t member)
{
    return &job->operations[job_member_at(job, instance, member)];
}

/* What does the work of an operation's communicator from the begin on: itself, or what it was made anew of.
 */
static inline int32_t job_first_communicator(const struct job *job, const struct job_operation *operation)
{
    int32_t succeeds = job->communicators[operation->communicator].succeeds;
    return succeeds ? succeeds - 1 : operation->communicator;
}

/* How far the clocks of two ranks may be off each other, beside their offsets. */
static inline int64_t job_clock_doubt(const struct job *job, int32_t a, int32_t b)
{
    if (job->ranks[a].clock == job->ranks[b].clock)
        return 0;
    return job->ranks[a].clock_uncertainty_ns + job->ranks[b].clock_uncertainty_ns;
}

/* An operation's row in the store, of a job that was loaded. */
int64_t job_operation_id(const struct job *job, size_t operation);

/* The rank (index) of a global rank, or of a communicator's rank; -1 unknown. */
int32_t job_rank_numbered(const struct job *job, int64_t global_rank);
int32_t job_rank_in(const struct job *job, int64_t communicator, int64_t number);

/* All of them, for those who ask that themselves (store/membership.h). */
struct run_ranks job_run_ranks(const struct job *job);

/* How many ranks left no trace of what they called. */
size_t job_silent_ranks(const struct job *job);
/* And how many left one. */
size_t job_recorded_ranks(const struct job *job);

/* Per communicator and function; of a pair, its ordinal between the two ranks. */
int64_t job_sequence(const struct job *job, const struct job_operation *operation);

/* When the next operation of its stream started, for each; TIME_UNKNOWN. Freed by the caller; NULL: no
 * memory. */
int64_t *job_next_starts(const struct job *job);

/* Of an operation, while the job is loaded: how long it took, where its start is not known. TIME_UNKNOWN. */
static inline int64_t job_draft_duration(const struct job *job, size_t operation)
{
    return job->drafts.durations_ns ? job->drafts.durations_ns[operation] : TIME_UNKNOWN;
}

void job_drafts_release(struct job_drafts *drafts);

/* What load.h loaded. */
void job_release(struct job *job);

/* A time of an operation's device timeline in the run's common time; TIME_UNKNOWN where its clock is not
 * aligned. */
int64_t job_common_time(const struct job *job, const struct job_operation *operation, int64_t time_ns);

/* Whether a rank's clock is, and a time on it, as its recorder had it, in the run's common time; likewise. */
int job_is_aligned(const struct job_rank *rank);
int64_t job_common_host_time(const struct job_rank *rank, int64_t host_ns);

const char *job_tag(const struct job *job, int32_t tag); /* NULL for -1 */

#endif
