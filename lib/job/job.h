#ifndef NCCLPROF_JOB_JOB_H
#define NCCLPROF_JOB_JOB_H

#include "job/node_records.h"
#include "job/phases.h"
#include "job/step_rows.h"
#include "job/traffic.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

struct job_notice;
struct job_sent;
struct job_start;

/* -------------------- job.c -------------------- */

/*
 * One job (run) in memory, as the analyses need it: the timeline of operations of each rank, and the
 * instances (one collective, or one send with its receive) that the operations of several ranks belong to.
 * Indexes refer to the arrays of struct job; -1 means none.
 *
 * Times of a rank are nanoseconds on the rank's *device timeline*. That is the clock of its GPU if the trace
 * has it, so that durations and gaps are exact; otherwise it is the clock of the recording host. Host times
 * (enqueueing, proxies) are converted to it with the smallest delay, seen nearby, between the start of a
 * kernel and the host noticing it. The converted times are late by at most that delay, about a microsecond.
 * Ranks do not share a clock; clock_alignment.c estimates the offsets.
 */

/* How the end of an operation is known. */
enum end_kind {
    ENDS_UNKNOWN = 0,
    ENDS_BY_KERNEL, /* when its kernel stopped */
    ENDS_BY_PROXY,  /* when its GPU last took or gave data: RecvGpuWait, SendGpuWait */
    ENDS_BY_HOST,   /* when the host noticed the end by polling */
    ENDS_ESTIMATED, /* estimated from when the next operations began, on all ranks (timeline.c) */
    ENDS_BY_SENDER  /* of a receive: at least when its sender arrived, by aligned clocks (early_stops.c); the
                       end is unknown if the sender arrived first */
};

/* One operation: a collective, send or receive of one rank. */
struct job_operation {
    int64_t bytes;
    int64_t enqueued_ns; /* when the host handed it to the GPU; TIME_UNKNOWN */
    int64_t start_ns;    /* on the device; TIME_UNKNOWN */
    int64_t end_ns;      /* on the device; TIME_UNKNOWN */
    int64_t own_ns; /* gap time: start minus the end of the previous operation on the stream; TIME_UNKNOWN */

    int32_t communicator;
    int32_t instance;
    int32_t previous; /* on the same stream; of a group, the operation that freed the stream last */
    int32_t group;    /* first operation of its group call, whose operations run at the same time */

    signed rank : 24;
    unsigned function : 5;
    unsigned ends : 3; /* end_kind */
    signed step : 28;  /* -1: unknown */
    unsigned kind : 2;
    unsigned unfinished : 1;
    unsigned held : 1;    /* by aligned clocks, it occupied its stream beyond its end (early_stops.c) */
    signed tag : 28;      /* number in job.tags; -1: none */
    unsigned is_tree : 1; /* tree algorithm: its kernel may stop before the operation ends (early_stops.c) */
    unsigned may_be_tree : 1; /* an AllReduce whose algorithm is not recorded */
    unsigned incomplete : 1;  /* a kernel channel has a start but no stop */
    unsigned inferred : 1;    /* assumed start: the end of the previous operation, or its enqueueing */
    unsigned stamped : 1;     /* inferred from when its record was dumped (stamped_times.c) */
    signed root : 24;         /* rank in the communicator; -1: none */
    unsigned datatype : 6;
    unsigned all_taken : 1; /* its GPU took network data on each of its channels, at known times */
    unsigned by_call : 1; /* its times are the earliest that the calls of its members allow (device_time.c) */
};

/*
 * Properties of operations that are only needed until their timelines are built. Each array has one entry per
 * operation and is owned. It is NULL if no operation has the property, and after its last use. Times are on
 * the recording host's clock until job_map_rank converts them to the device timeline.
 */
struct job_drafts {
    int64_t *issued_ns;    /* when it was called; TIME_UNKNOWN */
    int64_t *free_ns;      /* when its stream became free: end_ns, or later if its GPU took data until then */
    int64_t *durations_ns; /* recorded duration of an operation whose start is unknown; TIME_UNKNOWN */
    int64_t *stamps_ns;    /* when the record of such an operation was dumped, after its end; TIME_UNKNOWN */
    int64_t *numbers;      /* its rank's own number of such a send or receive; COUNT_UNKNOWN */
    int64_t *noticed_ns;   /* host clock minus GPU clock when the host noticed its start; TIME_UNKNOWN */
    struct job_notice *notices;
    struct job_sent *sent; /* not per operation: one per proxy operation that sends */
    size_t sent_count, sent_capacity;
    int32_t *streams;     /* index in stream_ids */
    uint64_t *stream_ids; /* the first is 0: not recorded */
};

/* An operation that occupied its stream beyond its end (`held`), and until when. */
struct job_hold {
    int64_t operation; /* first member: find_id relies on it */
    int64_t until_ns;
};

/* One collective, or one send with its receive, with the operations of all its ranks. */
struct job_instance {
    int64_t sequence; /* number per communicator and function; of a pair, its ordinal between the two ranks */
    int64_t transfer_ns; /* shortest duration of a member; of a pair, the time on the wire; TIME_UNKNOWN */
    int32_t communicator;
    int32_t sender; /* job ranks; -1: none */
    int32_t receiver;
    int32_t members; /* number of operations that are present */
    int32_t expected;
    uint32_t first_member; /* index in job.instance_members, which contains indexes of operations */
    signed step : 28;
    unsigned kind : 2;
    unsigned is_synced : 1;  /* all its members record how long they waited for the others (arrival.c) */
    unsigned by_latency : 1; /* of a pair: transfer_ns is from the latencies of pairs between the same hosts
                                (pair_latency.c), so either of its ranks, or the link, may make it slow */
    signed tag : 27;
    unsigned function : 5;
};

/* Further properties of an operation, for traces that record the state of each call (job.calls). */
struct job_call {
    int64_t number; /* number of a collective in its communicator, across all functions; of a send or receive,
                       its number among those of its rank; -1: unknown */
    int64_t count;  /* elements; of AlltoAll those of one row of the tensor; -1: unknown */
    int64_t peer;   /* of a send or receive: rank in the communicator; -1: none */
    int64_t own_rank; /* rank in the communicator */
    int is_started;   /* its GPU began it, at an unknown time */
};

/* How many collectives of a communicator a rank reports as enqueued and completed; -1: not reported. */
struct job_progress {
    int32_t rank;
    int32_t communicator;
    int64_t enqueued;
    int64_t completed;
};

/* How the clock of a rank was aligned with those of the others. */
enum clock_method {
    CLOCK_NONE = 0,     /* nothing connects it to the reference */
    CLOCK_REFERENCE,    /* it is the reference that the others are aligned with */
    CLOCK_SHARED,       /* the same clock as the reference: same host, or anchors of the same boot */
    CLOCK_CONSTRAINTS,  /* by difference constraints from common operations */
    CLOCK_CONTRADICTORY /* not aligned: the common operations contradict each other */
};

/* How the file of a rank stops. */
enum cut {
    CUT_NONE = 0,
    CUT_AT_END,       /* truncated: the process died, or the file was cut off */
    CUT_IN_OPERATION, /* truncated in the middle of an operation */
    CUT_STOPPED /* its recorder stopped while the process continued: what the process did later is unknown */
};

/* Equal warnings of one rank, counted together (load_coverage.c). */
struct job_warning {
    int64_t id; /* row in the store of the first one; 0 if the job was not loaded from a store */
    int32_t rank;
    enum warning_kind kind;
    int64_t status;   /* of a transfer: InfiniBand status; COUNT_UNKNOWN */
    const char *nic;  /* the rank's own; in job.tags; NULL: unknown */
    const char *peer; /* address or name of the other host; in job.tags; NULL: unknown */
    const char *text; /* of the first one; in job.tags; NULL: unknown, and for WARNING_OTHER */
    int64_t count;
    int64_t first_ns; /* on the clock of the log, as last_ns; TIME_UNKNOWN */
    int64_t last_ns;
    int64_t calls; /* of its process until the last warning; COUNT_UNKNOWN: no calls recorded */
    int64_t pid;   /* COUNT_UNKNOWN */
};

/* A rank of the job: its operations, its clock, and how its file stops. */
struct job_rank {
    int64_t id;
    int64_t process_id;        /* -1: it has no records */
    int64_t global_rank;       /* -1 */
    char *name;                /* owned */
    struct roster_facts facts; /* of its process: host, GPU ... */
    size_t first;              /* index of its first operation; its operations are in the order of issue */
    size_t count;
    int has_gpu_clock;
    int has_streams;    /* it has several streams */
    int64_t *delays_ns; /* owned: host clock minus device timeline, one entry per JOB_DELAY_BLOCK operations,
                           or one per operation if the run is loaded in excerpts or clock_drift is not 0 */
    double clock_drift; /* by how much the host clock gains on the GPU's, per unit of time; 0: by little */
    int64_t first_issued_ns; /* first call, on the host's clock; 0: unknown */
    int64_t first_dump_ns;   /* first dump of an operation, on the same clock; 0: unknown */
    int32_t clock;           /* ranks with the same number share a host clock */
    enum clock_method clock_method;
    int64_t clock_offset_ns;      /* converts the host clock to the run's common time, at clock_origin_ns */
    int64_t clock_uncertainty_ns; /* the true offset is within +/- this */
    int64_t clock_doubt_ns;       /* how far the offset may be off by what ends of exchanges show */
    int64_t clock_origin_ns;
    double clock_scale;
    int has_rough_clock; /* of CLOCK_CONTRADICTORY: the offset is known to a few milliseconds */
    enum cut cut;
    int64_t dump_interval_ns;  /* its operations that are `stamped` may have ended earlier by this; 0: none */
    int64_t seen_until_ns;     /* last other record of its recorder, on the host's clock; 0: unknown */
    int64_t anchored_until_ns; /* the last clock anchor of its recorder, on the host's clock; 0: unknown */
    int reports_progress;      /* it reports its progress on some communicator */
    int reports_after_pending; /* its recorder reports an unfinished operation only after it was pending for a
                                  second */
    int may_lack_file;   /* it is in fewer communicators than another rank, and some communicator has a free
                            place for it, or some rank left no records */
    int32_t tail_step;   /* from this step on its records are incomplete; INT32_MAX: nowhere */
    const char *address; /* network address of its host; in job.tags; NULL: unknown */
    int is_part; /* its process has more ranks with operations than any communicator has of that process, so
                    some of these ranks cannot be told apart */
};

/* Indexes from `first` up to but not including `end`. */
struct job_range {
    size_t first;
    size_t end;
};

/* The same in 32 bits, for large arrays: indexes of operations. */
struct job_span {
    int32_t first;
    int32_t end;
};

/* Why recorded kernel times belong to other operations, as bits (shared_kernels.c, readers of formats). */
enum misattribution {
    MISATTRIBUTED_AFTER_SELF_SEND = 1, /* NCCL's host does not count what a rank sends to itself */
    MISATTRIBUTED_AFTER_BROADCAST = 2, /* NCCL's host does not count Broadcasts */
    MISATTRIBUTED_IMPOSSIBLE = 4       /* kernels began before their operation was called */
};

/* What NCCL's RAS reported about a job, perhaps while it was still running, in one or several reports. */
struct job_watch {
    int is_watched;
    int has_counts;         /* some report gives the progress of ranks: not all counts are 0 */
    int has_moved;          /* some rank launched something between the last two reports that give progress */
    int64_t no_progress_ns; /* time between those reports, if nothing was launched; else 0, as for a single
                             report */
};

/* Steps from `first` up to but not including `end`, of a run too large to load (step_selection.c). */
struct job_excerpt {
    int32_t first;
    int32_t end;
    int32_t at; /* number that its first step has in the job */
};

/* Results about the steps that are not loaded (screening.c). */
struct job_screened {
    int64_t operations; /* number of operations of the run */
    int is_told;        /* the durations of operations are known */
    int32_t unusual;    /* number of ranges of steps that stand out */
    int32_t left_out;   /* number of those ranges of which no step is loaded */
    int32_t left_steps; /* number of steps in the latter */
    int32_t left_first; /* the first of these steps */
};

/* All data of one run. The functions that load it initialize it; release it with job_release. */
struct job {
    struct store *store; /* borrowed */
    int64_t run_id;
    size_t threads;       /* threads that may work on the job, as many as the store has; 0 means one */
    char *run_name;       /* owned, hostile: from the folder of its files */
    struct roster roster; /* only while loading */
    int64_t expected_ranks;
    int32_t step_count;           /* number of loaded steps, including a break between excerpts */
    int32_t first_step;           /* first recorded step if steps have the program's numbers, else 0 */
    int64_t step_base;            /* the number that the program uses for step 0 */
    struct job_excerpt *excerpts; /* owned; NULL: the run is loaded completely */
    size_t excerpt_count;
    int32_t *step_numbers;  /* owned: [step] number in the run, -1 for a break; NULL: the same number */
    int32_t run_step_count; /* of a run that is loaded in excerpts */
    int is_later_round;     /* this is a later round: other steps, including the first and the last ones, are
                               analyzed in the first round */
    struct job_screened screened;
    char *step_source; /* owned */
    int has_global_ranks;
    struct job_rank *ranks;
    size_t rank_count;
    struct job_communicator *communicators;
    size_t communicator_count;
    struct job_call *calls; /* one per operation, if all recorders report the state of calls; else NULL */
    struct job_progress *progress;
    size_t progress_count, progress_capacity;
    struct job_start *starts; /* owned: how ranks joined communicators, from a log; NULL: unknown */
    size_t start_count, start_capacity;
    struct job_warning *warnings; /* owned; sorted by rank; NULL: none */
    size_t warning_count, warning_capacity;
    struct job_operation *operations; /* sorted by rank, then in the order of issue */
    struct id_runs operation_ids; /* rows in the store, as they were read; empty if not loaded from a store */
    int32_t *read_order;          /* index in operation_ids of each operation */
    struct job_drafts drafts;     /* only while loading */
    int64_t *initial_sync_ns;     /* of symmetric kernels, per operation; 0: unknown; NULL: none */
    int32_t *sources;             /* calling place of each operation: number in job.tags; -1: unknown; NULL */
    int32_t *described;   /* the same, from descriptions of calls, which not all ranks record; NULL: none */
    int64_t *gpu_busy_ns; /* GPU compute time since the end of the previous operation; NULL: unknown */
    int64_t *gpu_overlap_ns; /* GPU compute time while the operation ran; NULL: none, or unknown */
    size_t operation_count;
    struct job_hold *holds; /* sorted by operation */
    size_t hold_count;
    struct job_instance *instances;
    size_t instance_count;
    int32_t *instance_members;
    struct job_traffic *traffic; /* sorted by operation */
    size_t traffic_count, traffic_capacity;
    struct job_service *services;  /* owned: [rank * step_count + step]; NULL: nothing is recorded */
    struct job_arrivals *arrivals; /* owned; sorted by operation */
    size_t arrival_count, arrival_capacity;
    struct job_span *operations_of_step; /* [rank * step_count + step]; use job_operations_in */
    int32_t *by_step;                    /* indexes of the instances that have a step, sorted by step */
    size_t *step_end;                    /* [step]: end of its instances in by_step */
    struct intern tags;
    /* Coverage of this run, which limits the confidence of findings. */
    int64_t damaged_lines;
    int64_t lost_events;
    int64_t overwritten;      /* operations among lost_events; may count in missing_sequence as well */
    int64_t bare_calls;       /* calls that moved data but have no operation */
    int64_t missing_sequence; /* operations missing between others of their sequence */
    int64_t left_out; /* those among them that Inspector recorded on no rank, as its size filter does */
    int64_t left_out_by_all; /* those of left_out in communicators of all ranks */
    int64_t sequences;       /* sequences of operations, per rank, communicator and function */
    int64_t late_sequences;  /* those sequences that do not begin at the start */
    int finished_only;       /* its recorders list only completed operations */
    int calls_only;          /* its recorders list only calls; whether any of them completed is unknown */
    struct job_watch watch;  /* what NCCL's RAS reported about it */
    int dumped_running;      /* all dumps of call results were written while it was still making calls */
    unsigned misattributed_kernels; /* bits of enum astray: the affected kernels have no times */
    int64_t kernels_before; /* operations whose kernel began before they were enqueued; these have no times */
    int is_windows;         /* recorded only for a part of the run: ends of records mean nothing */
    uint8_t lacks_files;    /* some rank has no records, or may lack a file */
    uint8_t common_cut;     /* enum cut: how most files stop */
    int blind_to_pairs;     /* its recorder does not record point-to-point operations */
    int in_stages;          /* its ranks form several pipeline stages (step_index.c) */
    int64_t bounded_ends;   /* cases that need more operations to be examined (early_stops.c) */
    int64_t timed_operations; /* operations with a start on the device */
    int calls_lack_gpu_times; /* recorded durations do not tell when operations ran (device_time.c) */
    int has_durations;        /* some operation has a duration on the device */
};

/*
 * The place in the program that called an operation: "train.py:123"; NULL: unknown. If it is unknown for a
 * collective, the place of the other members is returned, provided that they all agree.
 */
const char *job_source(const struct job *job, size_t operation);

/* Host clock minus device timeline at an operation. */
int64_t job_delay(const struct job *job, const struct job_operation *operation);

/*
 * When a member left its operation, as far as its kernel tells. For a leaf of a tree, which stops early, and
 * for a kernel with a channel without a stop, this is when the next operation of its stream began
 * (`next_ns`).
 */
static inline int64_t job_left_ns(const struct job_operation *member, int64_t next_ns)
{
    return member->is_tree || member->incomplete ? next_ns : member->end_ns;
}

/* A member of an instance: its index among all operations, and the operation itself. */
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

/* The communicator that first did the work of an operation's communicator: itself, or the replaced one. */
static inline int32_t job_first_communicator(const struct job *job, const struct job_operation *operation)
{
    int32_t succeeds = job->communicators[operation->communicator].succeeds;
    return succeeds ? succeeds - 1 : operation->communicator;
}

/* The uncertainty of the offset between the clocks of two ranks. */
static inline int64_t job_clock_uncertainty(const struct job *job, int32_t a, int32_t b)
{
    if (job->ranks[a].clock == job->ranks[b].clock)
        return 0;
    return job->ranks[a].clock_uncertainty_ns + job->ranks[b].clock_uncertainty_ns;
}

/* The row in the store of an operation. The job must have been loaded from a store. */
int64_t job_operation_id(const struct job *job, size_t operation);

/* The index of the rank with a global rank, or with a rank in a communicator; -1: unknown. */
int32_t job_rank_numbered(const struct job *job, int64_t global_rank);
int32_t job_rank_in(const struct job *job, int64_t communicator, int64_t number);

/* The number of ranks without records of their calls, and with records. */
size_t job_silent_ranks(const struct job *job);
size_t job_recorded_ranks(const struct job *job);

/* The number per communicator and function; of a pair, its ordinal between the two ranks. */
int64_t job_sequence(const struct job *job, const struct job_operation *operation);

/* When the next operation of each one's stream started; TIME_UNKNOWN. Caller frees; NULL: out of memory. */
int64_t *job_next_starts(const struct job *job);

/* Releases everything that loading allocated. */
void job_release(struct job *job);

/* Converts a device time of an operation to the run's common time; TIME_UNKNOWN: clock not aligned. */
int64_t job_common_time(const struct job *job, const struct job_operation *operation, int64_t time_ns);

/* The same, also where clocks contradict each other by a few milliseconds at most, and are wrong by as much.
 */
int64_t job_rough_time(const struct job *job, const struct job_operation *operation, int64_t time_ns);

/*
 * Whether a rank's clock is aligned; and the conversion of a time on its host clock, as recorded, to the
 * run's common time (TIME_UNKNOWN if it is not).
 */
int job_is_aligned(const struct job_rank *rank);
int64_t job_common_host_time(const struct job_rank *rank, int64_t host_ns);

const char *job_tag(const struct job *job, int32_t tag); /* NULL for -1 */

/* The duration of an operation on the device; 0 if it ended before it began; TIME_UNKNOWN. */
int64_t job_duration(const struct job_operation *operation);

/*
 * The duration of the receive of a pair. INT64_MAX if the instance is not a pair, or if the trace does not
 * show it: the receive is part of a group call, or its end is known only from the host or from a kernel with
 * a channel without a stop.
 */
int64_t job_received_ns(const struct job *job, const struct job_instance *instance);

/* Whether an operation has the times of a kernel that it shares with others of a group call (timeline.c). */
int job_is_grouped(const struct job *job, int32_t operation);

/* -------------------- step_selection.c -------------------- */

/* Steps that are in memory at the same time, as excerpts in ascending order with gaps between them. */
struct step_round {
    struct job_excerpt *excerpts; /* owned */
    size_t count;
};

/* A limit, since each round for steps that stand out reads the records of all steps from the store. */
enum { MOST_ROUNDS = 16 };

/*
 * The steps of a run that are worth loading if memory cannot hold all of them: the first round, and further
 * rounds with other steps, which stand out but did not fit into the first one. All rounds contain the first
 * step, which is needed to detect warm-up and times. No other step is in two rounds.
 */
struct chosen_steps {
    struct step_round rounds[MOST_ROUNDS];
    size_t count;       /* number of rounds */
    int32_t unusual;    /* ranges of steps that stand out */
    int32_t left_out;   /* those ranges of which no step was chosen */
    int32_t left_steps; /* number of steps in them */
    int32_t left_first; /* first step of the first of them */
};

void chosen_steps_release(struct chosen_steps *chosen);

/* -------------------- load.c -------------------- */

/* Loads a complete run, including timelines. On failure nothing needs to be released. */
int job_load(struct job *job, struct store *store, int64_t run_id, struct error *error);

/* Sets *fits to whether a run needs no more than `memory_bytes` (0: no limit). `job` needs its names only. */
int job_fits(const struct job *job, int64_t memory_bytes, int *fits, struct error *error);

/*
 * Loads a run, but if its operations would need more than `memory_bytes` (0: no limit), only one round of it:
 * excerpts with the most informative steps, selected after scanning all steps (step_selection.c). A run
 * without known steps is always loaded completely.
 */
int job_load_within(struct job *job, struct store *store, int64_t run_id, int64_t memory_bytes,
                    struct error *error);

/* The same, but a run without known steps, which cannot be loaded in parts, is loaded whole in any case. */
int job_is_loaded_whole(const struct job *job, int64_t memory_bytes, int *is_whole, struct error *error);

/*
 * Plans how to load a run whose operations would need more than `memory_bytes` (0: no limit), in at most
 * MOST_ROUNDS rounds. No rounds means that it is to be loaded completely. `names` gets the ranks and
 * communicators (job_load_names), and the results of scanning the steps. On failure nothing needs to be
 * released.
 */
int job_plan(struct chosen_steps *rounds, struct job *names, struct store *store, int64_t run_id,
             int64_t memory_bytes, struct error *error);

/*
 * Loads one round of the run that `names` describes. The first round contains the end of the run, so
 * everything that concerns the whole run rather than steps must be analyzed there.
 */
int job_load_round(struct job *job, const struct job *names, const struct chosen_steps *rounds, size_t round,
                   struct error *error);

/* Loads these excerpts. The job takes ownership of them (job_set_excerpts). */
int job_load_steps(struct job *job, struct store *store, int64_t run_id, struct job_excerpt *excerpts,
                   size_t count, struct error *error);

/* Loads a run in two parts: first its ranks and communicators, then the large tables. */
int job_load_names(struct job *job, struct store *store, int64_t run_id, struct error *error);
int job_load_rest(struct job *job, struct error *error);

/* -------------------- loader.c -------------------- */

/* State that is needed only while a run is loaded, shared by the files load*.c. */
struct loader {
    struct job *job;
    int64_t member_id; /* the member that was looked up last */
    int64_t member;
    int member_known;
    struct id_runs instance_ids; /* owned; id -> index of the instance */
    int has_traffic;             /* there are proxy operations, so `channels` is needed */
    int32_t *places;   /* owned: index of each operation as it was read; NULL until loader_list_places */
    uint8_t *channels; /* owned: for each operation, in the order of reading, how many channels of its kernel
                          are not known to have received; CHANNELS_MANY: that many or more */
    size_t channel_capacity;
    size_t instance_capacity;
    size_t operation_capacity;
    size_t issued_capacity;
    size_t sync_capacity, busy_capacity, overlap_capacity;
    size_t source_capacity;
    size_t duration_capacity;
    size_t stamp_capacity, number_capacity;
    size_t noticed_capacity, notice_capacity;
    size_t stream_capacity, stream_id_capacity;
    struct map stream_numbers; /* stream -> index in stream_ids */
    int32_t latest_stream;     /* the stream that was looked up last */
    size_t call_capacity;
    int records_call_states; /* all recorders report the state of calls, so job->calls is filled */
};

/* Prepares to load the rest of a run whose names are loaded. Release it even after an error. */
int loader_init(struct loader *loader, struct job *job, struct error *error);
void loader_release(struct loader *loader);

/* Rank index * 2^32 + communicator index of a member; -1 if it does not belong to this run. */
int64_t loader_member(struct loader *loader, int64_t id);

/* -------------------- load.c -------------------- */

/* The ids of the runs in the store, ascending. The caller frees *ids. */
int job_list(struct store *store, int64_t **ids, size_t *count, struct error *error);

/* Counts runs where only one of several ranks has records: they may be parts of one job. */
int job_count_pieces(struct store *store, int64_t *count, struct error *error);

/* -------------------- load_traffic.c -------------------- */

/*
 * The idle time: the part of an operation's own time that began when the last of the 64 operations issued
 * before it ended, on any stream (or freed its stream, if later). Streams wait for each other at points that
 * a trace does not show, so this is a lower bound of its own time. TIME_UNKNOWN.
 */
int64_t job_idle_time(const struct job *job, const struct job_operation *operation);

/*
 * How many idle times would be shorter if more than 64 earlier operations were examined, because an operation
 * before those ended later.
 */
int64_t job_bounded_idle_times(const struct job *job);

/*
 * The lateness of an operation: the part of its idle time that had passed when it was enqueued, which is the
 * host's part. If the previous end is only an estimate, it is the difference between enqueueing and that end,
 * negative if the operation was enqueued earlier, since the stream may have been free long before. If the
 * GPU's compute time is known, it is not counted as lateness. TIME_UNKNOWN if the idle time or the enqueueing
 * is unknown.
 */
int64_t job_lateness(const struct job *job, const struct job_operation *operation);

/* The same, if the idle time is known already. */
int64_t job_lateness_in(const struct job *job, const struct job_operation *operation, int64_t idle_ns);

/* Whether a rank's trace shows when its host enqueued operations, so that a late host can be told from a GPU.
 */
int job_records_calls(const struct job *job, int32_t rank);

/*
 * Whether the own time begins at an end that is only estimated (timeline.c), or, where stamps bound it, at
 * the stop of what may be the leaf of a tree, which stops before others arrive, and the clocks do not show
 * when they did.
 */
int job_is_own_estimated(const struct job *job, const struct job_operation *operation);

/*
 * How far an estimated end before an operation may be off because clocks of ranks are, as an explanation of
 * own time that is too long in all steps, or in some.
 */
int64_t job_own_doubt(const struct job *job, const struct job_operation *operation, int in_all_steps);

/* -------------------- load_coverage.c -------------------- */

/*
 * Calls that moved data but have no operation in the trace, so they cannot be analyzed. Counts those of a
 * run, or of the whole store (run_id 0).
 */
struct bare_calls {
    int64_t captured; /* in a CUDA graph */
    int64_t others;
};
int bare_calls_count(struct bare_calls *calls, struct store *store, int64_t run_id, struct error *error);

/*
 * How a rank joined a communicator, from NCCL's log.
 *
 * No rank finishes creating a communicator before all its ranks have joined: in the bootstrap each rank waits
 * for the last one. So the rank that joined last waited the shortest time, and a rank that waited long was
 * delayed by others, as in arrival.c. The clocks of hosts are not compared.
 */
struct job_start {
    int64_t order; /* position in time among those of the same rank */
    int32_t rank;
    int32_t communicator;
    int32_t parent;       /* communicator that it was split from; -1: none or unknown */
    int32_t function;     /* the function that the program called: number in job.tags; -1: unknown */
    struct start_up told; /* its pointer is NULL */
    int64_t waited_ns;    /* time spent waiting for others; TIME_UNKNOWN */
    int64_t late_ns;      /* how much later than the first it joined; TIME_UNKNOWN: not known for all */
    unsigned is_told : 1; /* it is known who joined last: the waits differ by more than their resolution */
    unsigned is_last : 1; /* in that case: no rank joined later by more than the resolution */
};

/* -------------------- clock_alignment.c -------------------- */

/* Where the record of an operation is in the traces, and when it began by the clocks in that file. */
struct job_record {
    char *file;          /* owned; NULL: unknown */
    int64_t byte_offset; /* in the unpacked file */
    int64_t at_ns;       /* on the clock of its process, as recorded; TIME_UNKNOWN */
    int64_t wall_ns;     /* since 1970, UTC; TIME_UNKNOWN */
};

/* Looks up the record of an operation of a job from a store. Release the record even after an error. */
int job_find_record(const struct job *job, size_t operation, struct job_record *record, struct error *error);
/* The same for a warning, by its id. The clock of a log is not a wall clock, since it has no time zone. */
int job_find_warning(const struct job *job, int64_t warning, struct job_record *record, struct error *error);
void job_record_release(struct job_record *record);

/*
 * How far the records of a job reach, per communicator and collective function: the last operation that each
 * rank began, and the last one that some rank completed. No rank completes a full exchange before all have
 * joined it, so a rank whose record ends before that took part in more operations than it has records of.
 */
struct extents {
    struct map last; /* (communicator, function, rank) -> greatest sequence number begun */
    int64_t *past;   /* owned: [communicator * FUNCTION_COUNT + function], the same completed; INT64_MIN */
};

/* Release it even after an error. Returns -1 when out of memory. */
int extents_init(struct extents *extents, const struct job *job);
void extents_release(struct extents *extents);

/* The greatest sequence number that a rank began; NULL if nothing is recorded. */
const int64_t *extents_last(const struct extents *extents, int32_t rank, int32_t communicator,
                            uint8_t function);

/* Whether other ranks completed more than is recorded for a rank. */
int extents_lack(const struct extents *extents, int32_t rank, int32_t communicator, uint8_t function);

/* -------------------- step_selection.c -------------------- */

/*
 * A run that is too large for memory is loaded in excerpts, each of which consists of complete steps. The job
 * numbers these steps consecutively, with one empty step, the break, between two excerpts, since the steps on
 * both sides of it are not neighbours. Code that counts, compares or iterates over steps sees a shorter run
 * with a few empty steps; code that prints the number of a step must convert it to that of the run.
 * Operations without a step are always loaded.
 */

/*
 * Sets the steps of the run that are loaded: excerpts in ascending order with gaps between them, the first of
 * which begins at 0. The job takes ownership of the array even on error. Returns -1 when out of memory.
 */
int job_set_excerpts(struct job *job, struct job_excerpt *excerpts, size_t count);

/* Converts a step of the run to the job's number, which is the same in a complete job; -1: not loaded. */
int32_t job_loaded_step(const struct job *job, int64_t run_step);

/* Converts a step of the job to the run's number; a break becomes the first step left out there. */
int32_t job_run_step(const struct job *job, int32_t step);

/* Whether a step of the job is a break. */
int job_is_break(const struct job *job, int32_t step);

/* The number of breaks between two steps of the job, including both. */
int32_t job_breaks_in(const struct job *job, int32_t first, int32_t last);

/* The number of loaded steps, and of steps in the run. */
int32_t job_loaded_steps(const struct job *job);
int32_t job_run_steps(const struct job *job);

/*
 * The number of steps in the run per loaded step, in a later round (load.c). Its steps were selected from the
 * whole run because they stand out, so what is rare in the run is not rare among them. 1 if the steps were
 * not selected for this reason.
 */
double job_selection_ratio(const struct job *job);

/* Upper bound of the memory per operation, including its instance and the data of an analysis. */
enum { JOB_OPERATION_BYTES = 208 };

/* -------------------- step_index.c -------------------- */

/*
 * job_operations_in returns a range of operation indexes that contains all operations of a rank in these
 * steps, and possibly others. job_instances_in returns the range in by_step with exactly the instances of
 * these steps. Both steps are inclusive and must be below step_count.
 */
struct job_range job_operations_in(const struct job *job, int32_t rank, int32_t first_step,
                                   int32_t last_step);
struct job_range job_instances_in(const struct job *job, int32_t first_step, int32_t last_step);

/*
 * Pipeline stages, for recorders without point-to-point operations. Ranks that share a communicator smaller
 * than the job are in one stage; different stages share only communicators of all ranks.
 */

/*
 * For each rank, the lowest rank of its stage. All ranks are in one stage if there are no smaller
 * communicators. Owned by the caller; NULL when out of memory.
 */
int32_t *stages_find(const struct job *job);

/* Whether operations between stages are not recorded, so that delays propagate between stages invisibly. */
int job_lacks_stage_p2p(const struct job *job);

/* Threads process instances in pieces of this size. */
enum { INSTANCES_A_PIECE = 1024 };

/* How many threads to use for a pass over the operations of a job, at most as many as the job has. */
size_t job_threads(const struct job *job);

/* -------------------- arrival.c -------------------- */

/*
 * Finds who arrived when at an operation, without comparing clocks. Each member measures, on the clock of its
 * own GPU, how long it stayed in a part of the operation that no member leaves before all have arrived. The
 * shorter the stay, the later the member arrived; the difference of two stays is how long one waited for the
 * other.
 *
 * If all members record it (is_synced), that part is the initial sync of a symmetric kernel: a barrier for
 * every function, and independent of what the member computes or waits for after it. Otherwise it is the
 * whole operation, which no member completes before all have arrived only in full exchanges and pairs.
 */

/*
 * Whether the stay in an operation of this instance shows when the member arrived. The function matters for
 * pairs, whose two sides differ.
 */
int arrival_is_told(const struct job_instance *instance, enum function function);

/* The stay of an operation, given its index in the job; TIME_UNKNOWN. */
int64_t arrival_stay_ns(const struct job *job, int32_t operation);

/*
 * By how much an operation's member arrived after the last of the others, at most `most_ns`. `most_ns` where
 * a stay is unknown; 0 where no other member left a record that would show it waiting.
 */
int64_t arrival_margin_ns(const struct job *job, int32_t operation, int64_t most_ns);

/*
 * The index of the operation that arrived last, which is the one with the shortest stay, and the first of
 * equal ones. -1 if some member's stay is unknown, or if there is only one member.
 */
int32_t arrival_last(const struct job *job, const struct job_instance *instance);

/*
 * Finds who arrived when at the first operation on each communicator whose creation is not logged. Creates
 * one start per rank, with an empty `told`. Waits are known if all ranks began with the same operation and
 * their stays show how long each waited (arrival.c). Sorted by communicator. The caller frees `*starts`.
 * Returns -1 when out of memory.
 */
int job_first_meetings(const struct job *job, struct job_start **starts, size_t *count);

#endif
