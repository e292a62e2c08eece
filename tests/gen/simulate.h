/*
 * Simulator of training jobs: host threads that enqueue, GPU streams that run kernels in order, NCCL kernels
 * that move data over links, and planted faults. It writes the records that a profiler would have made, in
 * the dialects of real profilers, and truth.json, which describes what really happened.
 *
 * It shares nothing with the library under test. All times are nanoseconds on one true clock that starts with
 * the job; only the writers convert them to the clock of each process.
 */
#ifndef SIMULATE_H
#define SIMULATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct output;

#define UNKNOWN INT64_MIN
#define MOST_RANKS 16384
#define MAX_FAULTS 16
#define MAX_STREAMS 4
#define MAX_PHASES 8
#define MAX_EVENTS_OF_A_JOB 8 /* of each kind: recreated communicators, clocks that are set */
#define MAX_CHANNELS 4
#define GPUS_PER_NODE 8

enum function {
    FUNCTION_ALL_REDUCE,
    FUNCTION_ALL_GATHER,
    FUNCTION_REDUCE_SCATTER,
    FUNCTION_BROADCAST,
    FUNCTION_REDUCE,
    FUNCTION_SEND,
    FUNCTION_RECV,
};

enum algorithm { ALGORITHM_RING, ALGORITHM_TREE };
enum protocol { PROTOCOL_LL, PROTOCOL_SIMPLE };

enum fault_kind {
    FAULT_COMPUTE,
    FAULT_THROTTLE,
    FAULT_HOST,
    FAULT_NETWORK,
    FAULT_EDGE,
    FAULT_RECEIVE,
    FAULT_PAUSE,
    FAULT_HANG,
    FAULT_KILL,
    FAULT_MISMATCH,
    FAULT_FREEZE,     /* a kernel that never ends, while the host continues to enqueue */
    FAULT_CHECKPOINT, /* the host's own work after a step */
    FAULT_EXIT,       /* leaves the training loop; its recorder continues */
    FAULT_GPU_SHARE,  /* other processes use the GPU, too */
    FAULT_SWITCH,     /* between two sets of hosts: ranks are one of them */
    FAULT_LINKS,      /* of a rank, both directions, inside its host, too */
    FAULT_LOADER,     /* the host's own work before a step: log-normal */
    FAULT_COLLECTION, /* of garbage by the host, somewhere in the step: Pareto */
    FAULT_CPU_SHARE,  /* other processes use the cores of the host's and the proxy's thread */
    FAULT_STOP,       /* a process stands still, once: its host and its proxy threads */
};

struct fault {
    enum fault_kind kind;
    int rank; /* the first of: */
    int *ranks;
    int rank_count;
    int peer; /* the receiver of a slow edge, -1 for any */
    int first_step;
    int last_step;
    int every; /* only every N-th step from the first on */
    double
        amount; /* us; percent for a throttled GPU, time slices, a switch, links; ms for a pause and a stop */
    bool relative; /* amount is a percentage of a median clean step, spread over the phase (or its sends) */
    int phase;     /* index of the phase, -1 for every phase */
    int (*crossing)[2]; /* switch: senders and receivers whose links cross it */
    int crossing_count, crossing_capacity;
    int equivalent;        /* another rank that no observer could distinguish from this one, -1 for none */
    bool enabled;          /* switched off for the run that measures what the fault cost */
    int64_t since;         /* pause, stop: its start, UNKNOWN until then */
    struct slices *slices; /* of contended GPUs and cores: by rank, then by what is contended */
    double lost_us;        /* truth: job time lost to this fault */
    double alone_us;       /* truth: job time lost if it had been the only fault */
};

/* What one rank does in a step, in program order. The same list serves every step. */
enum action_kind {
    ACTION_PHASE,
    ACTION_COMPUTE,
    ACTION_COLLECTIVE,
    ACTION_POINT_TO_POINT,
    ACTION_RECORD,
    ACTION_WAIT,
    ACTION_SYNC,
    ACTION_HOST,
};

/* The part of an action that depends on the tokens of an expert. */
enum load {
    LOAD_NONE,
    LOAD_OF_EXPERT,    /* its work */
    LOAD_TO_EXPERTS,   /* what it is sent */
    LOAD_FROM_EXPERTS, /* what it sends back */
};

struct transfer_request {
    int function; /* FUNCTION_SEND or FUNCTION_RECV */
    int peer;     /* rank in the communicator */
    int64_t bytes;
};

struct action {
    enum action_kind kind;
    int stream;
    int phase;           /* the phase it belongs to */
    int event;           /* ACTION_RECORD, ACTION_WAIT */
    int64_t duration_ns; /* ACTION_COMPUTE, ACTION_HOST */
    enum load load;
    int layer;        /* of the experts */
    int local;        /* number of this rank in the communicator */
    int communicator; /* index into job.communicators */
    enum function function;
    int root;
    int64_t count;
    const char *datatype;
    int type_bytes;
    int64_t bytes; /* per rank: count x type size */
    struct transfer_request *requests;
    int request_count;
};

/* What all ranks do in steps of one kind. */
struct program {
    int microbatches;
    double sequence_length; /* 1: that of the first step */
    bool evaluates;
    int generation;          /* how often communicators have been recreated before */
    int communicators;       /* that it uses */
    struct action **actions; /* by rank */
    int *length_of_rank;
};

struct communicator {
    uint64_t hash;
    char name[32];
    int size;
    int *ranks; /* global rank of each rank */
    int *ring;  /* ring position -> rank in the communicator */
    int node_count;
    int channels;
    struct instance **instances; /* that are in memory */
    int first_instance;          /* index of the first of them */
    int instance_count;
    int instance_capacity;
    struct pair_queue *pairs; /* size x size, allocated on first use */
};

/* Boundaries of one network step: posted, data or buffer ready, credit or data there, finished. */
struct proxy_step {
    int64_t time[4];
};

struct proxy {
    int channel;
    bool send;
    int peer; /* rank in the communicator */
    int steps;
    int recorded; /* steps that have boundaries; fewer than steps when the operation never finished */
    int64_t chunk_bytes;
    int64_t bytes;
    int64_t scheduled;
    int64_t progress;
    int64_t end;             /* UNKNOWN when it never finished */
    struct proxy_step *step; /* NULL where the dialect has none */
};

/* One operation on one rank. */
struct record {
    int communicator;
    int rank_in_communicator;
    enum function function;
    enum algorithm algorithm;
    enum protocol protocol;
    int64_t count;
    const char *datatype;
    int type_bytes;
    int root;
    int peer; /* point-to-point only */
    int sequence;
    int step;
    int phase;
    int stream;
    int group; /* operations enqueued in one group share it */
    int channels;
    int first_channel;
    int64_t group_begin;
    int64_t launch_end;
    int64_t enqueue_begin;
    int64_t enqueue_end;
    int64_t group_end;
    int64_t start; /* UNKNOWN: its kernel never started */
    int64_t end;   /* UNKNOWN: its kernel never ended */
    int64_t channel_end[MAX_CHANNELS];
    int64_t channel_stop[MAX_CHANNELS]; /* recorded by the kernel: before the end, if its threads end
                                           separately */
    struct proxy *proxy;
    int proxy_count;
    bool lost;  /* its recorder lost it */
    bool taken; /* removed from the list of its process: its instance frees it */
};

struct instance {
    bool broken; /* a member called something else, so no rank finishes */
    bool judged; /* counted in the job's lateness */
    int index;
    int arrived;
    int64_t bytes;
    enum function function;
    struct record **member; /* by rank in the communicator */
    int step;
};

/* GPU work that is not communication. */
struct work {
    int64_t enqueued;
    int64_t start;
    int64_t end;
    int stream;
    int step;
    int phase;
};

struct process {
    int rank;
    int node;
    int pid;
    char host[32];
    int64_t start_ns; /* true time at which its own clock reads 0 */
    bool lost;        /* its trace */
    int64_t left;     /* when it left the training loop before its end; UNKNOWN: never */
    double scale;     /* its clock runs this much fast */
    int64_t gpu_zero; /* GPU clock at true time 0 */
    double gpu_scale;
    uint64_t stream_address[MAX_STREAMS];
    struct record **records; /* program order; in a stream, those that are still needed */
    int record_count;
    int kept;  /* the first of them, which a stream keeps for runs that need only one step */
    int taken; /* the stream removed this many before */
    int record_capacity;
    struct mark *marks; /* phases entered, program order */
    int mark_count;
    struct work *works; /* the finished ones, in the order of each stream */
    int work_count;
    int work_capacity;
    int64_t *step_begin; /* by step: when its host had finished the previous one; UNKNOWN: never */
};

struct mark {
    int phase;
    int step;
    int64_t time;
};

struct clock_step {
    int rank, step;
    double us;
};

/* Situations besides repeating the same step; see simulate_situation.c. */
struct situation {
    double hot_percent; /* more tokens for one expert of each group */
    int hot_steps; /* another one after this many steps; 0: all load is equal, and bytes do not depend on it
                    */
    double batches_percent, own_batches_percent;
    int ramp_first, ramp_steps;
    double sequence_percent;
    int sequence_steps;
    int evaluate_steps, evaluate_batches;
    const char *evaluate_tag;
    int remade[MAX_EVENTS_OF_A_JOB], remade_count;
    struct clock_step clock_steps[MAX_EVENTS_OF_A_JOB];
    int clock_step_count;
    double gaps; /* fraction of the operations that recorders lose */
    int gap_length;
};

struct options {
    struct situation situation;
    const char *shape;
    int ranks, tp, dp, pp, microbatches, layers, steps;
    int ranks_per_node;
    int sync_lag; /* 0: the host waits for the GPU at the end of each step; 1: for the step before; */
    uint64_t seed;
    double noise; /* 1: as in recorded runs, 0: none */
    bool rough;   /* besides jitter there are hiccups, slow periods and slow starts */
    double network_gbs, nvlink_gbs;
    double slower;  /* percent by which computation and transfers take longer */
    double compute; /* factor of the shape's computation */
    const char *dialect;
    const char *directory;
    bool gzip;
    bool stream;       /* a step is written when all ranks have finished it, and removed from memory */
    bool once;         /* simulated once: the cost of faults is not measured */
    bool node_folders; /* each node has its own folder for its files */
    int keep_last;    /* profiler pool: only the last N operations of a communicator and process are kept, 0 =
                         all; Flight Recorder: entries of its ring buffer, 0 = 2000 */
    int operators;    /* torch's operators, per piece of GPU work: Kineto only */
    double drop;      /* Inspector: fraction of finished operations that are lost */
    bool cut;         /* the killed rank leaves files that stop in the middle of a line, instead of none */
    const char *lose; /* ranks without trace */
    const char *algorithm; /* of AllReduce: ring, tree, auto */
    int cp, chunks;        /* size of the groups of ring attention; chunks of the model in a stage */
    const char *command;
};

/* Noise that lasts longer than jitter; see simulate_noise.c. */
struct rough {
    double *slowness; /* rank x steps: logarithm of the duration of its sends to other nodes, relative to the
                         median */
    /* The send that stalls: which rank's first send to which, in which group of operations; rank -1: none. */
    int stall_rank, stall_peer, stall_group;
    int64_t stall_ns;
    int stall_step;                        /* the step of that send; 0: none stalls */
    int64_t *waited_ns, *waits;            /* rank x steps: SendWait of all its sends, and their number */
    int late_rank, late_step, late_action; /* the host that is late once, and where; rank -1: none */
    double late_us;
};

/*
 * simulate_random.c: draws are functions of (seed, purpose, place), so a fault does not change any other
 * draw.
 */
enum draw {
    DRAW_COMPUTE = 1,
    DRAW_RANK_SPEED,
    DRAW_HOST,
    DRAW_HICCUP,
    DRAW_LINK,
    DRAW_EDGE,
    DRAW_NOTICE,
    DRAW_CLOCK,
    DRAW_IMBALANCE,
    DRAW_NAME,
    DRAW_DROP,
    DRAW_WARMUP,
    DRAW_CHANNEL,
    DRAW_ROUGH,
    DRAW_LOAD,
    DRAW_BATCH,
    DRAW_GAP,
    DRAW_SLICE,
    DRAW_TAIL,
    DRAWS,
};
uint64_t random_bits(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c);
double random_unit(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c);
double random_normal(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c);
double random_exponential(uint64_t seed, enum draw draw, uint64_t a, uint64_t b, uint64_t c);
/*
 * The same in parts: random_bits(seed, draw, a, b, c) is random_on(random_on(random_on(start, a), b), c), and
 * unit_of and others compute from such bits what random_unit returns.
 */
uint64_t random_start(uint64_t seed, enum draw draw);
uint64_t random_on(uint64_t bits, uint64_t next);
double unit_of(uint64_t bits);
double normal_of(uint64_t bits);
double exponential_of(uint64_t bits);

/* The late ranks by the true clock, by rank. */
struct lateness {
    int *times_last;
    double *shorter_us; /* how much shorter than the median its device times were, in total */
};

struct job {
    struct options options;
    struct fault faults[MAX_FAULTS];
    int fault_count;
    const char *phases[MAX_PHASES];
    int phase_count;
    struct communicator *communicators;
    int communicator_count;
    int communicator_capacity;
    struct process *processes;
    struct program *programs, *building;
    int program_count;
    int *program_of_step;
    int communicators_each; /* of one generation */
    int events;
    uint64_t luck[DRAWS];   /* random_start of each draw, if there are many */
    bool network_steps;     /* the dialect shows them */
    bool contended;         /* a fault is contention */
    int64_t *step_end;      /* by step: when the last rank finished it; UNKNOWN if it never did */
    int64_t *rank_step_end; /* rank x steps */
    int64_t end;
    double clean_step_us;
    struct rough rough;
    struct lateness lateness;
    struct inspector
        *writer;         /* of the run that is written: receives each step; NULL: a run that only measures */
    int lost_operations; /* finished, but not in a file */
};

/*
 * simulate_shape.c: which ranks communicate, and the program of each rank. Exits with a message on an
 * impossible shape.
 */
void shape_build(struct job *job);
void shape_list(FILE *out);
int job_phase(const struct job *job, const char *name);

/* simulate_program.c */
const struct program *job_program(const struct job *job, int step);

/* simulate_situation.c: situations of regular jobs besides repeating the same step. */
bool situation_option(struct situation *situation, const char *name, char *text);
extern const char situation_usage[];
void situation_check(const struct options *options);
struct program situation_program(const struct options *options, int step);
int experts_of(const struct options *options);
double situation_load(const struct job *job, int rank, int step, int layer);
double situation_batch(const struct job *job, int rank, int step);
int64_t situation_bytes(const struct job *job, const struct action *action, int sender, int receiver,
                        int step, int64_t bytes);
int64_t situation_clock(const struct job *job, const struct process *process, int64_t time);
void situation_lose(struct job *job, struct process *process, int first, int end);
void situation_truth(struct output *output, const struct job *job);

/* simulate_fault.c: the planted faults. */
void fault_parse(struct job *job, const char *text);
bool fault_on(const struct fault *fault, int rank);
bool fault_now(const struct fault *fault, int step, int phase);
int fault_steps(const struct fault *fault);
int64_t fault_send_delay(struct job *job, int sender, int receiver, int step, int phase);
/* How much longer than usual the link carries: factor. */
double fault_carries(const struct job *job, int sender, int receiver, int step, int phase);
/* What a host does before a step, and before an action of it. */
double fault_before_step_us(const struct job *job, int rank, int step);
double fault_before_action_us(const struct job *job, int rank, int step, int index);
/* A host that stops before this action. */
void fault_stop(struct job *job, int rank, int step, int index, int64_t now);
/* When a thread of a process goes on, if that stands still. */
int64_t fault_stopped_until(const struct job *job, int rank, int64_t at);
int64_t fault_pause_until(struct job *job, int sender, int step, int phase, int64_t at);
void faults_resolve(struct job *job);
void faults_measure(struct job *job);
/* After the run with all faults: the cost of a single one. */
void faults_measured(struct job *job, int64_t clean_end);
/* Fails if faults require a run without them. */
void faults_check_once(const struct job *job);

/*
 * simulate_contention.c: what waits while other processes have the GPU or the core.
 */
enum contended { CONTENDED_GPU, CONTENDED_HOST, CONTENDED_PROXY };
#define CONTENDED 3
/* Call when all ranks of all faults are known. */
void contention_prepare(struct job *job);
void contention_release(struct fault *fault);
/* The first time from `at` on at which the GPU or thread of the rank runs. */
int64_t contended_until(const struct job *job, int rank, int step, int phase, enum contended what,
                        int64_t at);
/* When the GPU has done work that takes so long on a GPU of its own. */
int64_t contended_work(const struct job *job, int rank, int step, int phase, int64_t at, int64_t work_ns);

/*
 * simulate_noise.c: noise that lasts. Call noise_prepare when the programs are known, and noise_calm after
 * the job was simulated without faults: it returns true if the job must be simulated again because senders
 * were slower than any recorded one. Then noise_place_stall returns true if the job must be simulated again,
 * with a send that stalls.
 */
struct slowness {
    double service; /* factor by which a send takes longer than the median */
    double linger;  /* factor by which it is acknowledged later */
};
bool network_busy(const struct options *options);
void noise_prepare(struct job *job);
bool noise_calm(struct job *job);
bool noise_place_stall(struct job *job);
struct slowness noise_link(const struct job *job, int sender, int receiver, int step);
/* A send of a step was acknowledged this long after the receiver was ready. */
void noise_forget_waits(struct job *job);
void noise_waited(struct job *job, int sender, int step, int64_t waited_ns);
int64_t noise_stall(const struct job *job, int sender, int receiver, int group);
double noise_late_us(const struct job *job, int rank, int step, int action);

/*
 * simulate_engine.c: simulates the job; fills records, marks and step ends. job_reset discards the records of
 * a simulated job. In a stream, a run passes each step to the job's writer and discards it.
 */
void engine_run(struct job *job);
void job_reset(struct job *job);
void record_free(struct record *record);
void job_release(struct job *job);

/* simulate_transfer.c: the data movement of one operation after all required ranks have started it. */
void transfer_collective(struct job *job, struct communicator *communicator, struct instance *instance);
void transfer_pair(struct job *job, struct communicator *communicator, struct record *send,
                   struct record *recv, int ordinal);

/* simulate_chrome.c, simulate_inspector.c, simulate_kineto.c, simulate_recorder.c, simulate_truth.c: the
 * files. */
void chrome_write(struct job *job);
struct inspector *inspector_open(struct job *job);
/* `count` operations of a process, in program order; all later ones were called at `horizon` or after it. */
void inspector_take(struct inspector *inspector, const struct process *process, struct record **records,
                    int count, int64_t horizon);
void inspector_close(struct inspector *inspector);
bool inspector_dialect(const char *dialect);
void kineto_write(struct job *job);
bool kineto_dialect(const char *dialect);
void recorder_write(struct job *job);
bool recorder_dialect(const char *dialect);
bool fault_stops_job(enum fault_kind kind);
void truth_write(struct job *job);
/* Counts those of its instances in memory that belong to steps up to this one. */
void lateness_note(struct job *job, const struct communicator *communicator, int last_step);
bool chrome_dialect(const char *dialect);

/* simulate_bulk.c: `bytes` of traces in `files` files, one rank each. */
void bulk_write(const struct options *options, int64_t bytes, int files);

/* simulate_output.c */
struct output *output_open(const char *directory, const char *name, bool gzip);
/* A trace of that process, at the place given by the options. */
struct output *output_of(const struct job *job, const struct process *process, const char *name, bool gzip);
/* Writes the buffered data if there is enough; with gzip as a separate member. */
void output_flush(struct output *output);
void output_print(struct output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
void output_bytes(struct output *output, const void *bytes, size_t length);
/* Equivalent to output_print with %s, %PRId64 and %f, but fast. */
void output_text(struct output *output, const char *text);
void output_number(struct output *output, int64_t value);
void output_real(struct output *output, double value);
void output_cut(struct output *output, double fraction);
void output_close(struct output *output);
int64_t local_time(const struct job *job, const struct process *process, int64_t time_ns);
int64_t gpu_time(const struct process *process, int64_t time_ns);
bool process_killed(const struct job *job, int rank);

/* simulate_main.c */
int parse_int(const char *text, const char *what);
void *allocate(size_t count, size_t size);
void *grow(void *memory, int *capacity, int needed, size_t size);
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
