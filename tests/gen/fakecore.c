/*
 * A fake NCCL core: loads the profiler plugin and plays a training job through any version of its interface,
 * so that tests need neither NCCL nor a GPU. `fakecore -h` lists the options. Prints what was played as one
 * JSON object.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakecore_hostile.h"
#include "fakecore_play.h"
#include "fakecore_trace.h"
#include "fakecore_unknown.h"

#define RANKS_MAX 4096

struct options {
    const char *plugin;
    const char *core; /* library that calls the plugin's init; null: this program */
    const char *journal;
    const char *scenario; /* see usage() */
    int rank;             /* the only rank that this process plays; -1: all */
    bool threads;
    bool no_finalize;
    bool close_descriptors;
    bool quick_exit; /* by _exit(): no destructor runs */
    bool linger;     /* continues, with a tag, when its communicators have ended: until standard input ends */
    long file_bytes;
};

static void usage(FILE *to)
{
    fputs(
        "usage: fakecore [--plugin FILE] [--core FILE] [--api 1..7] [--ranks N] [--threads] [--steps N]\n"
        "  [--layers N] [--symmetric] [--every-algorithm]\n"
        "  [--rank N|launched] [--stuck RANK:STEP]\n"
        "  [--channels N] [--net-steps N] [--op-us N] [--tags none|nccl|call|numbered|config]\n"
        "  [--hang RANK:STEP]\n"
        "  [--kill RANK:STEP] [--journal FILE]\n"
        "  [--scenario train|hostile|unknown|fork|fork-idle|init-race|nvtx]\n"
        "  [--no-finalize] [--close-descriptors] [--file-bytes N] [--repeat-waits] [--foreign-proxy]\n"
        "  [--silent-kernels] [--double-stops] [--rounds N] [--linger] [--quick-exit]\n"
        "  [--abort]\n",
        to);
}

static void print_counts(const struct fake_job *job)
{
    const struct fake_counts *counts = &job->counts;
    printf(
        "{\"pid\": %ld, \"api\": %d, \"groups\": %lu, \"calls\": %lu, \"coll\": %lu, \"p2p\": %lu, "
        "\"proxy_ops\": %lu, \"steps\": %lu, \"kernels\": %lu, \"phases\": %lu, \"tags\": %lu}\n",
        (long)getpid(), job->plugin.version, counts->groups, counts->calls, counts->coll, counts->p2p,
        counts->proxy_ops, counts->steps, counts->kernels, counts->phases, counts->tags);
    fflush(stdout);
}

static int open_journal(struct fake_job *job, const char *path)
{
    uint64_t capacity = 1u << 20;
    size_t bytes = sizeof(struct fake_journal) + capacity * sizeof(struct fake_journal_entry);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        return -1;
    job->journal = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (job->journal == MAP_FAILED)
        return -1;
    job->journal->capacity = capacity;
    return 0;
}

/* Ends as the children of Python's multiprocessing do, if requested. */
static int leave(const struct options *options, int status)
{
    fflush(stdout);
    if (options->quick_exit)
        _exit(status);
    return status;
}

/* A tag from a process whose communicators have ended. */
static void linger(struct fake_job *job, const struct options *options)
{
    char unread;
    if (!options->linger)
        return;
    if (job->call_tag)
        job->call_tag("afterwards");
    while (read(STDIN_FILENO, &unread, 1) > 0)
        continue;
}

static void *rank_main(void *argument)
{
    fake_rank_train(argument);
    return NULL;
}

/* All ranks in this process, each with its own thread and a proxy thread. */
static int play_threads(struct fake_job *job, const struct options *options)
{
    struct fake_rank *ranks = calloc((size_t)job->ranks, sizeof(*ranks));
    pthread_t *threads = calloc((size_t)job->ranks, sizeof(*threads));
    if (!ranks || !threads)
        return 1;
    for (int i = 0; i < job->ranks; i++)
        fake_rank_start(&ranks[i], job, i);
    for (int i = 0; i < job->ranks; i++)
        if (pthread_create(&threads[i], NULL, rank_main, &ranks[i]) != 0)
            return 1;
    for (int i = 0; i < job->ranks; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < job->ranks; i++)
        fake_rank_drain(&ranks[i]);
    for (int i = job->ranks; i-- > 0 && !options->no_finalize;)
        fake_rank_finalize(&ranks[i]);
    linger(job, options);
    print_counts(job);
    free(ranks);
    free(threads);
    return leave(options, 0);
}

/*
 * As some launchers do before they start a program. Not with close(): that would be a race with a thread that
 * writes to one of them. The test is about surviving exactly this, and a thread sanitizer would report it.
 */
static void close_all(void)
{
    for (int i = 3; i < 1024; i++)
        syscall(SYS_close, i);
}

/* So that the killer need not guess the time. */
static void hang(void)
{
    puts("hangs");
    fflush(stdout);
    sleep(3600);
}

static void play_round(struct fake_job *job, const struct options *options, int number)
{
    struct fake_rank rank;
    job->trace_bytes = fake_trace_bytes();
    fake_rank_start(&rank, job, number);
    if (options->close_descriptors)
        close_all();
    fake_rank_train(&rank);
    if (job->hang_rank == number && fake_last_round(job) && !job->aborts)
        hang();
    fake_rank_drain(&rank);
    if (!options->no_finalize)
        fake_rank_finalize(&rank);
}

static int play_one(struct fake_job *job, const struct options *options, int number)
{
    for (job->round = 0; job->round < job->rounds; job->round++)
        play_round(job, options, number);
    linger(job, options);
    print_counts(job);
    return leave(options, 0);
}

/* One process per rank, forked before any code of the plugin runs. */
static int play_processes(struct fake_job *job, const struct options *options)
{
    int failures = 0;
    fflush(stdout);
    for (int i = 0; i < job->ranks; i++) {
        pid_t child = fork();
        if (child == 0)
            exit(play_one(job, options, i));
        failures += child < 0;
    }
    for (int status; wait(&status) > 0;)
        failures += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return failures ? 1 : 0;
}

static void parse_at(const char *text, int *rank, int *step)
{
    char *colon;
    *rank = (int)strtol(text, &colon, 10);
    *step = *colon == ':' ? (int)strtol(colon + 1, NULL, 10) : 0;
}

/* The rank that a launcher gave this process; -1 if there is none. */
static int launched_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK", "RANK"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i]))
            return (int)strtol(getenv(names[i]), NULL, 10);
    return -1;
}

static const struct option long_options[] = {{"plugin", required_argument, NULL, 'p'},
                                             {"core", required_argument, NULL, 'L'},
                                             {"symmetric", no_argument, NULL, 'y'},
                                             {"every-algorithm", no_argument, NULL, 'E'},
                                             {"api", required_argument, NULL, 'a'},
                                             {"ranks", required_argument, NULL, 'r'},
                                             {"rank", required_argument, NULL, 'R'},
                                             {"threads", no_argument, NULL, 't'},
                                             {"steps", required_argument, NULL, 's'},
                                             {"layers", required_argument, NULL, 'l'},
                                             {"channels", required_argument, NULL, 'c'},
                                             {"net-steps", required_argument, NULL, 'n'},
                                             {"op-us", required_argument, NULL, 'u'},
                                             {"tags", required_argument, NULL, 'g'},
                                             {"hang", required_argument, NULL, 'H'},
                                             {"kill", required_argument, NULL, 'K'},
                                             {"stuck", required_argument, NULL, 'S'},
                                             {"journal", required_argument, NULL, 'j'},
                                             {"scenario", required_argument, NULL, 'x'},
                                             {"no-finalize", no_argument, NULL, 'F'},
                                             {"close-descriptors", no_argument, NULL, 'C'},
                                             {"file-bytes", required_argument, NULL, 'b'},
                                             {"repeat-waits", no_argument, NULL, 'w'},
                                             {"foreign-proxy", no_argument, NULL, 'P'},
                                             {"silent-kernels", no_argument, NULL, 'q'},
                                             {"double-stops", no_argument, NULL, 'd'},
                                             {"rounds", required_argument, NULL, 'o'},
                                             {"linger", no_argument, NULL, 'm'},
                                             {"quick-exit", no_argument, NULL, 'e'},
                                             {"abort", no_argument, NULL, 'A'},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

static int parse_number(struct fake_job *job, struct options *options, int option, long value)
{
    switch (option) {
    case 'a':
        job->plugin.version = (int)value;
        return value >= 1 && value <= 7;
    case 'r':
        job->ranks = (int)value;
        return value >= 1 && value <= RANKS_MAX;
    case 's':
        job->steps = (int)value;
        return 1;
    case 'l':
        job->layers = (int)value;
        return 1;
    case 'c':
        job->channels = (int)value;
        return value >= 0 && value <= 64;
    case 'n':
        job->net_steps = (int)value;
        return 1;
    case 'u':
        job->op_us = (int)value;
        return 1;
    case 'b':
        options->file_bytes = value;
        return 1;
    case 'o':
        job->rounds = (int)value;
        return value >= 1;
    default:
        return 0;
    }
}

/* 1 if there is such an option without a value. */
static int parse_flag(struct fake_job *job, struct options *options, int option)
{
    bool *const flags[] = {
        ['t'] = &options->threads,    ['F'] = &options->no_finalize, ['C'] = &options->close_descriptors,
        ['w'] = &job->repeat_waits,   ['P'] = &job->foreign_proxy,   ['d'] = &job->double_stops,
        ['e'] = &options->quick_exit, ['A'] = &job->aborts,          ['q'] = &job->silent_kernels,
        ['y'] = &job->symmetric,      ['E'] = &job->every_algorithm, ['m'] = &options->linger};
    if (option < 0 || (size_t)option >= sizeof(flags) / sizeof(flags[0]) || !flags[option])
        return 0;
    *flags[option] = true;
    return 1;
}

/* 1 if the option and its value are valid. */
static int parse_option(struct fake_job *job, struct options *options, int option)
{
    if (!optarg)
        return parse_flag(job, options, option);
    switch (option) {
    case 'p':
        options->plugin = optarg;
        return 1;
    case 'L':
        options->core = optarg;
        return 1;
    case 'j':
        options->journal = optarg;
        return 1;
    case 'x':
        options->scenario = optarg;
        return 1;
    case 'g':
        job->tags = optarg;
        return 1;
    case 'H':
        parse_at(optarg, &job->hang_rank, &job->hang_step);
        return 1;
    case 'K':
        parse_at(optarg, &job->kill_rank, &job->kill_step);
        return 1;
    case 'R':
        options->rank = strcmp(optarg, "launched") == 0 ? launched_rank() : (int)strtol(optarg, NULL, 10);
        return options->rank >= 0;
    case 'S':
        parse_at(optarg, &job->stuck_rank, &job->stuck_step);
        return 1;
    default:
        return parse_number(job, options, option, strtol(optarg, NULL, 10));
    }
}

static int play(struct fake_job *job, const struct options *options)
{
    if (options->rank >= job->ranks) {
        fprintf(stderr, "fakecore: there is no rank %d of %d\n", options->rank, job->ranks);
        return 2;
    }
    if (strcmp(options->scenario, "train") == 0 && options->rank >= 0)
        return play_one(job, options, options->rank);
    if (strcmp(options->scenario, "train") == 0)
        return options->threads                                ? play_threads(job, options)
               : job->ranks == 1 || options->close_descriptors ? play_one(job, options, 0)
                                                               : play_processes(job, options);
    if (strcmp(options->scenario, "hostile") == 0)
        return fake_hostile(job);
    if (strcmp(options->scenario, "unknown") == 0)
        return fake_unknown(job);
    if (strcmp(options->scenario, "fork") == 0 || strcmp(options->scenario, "fork-idle") == 0)
        return fake_fork(job, strcmp(options->scenario, "fork") == 0);
    if (strcmp(options->scenario, "init-race") == 0)
        return fake_init_race(job);
    if (strcmp(options->scenario, "nvtx") == 0)
        return fake_nvtx(job);
    usage(stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static struct fake_job job = {.plugin = {.version = 6},
                                  .ranks = 1,
                                  .steps = 4,
                                  .layers = 2,
                                  .channels = 2,
                                  .net_steps = 4,
                                  .rounds = 1,
                                  .tags = "none",
                                  .hang_rank = -1,
                                  .kill_rank = -1,
                                  .stuck_rank = -1};
    struct options options = {
        .plugin = getenv("NCCL_PROFILER_PLUGIN"), .scenario = "train", .rank = -1, .file_bytes = -1};
    for (int option; (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        if (option == 'h' || !parse_option(&job, &options, option)) {
            usage(option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    }
    if (!options.plugin || fake_plugin_load(&job.plugin, options.plugin, job.plugin.version) != 0)
        return 2;
    if (options.core && fake_plugin_call_from(&job.plugin, options.core) != 0)
        return 2;
    void *symbol = dlsym(job.plugin.library, "ncclprof_tag");
    memcpy(&job.call_tag, &symbol, sizeof(job.call_tag));
    symbol = dlsym(job.plugin.library, "ncclprof_tag_name");
    memcpy(&job.call_tag_name, &symbol, sizeof(job.call_tag_name));
    if (options.journal && open_journal(&job, options.journal) != 0) {
        fprintf(stderr, "fakecore: %s: %s\n", options.journal, strerror(errno));
        return 2;
    }
    struct rlimit limit = {.rlim_cur = (rlim_t)options.file_bytes, .rlim_max = RLIM_INFINITY};
    if (options.file_bytes >= 0 && setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    return play(&job, &options);
}
