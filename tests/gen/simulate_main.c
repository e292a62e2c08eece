/*
 * simulate: simulates a training job and writes the records that profilers would have made of it, and the
 * truth.
 */
#include "simulate.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("simulate: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        fail("out of memory");
    return memory;
}

void *grow(void *memory, int *capacity, int needed, size_t size)
{
    if (needed <= *capacity)
        return memory;
    int wanted = *capacity * 2 > needed ? *capacity * 2 : needed + 16;
    void *moved = realloc(memory, (size_t)wanted * size);
    if (moved == NULL)
        fail("out of memory");
    *capacity = wanted;
    return moved;
}

int parse_int(const char *text, const char *what)
{
    char *end;
    long value = text == NULL ? 0 : strtol(text, &end, 10);
    if (text == NULL || end == text || *end != '\0')
        fail("%s is missing or not a number", what);
    return (int)value;
}

static bool old_clock(const char *dialect)
{
    return strcmp(dialect, "chrome-v1") == 0 || strcmp(dialect, "chrome-v2") == 0 ||
           strcmp(dialect, "chrome-v3") == 0 || strcmp(dialect, "chrome-v4") == 0;
}

static void make_processes(struct job *job)
{
    const struct options *options = &job->options;
    uint64_t seed = options->seed;
    job->processes = allocate((size_t)options->ranks, sizeof(*job->processes));
    for (int rank = 0; rank < options->ranks; rank++) {
        struct process *process = &job->processes[rank];
        uint64_t at = (uint64_t)rank;
        process->rank = rank;
        process->node = rank / options->ranks_per_node;
        process->left = UNKNOWN;
        process->step_begin = allocate((size_t)options->steps, sizeof(int64_t));
        process->pid = 20000 + (int)(random_bits(seed, DRAW_CLOCK, (uint64_t)process->node, 1, 0) % 9000) +
                       rank % options->ranks_per_node;
        snprintf(process->host, sizeof(process->host), "node%03d", process->node);
        process->start_ns = (int64_t)(200e6 * random_unit(seed, DRAW_CLOCK, at, 2, 0));
        double ppm = 15 * random_normal(seed, DRAW_CLOCK, (uint64_t)process->node, 3, 0);
        if (old_clock(options->dialect))
            ppm = 4000 * random_normal(seed, DRAW_CLOCK, at, 4, 0);
        process->scale = 1 + ppm * 1e-6;
        process->gpu_zero =
            INT64_C(1795218000000000000) + (int64_t)(6e10 * random_unit(seed, DRAW_CLOCK, at, 5, 0));
        process->gpu_scale = 1 + 5e-6 * random_normal(seed, DRAW_CLOCK, at, 6, 0);
        for (int i = 0; i < MAX_STREAMS; i++)
            process->stream_address[i] =
                0x550000000000u + (random_bits(seed, DRAW_CLOCK, at, 7, (uint64_t)i) & 0xffffffffe0u);
    }
}

/* The ranks of --lose: 3,5 */
static void lose_traces(struct job *job)
{
    const char *text = job->options.lose;
    while (text != NULL && *text != '\0') {
        char *end;
        long rank = strtol(text, &end, 10);
        if (end == text || (*end != ',' && *end != '\0') || rank < 0 || rank >= job->options.ranks)
            fail("--lose: not ranks of the job: %s", text);
        job->processes[rank].lost = true;
        text = *end == ',' ? end + 1 : end;
    }
}

static const struct option long_options[] = {
    {"shape", required_argument, NULL, 's'},
    {"ranks", required_argument, NULL, 'r'},
    {"tp", required_argument, NULL, 't'},
    {"dp", required_argument, NULL, 'd'},
    {"pp", required_argument, NULL, 'p'},
    {"microbatches", required_argument, NULL, 'm'},
    {"layers", required_argument, NULL, 'l'},
    {"steps", required_argument, NULL, 'n'},
    {"per-node", required_argument, NULL, 'N'},
    {"sync-lag", required_argument, NULL, 'L'},
    {"fault", required_argument, NULL, 'f'},
    {"dialect", required_argument, NULL, 'D'},
    {"seed", required_argument, NULL, 'S'},
    {"noise", required_argument, NULL, 'z'},
    {"network-gbs", required_argument, NULL, 'b'},
    {"nvlink-gbs", required_argument, NULL, 'B'},
    {"compute", required_argument, NULL, 'C'},
    {"gzip", no_argument, NULL, 'g'},
    {"keep-last", required_argument, NULL, 'k'},
    {"operators", required_argument, NULL, 'O'},
    {"drop", required_argument, NULL, 'x'},
    {"cut", no_argument, NULL, 'c'},
    {"stream", no_argument, NULL, 'a'},
    {"once", no_argument, NULL, 'e'},
    {"node-folders", no_argument, NULL, 'j'},
    {"bulk", required_argument, NULL, 'u'},
    {"files", required_argument, NULL, 'F'},
    {"hot-expert", required_argument, NULL, 'i'},
    {"slower", required_argument, NULL, 'W'},
    {"batches", required_argument, NULL, 'i'},
    {"own-batches", required_argument, NULL, 'i'},
    {"ramp-up", required_argument, NULL, 'i'},
    {"sequences", required_argument, NULL, 'i'},
    {"evaluate", required_argument, NULL, 'i'},
    {"remake", required_argument, NULL, 'i'},
    {"clock-step", required_argument, NULL, 'i'},
    {"gaps", required_argument, NULL, 'i'},
    {"lose", required_argument, NULL, 'X'},
    {"algorithm", required_argument, NULL, 'A'},
    {"cp", required_argument, NULL, 'P'},
    {"chunks", required_argument, NULL, 'K'},
    {"list-shapes", no_argument, NULL, 'T'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char usage[] =
    "simulate [OPTIONS] -o DIR: simulates a training job, writes its traces and truth.json into DIR\n"
    "  --shape NAME          shape of the job; --list-shapes lists the names\n"
    "  --ranks N             2 to 16384; for 3d, 1f1b and interleaved the product of:\n"
    "  --tp N --dp N --pp N  --microbatches N   --chunks N (interleaved: of the model, in each stage)\n"
    "  --cp N                context: ranks of a ring\n"
    "  --layers N --steps N --per-node N (ranks per host; tp x dp: each host is a stage)\n"
    "  --sync-lag 0|1        at the end of a step, the host waits for the GPU (0), or for the step before "
    "(1)\n"
    "  --fault KIND:RANKS[>PEER]:FIRST:LAST[/EVERY]:AMOUNT[%][:PHASE]   may be repeated\n"
    "                        RANKS: 3, or several with one cause: 2,3, 8-15, node1; EVERY: every Nth step\n"
    "                        amounts: compute, host: us per step, split over the phase; throttle: percent;\n"
    "                        checkpoint: us of the host after a step\n"
    "                        loader: us of the host before a step, on average (log-normal); collection: the "
    "same\n"
    "                        somewhere in the step (Pareto)\n"
    "                        net, edge, receive: us per send; pause: ms, once\n"
    "                        stop: ms in which a process, with its proxy threads, stands still, once\n"
    "                        switch: percent by which links between these ranks and all others take longer;\n"
    "                        links: the same for all links of these ranks, inside hosts, too\n"
    "                        gpu-share, cpu-share: other processes take this percentage of the time that "
    "the\n"
    "                        rank's GPU or threads have (100: half of all), in slices of 2 and of 3 to 4 ms\n"
    "                        hang, kill, mismatch, freeze, exit (of the training loop): no amount\n"
    "                        %: in percent of a step; RANK ?: a link between nodes that the job uses\n"
    "  --dialect NAME        chrome-v1 to chrome-v7; inspector, inspector-2.30, each also with -terse (not "
    "verbose);\n"
    "                        kineto; flight-recorder, also with -timing (durations), -json (no pickle)\n"
    "  --operators N         kineto: number of torch's operators for each piece of GPU work\n"
    "  --algorithm ring|tree|auto   of AllReduce; auto: trees for small messages between nodes\n"
    "  --lose RANK[,RANK]    these ranks leave no trace\n"
    "  --gzip --keep-last N --drop FRACTION --cut\n"
    "  --stream              Inspector: write each step when all ranks have finished it, and free its "
    "memory;\n"
    "                        all other dialects, and --clock-step, need the whole job in memory\n"
    "  --once                simulate the job once, and do not measure the cost of faults (no %, no ?, even "
    "noise)\n"
    "  --node-folders        write the files of each node to its own folder\n"
    "  --seed N --network-gbs X --nvlink-gbs X --compute X (factor: computation takes longer)\n"
    "  --slower PERCENT      all computation and all transfers take this much longer; may be negative\n"
    "  --noise X|even        0: none, 1: as in recorded healthy jobs; even: jitter only, no hiccups\n"
    "  --bulk SIZE --files N  instead of a job: traces of this size, chrome-v7 or inspector-2.30[-terse], "
    "fast\n";

struct arguments {
    const char *faults[MAX_FAULTS];
    int fault_count;
    int64_t bulk;
    int files;
};

/* 500M, 2G, 1e9 */
static int64_t parse_size(const char *text)
{
    static const char units[] = "kMGT";
    char *end;
    double value = strtod(text, &end);
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    if (end == text || value < 1 || (*end != '\0' && unit == NULL))
        fail("invalid size '%s'", text);
    for (const char *u = units; unit != NULL && u <= unit; u++)
        value *= 1000;
    return (int64_t)value;
}

static void take_number(struct options *options, int key, const char *text)
{
    int *slot = key == 'r'   ? &options->ranks
                : key == 't' ? &options->tp
                : key == 'd' ? &options->dp
                : key == 'p' ? &options->pp
                : key == 'm' ? &options->microbatches
                : key == 'l' ? &options->layers
                : key == 'n' ? &options->steps
                : key == 'N' ? &options->ranks_per_node
                : key == 'L' ? &options->sync_lag
                : key == 'O' ? &options->operators
                : key == 'P' ? &options->cp
                : key == 'K' ? &options->chunks
                             : &options->keep_last;
    *slot = parse_int(text, "an option's value");
}

static bool take_text(struct options *options, int key, const char *text)
{
    const char **slot = key == 's'   ? &options->shape
                        : key == 'D' ? &options->dialect
                        : key == 'o' ? &options->directory
                        : key == 'X' ? &options->lose
                        : key == 'A' ? &options->algorithm
                                     : NULL;
    if (slot != NULL)
        *slot = text;
    return slot != NULL;
}

static bool take_real(struct options *options, int key, const char *text)
{
    double *slot = key == 'b'   ? &options->network_gbs
                   : key == 'B' ? &options->nvlink_gbs
                   : key == 'C' ? &options->compute
                   : key == 'W' ? &options->slower
                   : key == 'x' ? &options->drop
                                : NULL;
    if (slot != NULL)
        *slot = strtod(text, NULL);
    return slot != NULL;
}

static void take_option(struct options *options, struct arguments *arguments, int key, const char *text)
{
    switch (key) {
    case 'f':
        if (arguments->fault_count == MAX_FAULTS)
            fail("at most %d faults", MAX_FAULTS);
        arguments->faults[arguments->fault_count++] = text;
        break;
    case 'S':
        options->seed = strtoull(text, NULL, 10);
        break;
    case 'z':
        options->rough = strcmp(text, "even") != 0;
        options->noise = options->rough ? strtod(text, NULL) : 1;
        break;
    case 'g':
        options->gzip = true;
        break;
    case 'c':
        options->cut = true;
        break;
    case 'a':
        options->stream = true;
        break;
    case 'e':
        options->once = true;
        break;
    case 'j':
        options->node_folders = true;
        break;
    case 'u':
        arguments->bulk = parse_size(text);
        break;
    case 'F':
        arguments->files = parse_int(text, "--files");
        break;
    default:
        if (!take_text(options, key, text) && !take_real(options, key, text))
            take_number(options, key, text);
    }
}

static void complete(struct options *options)
{
    bool parallel = strcmp(options->shape, "3d") == 0 || strcmp(options->shape, "1f1b") == 0 ||
                    strcmp(options->shape, "interleaved") == 0;
    if (parallel && options->tp == 0 && options->dp == 0 && options->pp == 0) {
        options->tp = options->ranks % 2 == 0 ? 2 : 1;
        options->pp = options->ranks % (options->tp * 2) == 0 ? 2 : 1;
    }
    options->tp = options->tp > 0 ? options->tp : 1;
    options->pp = options->pp > 0 ? options->pp : 1;
    if (options->dp == 0)
        options->dp = options->ranks > 0 ? options->ranks / options->tp / options->pp : 1;
    if (options->ranks == 0)
        options->ranks = options->tp * options->dp * options->pp;
    if (options->ranks < 2 || options->ranks > MOST_RANKS)
        fail("--ranks: 2 to %d, not %d", MOST_RANKS, options->ranks);
    if (options->cp == 0)
        options->cp = options->ranks < GPUS_PER_NODE ? options->ranks : GPUS_PER_NODE;
    if (strcmp(options->shape, "context") == 0 && (options->cp < 2 || options->ranks % options->cp != 0))
        fail("--cp: at least 2, and the number of ranks must be a multiple of it");
    if (options->chunks < 1)
        fail("--chunks: at least 1");
    if (strcmp(options->algorithm, "auto") != 0 && strcmp(options->algorithm, "ring") != 0 &&
        strcmp(options->algorithm, "tree") != 0)
        fail("--algorithm: ring, tree or auto, not '%s'", options->algorithm);
    if (options->compute <= 0)
        fail("--compute: more than 0");
    if (!(options->slower > -100))
        fail("--slower: more than -100");
    if (options->operators < 1 || options->operators > 1000)
        fail("--operators: 1 to 1000, not %d", options->operators);
    if (options->steps < 3 || options->layers < 1 || options->microbatches < 1)
        fail("at least 3 steps, 1 layer, 1 microbatch");
    if (options->ranks_per_node < 1)
        options->ranks_per_node = options->ranks < 2 * GPUS_PER_NODE ? options->ranks / 2 : GPUS_PER_NODE;
    situation_check(options);
    if (options->stream && (!inspector_dialect(options->dialect) || options->situation.clock_step_count > 0))
        fail("--stream: only with Inspector's dialects, and without --clock-step");
    if (options->once && options->rough)
        fail("--once: needs --noise even or an amount; the noise of recorded jobs takes several runs");
    if (options->directory == NULL)
        fail("-o DIR is missing");
    if (options->network_gbs <= 0)
        options->network_gbs = parallel                                ? 2.5
                               : network_busy(options)                 ? 6
                               : strstr(options->shape, "sdp") != NULL ? 25
                                                                       : 10;
    options->compute *= 1 + options->slower / 100;
    options->network_gbs /= 1 + options->slower / 100;
    options->nvlink_gbs /= 1 + options->slower / 100;
}

/* The run that is written. */
static void play_last(struct job *job)
{
    for (int i = 0; i < job->fault_count; i++)
        job->faults[i].enabled = true;
    job_reset(job);
    if (job->options.stream)
        job->writer = inspector_open(job);
    int64_t clean = job->end;
    engine_run(job);
    faults_measured(job, clean);
}

static void play(struct job *job, const struct arguments *arguments)
{
    size_t steps = (size_t)job->options.steps, ranks = (size_t)job->options.ranks;
    job->network_steps = chrome_dialect(job->options.dialect);
    for (int i = 0; i < DRAWS; i++)
        job->luck[i] = random_start(job->options.seed, (enum draw)i);
    make_processes(job);
    lose_traces(job);
    job->step_end = allocate(steps, sizeof(int64_t));
    job->rank_step_end = allocate(steps * ranks, sizeof(int64_t));
    shape_build(job);
    noise_prepare(job);
    for (int i = 0; i < arguments->fault_count; i++)
        fault_parse(job, arguments->faults[i]);
    contention_prepare(job);
    if (job->options.once)
        faults_check_once(job);
    else
        faults_resolve(job);
    if (job->fault_count > 0 && !job->options.once)
        faults_measure(job);
    if (job->fault_count > 0 || job->options.once || job->options.stream)
        play_last(job);
    for (int rank = 0; !job->options.stream && rank < job->options.ranks; rank++)
        situation_lose(job, &job->processes[rank], 0, job->processes[rank].record_count);
}

static void write_inspector(struct job *job)
{
    struct inspector *inspector = job->writer != NULL ? job->writer : inspector_open(job);
    for (int rank = 0; job->writer == NULL && rank < job->options.ranks; rank++)
        inspector_take(inspector, &job->processes[rank], job->processes[rank].records,
                       job->processes[rank].record_count, INT64_MAX);
    inspector_close(inspector);
}

/* The command line without the output folder, so that the same job has the same truth anywhere. */
static char *join_arguments(int argc, char **argv)
{
    size_t size = 1, used = 0;
    for (int i = 0; i < argc; i++)
        size += strlen(argv[i]) + 1;
    char *line = allocate(size, 1);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0)
            i++;
        else
            used += (size_t)snprintf(line + used, size - used, "%s%s", used ? " " : "", argv[i]);
    }
    return line;
}

int main(int argc, char **argv)
{
    struct job job = {.options = {.shape = "3d",
                                  .ranks = 0,
                                  .microbatches = 1,
                                  .layers = 2,
                                  .operators = 1,
                                  .steps = 12,
                                  .seed = 1,
                                  .noise = 1,
                                  .rough = true,
                                  .nvlink_gbs = 40,
                                  .compute = 1,
                                  .dialect = "chrome-v7",
                                  .algorithm = "auto",
                                  .chunks = 2}};
    struct arguments arguments = {.files = 8};
    char *command = join_arguments(argc, argv);
    job.options.command = command;
    int key, at = 0;
    while ((key = getopt_long(argc, argv, "o:h", long_options, &at)) != -1) {
        if (key == 'T' || key == 'h') {
            if (key == 'T')
                shape_list(stdout);
            else
                fputs(usage, stdout), fputs(situation_usage, stdout);
            free(command);
            return 0;
        }
        if (key == '?')
            return 2;
        if (key == 'i')
            situation_option(&job.options.situation, long_options[at].name, optarg);
        else
            take_option(&job.options, &arguments, key, optarg);
    }
    if (job.options.ranks == 0 && job.options.tp == 0 && job.options.dp == 0 && job.options.pp == 0)
        job.options.ranks = 8;
    complete(&job.options);
    if (mkdir(job.options.directory, 0777) != 0 && errno != EEXIST)
        fail("cannot make %s: %s", job.options.directory, strerror(errno));
    if (arguments.bulk > 0) {
        bulk_write(&job.options, arguments.bulk, arguments.files > 1 ? arguments.files : 2);
        free(command);
        return 0;
    }
    play(&job, &arguments);
    if (chrome_dialect(job.options.dialect))
        chrome_write(&job);
    else if (kineto_dialect(job.options.dialect))
        kineto_write(&job);
    else if (recorder_dialect(job.options.dialect))
        recorder_write(&job);
    else
        write_inspector(&job);
    truth_write(&job);
    job_release(&job);
    free(command);
    return 0;
}
