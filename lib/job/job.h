#ifndef NCCLPROF_JOB_JOB_H
#define NCCLPROF_JOB_JOB_H

#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

struct job_start;
struct store;

/* -------------------- job.c -------------------- */

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
    ENDS_ESTIMATED, /* by when what came next began, on all ranks (timeline.c) */
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
    unsigned by_call : 1;   /* its times are the earliest that its members' calls allow (device_time.c) */
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
    unsigned is_synced : 1; /* all its members say how long they waited for the others (arrival.c) */
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

/* What a rank warned of, alike ones together (load_coverage.c). */
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

/* Why times of kernels are not those of their operations (formats: ledger; shared_kernels.c), in bits. */
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

/* Steps of a run that is too large to be loaded whole: those from `first` to before `end` (step_selection.c).
 */
struct job_excerpt {
    int32_t first;
    int32_t end;
    int32_t at; /* the number of its first in the job */
};

/* What was seen of the steps that are not loaded (screening.c). */
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
        *starts; /* owned: how ranks came into communicators, as a log tells (load_coverage.c); NULL */
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
    int in_stages;            /* its ranks are of several stages (step_index.c) */
    int64_t bounded_ends;     /* for which more operations would have to be looked at (early_stops.c) */
    int64_t timed_operations; /* with a start on the device */
    int calls_are_no_measure; /* of when its operations ran, though they have durations (device_time.c) */
    int has_durations;        /* it says of some operation how long that was on the device */
};

/*
 * From where the program called an operation: "train.py:123"; NULL: unknown. Where nothing tells it of a
 * collective, but of others of its instance the same of all, then that.
 */
const char *job_source(const struct job *job, size_t operation);

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

/* How many ranks left no trace of what they called. */
size_t job_silent_ranks(const struct job *job);
/* And how many left one. */
size_t job_recorded_ranks(const struct job *job);

/* Per communicator and function; of a pair, its ordinal between the two ranks. */
int64_t job_sequence(const struct job *job, const struct job_operation *operation);

/* When the next operation of its stream started, for each; TIME_UNKNOWN. Freed by the caller; NULL: no
 * memory. */
int64_t *job_next_starts(const struct job *job);

/* What load.c loaded. */
void job_release(struct job *job);

/* A time of an operation's device timeline in the run's common time; TIME_UNKNOWN where its clock is not
 * aligned. */
int64_t job_common_time(const struct job *job, const struct job_operation *operation, int64_t time_ns);

/* Whether a rank's clock is, and a time on it, as its recorder had it, in the run's common time; likewise. */
int job_is_aligned(const struct job_rank *rank);
int64_t job_common_host_time(const struct job_rank *rank, int64_t host_ns);

const char *job_tag(const struct job *job, int32_t tag); /* NULL for -1 */

/* How long it was on the device, by its rank's clock; 0 where it ended before it began, TIME_UNKNOWN. */
int64_t job_duration(const struct job_operation *operation);

/*
 * How long the receive of a pair lasted; INT64_MAX of anything else, and where the trace does not tell: it
 * was called with others as one, only the host says when it ended, or only a kernel of which a channel tells
 * no stop.
 */
int64_t job_received_ns(const struct job *job, const struct job_instance *instance);

/* Whether others were called with it as one (timeline.c finds the groups). */
int job_is_grouped(const struct job *job, int32_t operation);

/* -------------------- step_selection.c -------------------- */

/* Steps that memory holds at once, ascending, none of which touch. */
struct step_round {
    struct job_excerpt *excerpts; /* owned */
    size_t count;
};

/* There is an end to looking at places that stand out: each round reads what the store says of all steps. */
enum { MOST_ROUNDS = 16 };

/*
 * Steps of a run that are worth loading where memory does not hold all: the first round, and more of them,
 * of other steps, for places that stand out and found no room in it. All begin with the first step, by which
 * warm-up and times are told; no other is in two.
 */
struct chosen_steps {
    struct step_round rounds[MOST_ROUNDS];
    size_t count;       /* of rounds */
    int32_t unusual;    /* rows of steps that stood out */
    int32_t left_out;   /* of those, of which no step is chosen */
    int32_t left_steps; /* how many steps these are */
    int32_t left_first; /* the first step of the first of these */
};

void chosen_steps_release(struct chosen_steps *chosen);

/* -------------------- load.c -------------------- */

/* Loads a run whole, timelines included. On failure nothing is left to release. */
int job_load(struct job *job, struct store *store, int64_t run_id, struct error *error);

/*
 * The same, but of a run whose operations would take more than `memory_bytes` one round is loaded: excerpts
 * (step_selection.c) of the steps that say most, chosen by a look at all (step_selection.c). One whose steps
 * are not known is loaded whole. 0: no limit.
 */
int job_load_within(struct job *job, struct store *store, int64_t run_id, int64_t memory_bytes,
                    struct error *error);

/* Whether that loads a run whole of which names are loaded. */
int job_is_loaded_whole(const struct job *job, int64_t memory_bytes, int *is_whole, struct error *error);

/*
 * How a run is loaded whose operations would take more than `memory_bytes`: in rounds, MOST_ROUNDS at most.
 * No round: it is to be loaded whole. `names` gets its ranks and communicators (job_load_names), and what was
 * seen of its steps. On failure nothing is left to release. 0: no limit.
 */
int job_plan(struct chosen_steps *rounds, struct job *names, struct store *store, int64_t run_id,
             int64_t memory_bytes, struct error *error);

/*
 * Loads a round, by its number, of the run that `names` is of. The first is the one with the end of the run:
 * what is the run's and no step's is to be judged there.
 */
int job_load_round(struct job *job, const struct job *names, const struct chosen_steps *rounds, size_t round,
                   struct error *error);

/* Loads these excerpts, which are the job's from then on (job_take_excerpts). */
int job_load_steps(struct job *job, struct store *store, int64_t run_id, struct job_excerpt *excerpts,
                   size_t count, struct error *error);

/* The same in two steps: its ranks and communicators, then all that there are millions of. */
int job_load_names(struct job *job, struct store *store, int64_t run_id, struct error *error);
int job_load_rest(struct job *job, struct error *error);

/* -------------------- loader.c -------------------- */

/* What loading a run needs besides the run, for load_*.c and propagation.c. */
struct loader {
    struct job *job;
    int64_t member_id; /* the last member that was looked for */
    int64_t member;
    int member_known;
    struct id_runs instance_ids; /* owned: by instance */
    int has_traffic;             /* some proxy operation is there: `channels` is needed */
    int32_t *places;             /* owned: where each operation, as they were read, was laid out; NULL before
                                    loader_list_places */
    uint8_t *channels; /* owned: of each, as they were read, how many of its kernel are not known to have
                          received; CHANNELS_MANY: or more */
    size_t channel_capacity;
    size_t instance_capacity;
    size_t operation_capacity;
    size_t issued_capacity;
    size_t sync_capacity;
    size_t busy_capacity;
    size_t source_capacity;
    size_t duration_capacity;
    size_t noticed_capacity;
    size_t stream_capacity;
    size_t stream_id_capacity;
    struct map stream_numbers; /* stream -> index of its id */
    int32_t latest_stream;     /* the one that was looked for last */
    size_t call_capacity;
    int tells_states; /* all that is recorded tells how far calls came: job->calls is filled */
};

/* Ranks, communicators and members of the run, whose names are loaded. Release it whatever comes back. */
int loader_init(struct loader *loader, struct job *job, struct error *error);
void loader_release(struct loader *loader);

/* Rank index * 2^32 + communicator index of a member; -1: it is none of this run. */
int64_t loader_member(struct loader *loader, int64_t id);

/* -------------------- load.c -------------------- */

/* Ids of the store's runs, ascending; *ids is freed by the caller. */
int job_list(struct store *store, int64_t **ids, size_t *count, struct error *error);

/* Runs of which one rank of several is known: where there are several, they may be pieces of one job. */
int job_count_pieces(struct store *store, int64_t *count, struct error *error);

/* -------------------- load_traffic.c -------------------- */

/*
 * Of its own time, what had passed since any of the 64 operations issued before it ended, on whatever stream,
 * or let go of its stream if it held that longer. Streams wait for one another, and a trace does not tell
 * where: so much at least was its own. TIME_UNKNOWN.
 */
int64_t job_idle_time(const struct job *job, const struct job_operation *operation);

/*
 * How many of these times would be less had more operations been looked at: one before those ended later. One
 * that was not over yet hides others.
 */
int64_t job_bounded_idle_times(const struct job *job);

/*
 * Lateness: how much of that had passed when it was enqueued, the host's part. Where the end before it is
 * only estimated, by how much later than that it was enqueued, less than 0 where it was sooner: the stream
 * may have been free long before. Not more than its GPU did not compute of it, where that is known.
 * TIME_UNKNOWN where either is not known.
 */
int64_t job_lateness(const struct job *job, const struct job_operation *operation);

/* The same of an operation whose idle time is known. */
int64_t job_lateness_in(const struct job *job, const struct job_operation *operation, int64_t idle_ns);

/* Whether it is own time since an end that is only estimated (timeline.c). */
int job_is_own_estimated(const struct job *job, const struct job_operation *operation);

/* -------------------- load_coverage.c -------------------- */

/*
 * Calls below which the trace has no operation, though they moved data: what they did cannot be judged. Of a
 * run, or of the whole store (0).
 */
struct bare_calls {
    int64_t captured; /* in a graph */
    int64_t others;
};
int bare_calls_count(struct bare_calls *calls, struct store *store, int64_t run_id, struct error *error);

/*
 * How the ranks of a job came into its communicators, as NCCL's log tells.
 *
 * Nobody gets out of the making of a communicator before all its ranks have come: in the bootstrap each waits
 * for the last one. So who was there last waited the shortest, and who waited long is held up: the rule of
 * arrival.c. Clocks of hosts are not compared.
 */
struct job_start {
    int64_t order; /* of those of one rank the least is the first */
    int32_t rank;
    int32_t communicator;
    int32_t parent;       /* communicator that it was split off; -1 none, or not known */
    int32_t function;     /* that the program called: a number in job.tags; -1 */
    struct start_up told; /* its pointer is NULL */
    int64_t waited_ns;    /* for others; TIME_UNKNOWN */
    int64_t late_ns;      /* how much later than the first of them it came; TIME_UNKNOWN: not known of all */
    unsigned
        is_told : 1; /* who came last can be told: waits of all ranks differ by more than they are told to */
    unsigned is_last : 1; /* then: nobody came later by more than that */
};

/* -------------------- clock_alignment.c -------------------- */

/* Where an operation stands in the traces, and when it began by the clocks there. */
struct job_record {
    char *file;          /* owned; NULL: not known */
    int64_t byte_offset; /* in the unpacked file */
    int64_t at_ns;       /* on the clock of its process, as the file has it; TIME_UNKNOWN */
    int64_t wall_ns;     /* since 1970, UTC; TIME_UNKNOWN */
};

/* Looks up an operation of a job that was loaded from a store. Release the record whatever comes back. */
int job_find_record(const struct job *job, size_t operation, struct job_record *record, struct error *error);
/* The same of a warning (struct job_warning), by its id. The clock of a log is no wall clock: it has no zone.
 */
int job_find_warning(const struct job *job, int64_t warning, struct job_record *record, struct error *error);
void job_record_release(struct job_record *record);

/*
 * How far the records of a job go, by communicator and collective function: what each rank began last, and
 * what somebody got past. Nobody gets past a full exchange before all have come: whose record ends before
 * that took part in more than it has a record of.
 */
struct extents {
    struct map last; /* (communicator, function, rank) -> greatest sequence number */
    struct map past; /* (communicator, function) -> the same, of full exchanges */
};

/* To be released, whatever it returns. -1 when memory is out. */
int extents_init(struct extents *extents, const struct job *job);
void extents_release(struct extents *extents);

/* The greatest sequence number that a rank began; NULL where nothing is recorded. */
const int64_t *extents_last(const struct extents *extents, int32_t rank, int32_t communicator,
                            uint8_t function);

/* Whether others got past more than is recorded of a rank. */
int extents_lack(const struct extents *extents, int32_t rank, int32_t communicator, uint8_t function);

/* -------------------- step_selection.c -------------------- */

/*
 * A run that memory does not hold is loaded in excerpts: some of its steps, whole. In the job these have
 * numbers without gaps but for one between two excerpts, the break: a step in which nothing is recorded, as
 * steps on both sides of it do not follow each other. Who counts, compares or goes through steps sees a
 * shorter run with a few empty steps in it; who tells a step's number tells the run's. What has no step is
 * loaded wherever it stands.
 */

/*
 * Steps of the run that are loaded, ascending and without two that touch; the first begins at 0. They are the
 * job's from then on, whatever comes back: -1 when memory is out.
 */
int job_take_excerpts(struct job *job, struct job_excerpt *excerpts, size_t count);

/* The number in the job of a step of the run; -1: it is not loaded. A run that is loaded whole: the same. */
int32_t job_loaded_step(const struct job *job, int64_t run_step);

/* The number in the run of a step of the job; of a break that of the first step that is left out there. */
int32_t job_run_step(const struct job *job, int32_t step);

/* Whether a step of the job is a break, of which nothing is known. */
int job_is_break(const struct job *job, int32_t step);

/* How many breaks are between two steps of the job, both included. */
int32_t job_breaks_in(const struct job *job, int32_t first, int32_t last);

/* How many steps are loaded, and how many the run has. */
int32_t job_loaded_steps(const struct job *job);
int32_t job_run_steps(const struct job *job);

/*
 * Of how many times as many steps those that are loaded stand out: in a later round (load.c) they were sought
 * among all of the run, and what is rare in it is not rare there. 1: they were not sought.
 */
double job_selection_ratio(const struct job *job);

/* What an operation takes in memory at most, with its instance and what an analysis makes of it. */
enum { JOB_OPERATION_BYTES = 208 };

/* -------------------- screening.c -------------------- */

/*
 * A run that memory does not hold, to be gone through whole in rows of steps one after the other. Each row is
 * loaded as excerpts (step_selection.c): the steps that the job begins with, which are its warm-up as always,
 * then the row with a step on both sides of it, so that what goes on across its ends is there.
 */
struct step_rows {
    int32_t *ends; /* owned: the step of the run before which each row ends, ascending; the last is all */
    size_t count;
    int32_t first_step; /* of the job: that is recorded */
};

/*
 * As few rows as take about `most_operations` operations each with what is loaded beside them, and are about
 * as large as each other. `job` has its names, and steps. Release it whatever comes back.
 */
int step_rows_find(struct step_rows *rows, const struct job *job, int64_t most_operations,
                   struct error *error);
void step_rows_release(struct step_rows *rows);

/* What is loaded of a row. Owned by the caller (free); NULL when memory is out. */
struct job_excerpt *step_row_excerpts(const struct step_rows *rows, size_t row, size_t *count);

/*
 * The steps of a row in a job that is loaded so, by its numbers, from *first to before *end. What has no step
 * (-1) is with the first row: it is loaded with each.
 */
void step_row_steps(const struct step_rows *rows, size_t row, const struct job *job, int32_t *first,
                    int32_t *end);

/* -------------------- step_index.c -------------------- */

/*
 * A range of indexes that holds all operations of a rank in those steps, and perhaps others; a
 * range of places in by_step that holds the instances of those steps, and no others. Steps are below
 * step_count.
 */
struct job_range job_operations_in(const struct job *job, int32_t rank, int32_t first_step,
                                   int32_t last_step);
struct job_range job_instances_in(const struct job *job, int32_t first_step, int32_t last_step);

/*
 * For recorders that leave point-to-point operations out: ranks that meet in communicators narrower than the
 * job are of one stage; stages of a pipeline meet in nothing but communicators of all ranks.
 */

/*
 * By rank, the least rank of its stage; where there are no narrower communicators to tell stages by, all are
 * of one. Owned by the caller; NULL when memory is out.
 */
int32_t *stages_find(const struct job *job);

/* Whether what stages send each other is left out: waiting passes on by what nothing tells. */
int job_lacks_stage_p2p(const struct job *job);

/* Instances are gone through in pieces of so many. */
enum { INSTANCES_A_PIECE = 1024 };

/* How many threads are worth their while in a pass over the operations of a job: no more than it has. */
size_t job_threads(const struct job *job);

/* -------------------- arrival.c -------------------- */

/*
 * Who came when to an operation, told without comparing clocks: by how long each member stayed, on its own
 * GPU's clock, in a part of the operation that nobody leaves before all have come. The shorter, the later it
 * came, and the difference of two stays is what the one waited for the other.
 *
 * That part is the initial sync of a symmetric kernel, where all members tell it (is_synced): a barrier,
 * whatever the function, and what a member computes or waits for behind it is no part of it. Else it is the
 * whole operation, which nobody finishes before all have come in full exchanges and pairs only.
 */

/* Whether the stay in an instance's operation of that function (a pair's two sides differ) tells anything. */
int arrival_is_told(const struct job_instance *instance, enum function function);

/* The stay of an operation (its number in the job); TIME_UNKNOWN. */
int64_t arrival_stay_ns(const struct job *job, int32_t operation);

/*
 * The operation (its number in the job) of the last to arrive, who stayed for the shortest, the first of
 * equals; -1 where not all members' stays tell that, or there is one only.
 */
int32_t arrival_last(const struct job *job, const struct job_instance *instance);

/*
 * Communicators of whose making no log tells: who came when to the first operation on each. A start for each
 * of their ranks, of which `told` holds nothing; waits are known where all ranks began with the same
 * operation and each one's stay in it says how long it waited (arrival.c). By communicator; `*starts` is
 * freed by the caller. -1: no memory.
 */
int job_first_meetings(const struct job *job, struct job_start **starts, size_t *count);

#endif
