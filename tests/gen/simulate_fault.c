/* Faults: parsing the command line, placing them, and measuring their cost. */
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECOND 1000
#define TAIL_SPREAD 1.0 /* of the logarithm of a data loader's delays */
#define TAIL_POWER \
    2.5 /* of the distribution of the durations of garbage collections, in units of the mean: */
#define TAIL_MOST 12

static const struct {
    const char *name;
    enum fault_kind kind;
} fault_names[] = {
    {"compute", FAULT_COMPUTE},
    {"throttle", FAULT_THROTTLE},
    {"host", FAULT_HOST},
    {"net", FAULT_NETWORK},
    {"edge", FAULT_EDGE},
    {"receive", FAULT_RECEIVE},
    {"pause", FAULT_PAUSE},
    {"hang", FAULT_HANG},
    {"kill", FAULT_KILL},
    {"mismatch", FAULT_MISMATCH},
    {"freeze", FAULT_FREEZE},
    {"checkpoint", FAULT_CHECKPOINT},
    {"exit", FAULT_EXIT},
    {"gpu-share", FAULT_GPU_SHARE},
    {"cpu-share", FAULT_CPU_SHARE},
    {"switch", FAULT_SWITCH},
    {"links", FAULT_LINKS},
    {"loader", FAULT_LOADER},
    {"collection", FAULT_COLLECTION},
    {"stop", FAULT_STOP},
};

struct text_fault {
    char text[128];
};

static char *next_field(char **rest)
{
    char *field = strsep(rest, ":");
    return field == NULL ? NULL : field;
}

/* Adds the ranks of one part of a list: 3, 8-15, or node1. */
static void add_ranks(const struct job *job, struct fault *fault, char *part)
{
    int first, last;
    char *dash = strchr(part, '-');
    if (strncmp(part, "node", 4) == 0) {
        first = parse_int(part + 4, "the node") * job->options.ranks_per_node;
        last = first + job->options.ranks_per_node - 1;
        last = last < job->options.ranks ? last : job->options.ranks - 1;
    } else {
        if (dash != NULL)
            *dash = '\0';
        first = parse_int(part, "the rank");
        last = dash != NULL ? parse_int(dash + 1, "the last rank") : first;
    }
    if (first < 0 || last < first || last >= job->options.ranks)
        fail("fault: no rank %d", last < job->options.ranks ? first : last);
    fault->ranks = realloc(fault->ranks, (size_t)(fault->rank_count + last - first + 1) * sizeof(int));
    if (fault->ranks == NULL)
        fail("out of memory");
    for (int rank = first; rank <= last; rank++)
        fault->ranks[fault->rank_count++] = rank;
}

static bool is_network(const struct fault *fault)
{
    return fault->kind == FAULT_NETWORK || fault->kind == FAULT_EDGE || fault->kind == FAULT_RECEIVE ||
           fault->kind == FAULT_PAUSE;
}

/* RANKS[>PEER]: ? leaves the rank of a network fault open. */
static void parse_where(const struct job *job, struct fault *fault, char *where)
{
    if (where == NULL)
        fail("fault: the rank is missing");
    char *peer = strchr(where, '>');
    if (peer != NULL) {
        *peer = '\0';
        fault->peer = parse_int(peer + 1, "the peer");
        if (fault->peer < 0 || fault->peer >= job->options.ranks)
            fail("fault: no rank %d", fault->peer);
    }
    if (strcmp(where, "?") == 0) {
        if (!is_network(fault))
            fail("fault: ? as rank is only possible for network faults");
        fault->rank = -1;
        return;
    }
    while (where != NULL)
        add_ranks(job, fault, strsep(&where, ","));
    fault->rank = fault->ranks[0];
}

static void parse_steps(struct fault *fault, char *first, char *last)
{
    char *every = last == NULL ? NULL : strchr(last, '/');
    if (every != NULL)
        *every++ = '\0';
    fault->first_step = parse_int(first, "the first step");
    fault->last_step = parse_int(last, "the last step");
    fault->every = every == NULL ? 1 : parse_int(every, "the period");
    if (fault->every < 1)
        fail("fault: the period must be at least 1");
}

static enum fault_kind kind_named(const char *name)
{
    for (size_t i = 0; i < sizeof(fault_names) / sizeof(fault_names[0]); i++)
        if (strcmp(fault_names[i].name, name) == 0)
            return fault_names[i].kind;
    fail("unknown fault '%s'", name);
}

/* Amounts that are always a percentage, of something other than a step. */
static bool in_percent(enum fault_kind kind)
{
    return kind == FAULT_THROTTLE || kind == FAULT_GPU_SHARE || kind == FAULT_CPU_SHARE ||
           kind == FAULT_SWITCH || kind == FAULT_LINKS;
}

/* KIND:RANKS[>PEER]:FIRST:LAST[/EVERY]:AMOUNT[%][:PHASE] */
void fault_parse(struct job *job, const char *text)
{
    if (job->fault_count == MAX_FAULTS)
        fail("at most %d faults", MAX_FAULTS);
    struct text_fault copy;
    snprintf(copy.text, sizeof(copy.text), "%s", text);
    char *rest = copy.text;
    struct fault *fault = &job->faults[job->fault_count++];
    *fault = (struct fault){.peer = -1, .phase = -1, .enabled = true, .since = UNKNOWN};
    fault->kind = kind_named(next_field(&rest));
    parse_where(job, fault, next_field(&rest));
    char *first = next_field(&rest);
    parse_steps(fault, first, next_field(&rest));
    char *amount = next_field(&rest), *end = NULL;
    fault->amount = amount == NULL ? 0 : strtod(amount, &end);
    fault->relative = end != NULL && *end == '%' && !in_percent(fault->kind);
    const char *phase = next_field(&rest);
    if (phase != NULL && strcmp(phase, "*") != 0) {
        fault->phase = job_phase(job, phase);
        if (fault->phase < 0)
            fail("shape %s has no phase '%s'", job->options.shape, phase);
    }
}

bool fault_on(const struct fault *fault, int rank)
{
    for (int i = 0; i < fault->rank_count; i++)
        if (fault->ranks[i] == rank)
            return true;
    return false;
}

static bool in_steps(const struct fault *fault, int step)
{
    return step >= fault->first_step && step <= fault->last_step &&
           (step - fault->first_step) % fault->every == 0;
}

bool fault_now(const struct fault *fault, int step, int phase)
{
    return fault->enabled && in_steps(fault, step) && (fault->phase < 0 || fault->phase == phase);
}

int fault_steps(const struct fault *fault)
{
    return (fault->last_step - fault->first_step) / fault->every + 1;
}

int64_t fault_send_delay(struct job *job, int sender, int receiver, int step, int phase)
{
    double us = 0;
    for (int i = 0; i < job->fault_count; i++) {
        const struct fault *fault = &job->faults[i];
        bool hit = (fault->kind == FAULT_NETWORK && fault_on(fault, sender)) ||
                   (fault->kind == FAULT_EDGE && fault_on(fault, sender) && fault->peer == receiver) ||
                   (fault->kind == FAULT_RECEIVE && fault_on(fault, receiver));
        if (hit && fault_now(fault, step, phase))
            us += fault->amount;
    }
    return (int64_t)(us * MICROSECOND);
}

double fault_carries(const struct job *job, int sender, int receiver, int step, int phase)
{
    double factor = 1;
    for (int i = 0; i < job->fault_count; i++) {
        const struct fault *fault = &job->faults[i];
        bool across = fault->kind == FAULT_SWITCH && fault_on(fault, sender) != fault_on(fault, receiver);
        bool at_end = fault->kind == FAULT_LINKS && (fault_on(fault, sender) || fault_on(fault, receiver));
        if ((across || at_end) && fault_now(fault, step, phase))
            factor *= 1 + fault->amount / 100;
    }
    return factor;
}

/* Factors with a mean of 1. */
static double log_normal(const struct job *job, int rank, int step)
{
    double normal = random_normal(job->options.seed, DRAW_TAIL, (uint64_t)rank, (uint64_t)step, 0);
    return exp(TAIL_SPREAD * normal - TAIL_SPREAD * TAIL_SPREAD / 2);
}

static double pareto(const struct job *job, int rank, int step)
{
    double unit = random_unit(job->options.seed, DRAW_TAIL, (uint64_t)rank, (uint64_t)step, 1);
    double value = (TAIL_POWER - 1) / TAIL_POWER * pow(unit, -1 / TAIL_POWER);
    return value < TAIL_MOST ? value : TAIL_MOST;
}

double fault_before_step_us(const struct job *job, int rank, int step)
{
    double us = 0;
    for (int i = 0; i < job->fault_count; i++) {
        const struct fault *fault = &job->faults[i];
        if (fault->kind == FAULT_LOADER && fault_on(fault, rank) && fault_now(fault, step, fault->phase))
            us += fault->amount * log_normal(job, rank, step);
    }
    return us;
}

/* The action before which a host collects garbage, or its process stops: any that enqueues work. */
static int collecting_action(const struct job *job, int rank, int step)
{
    const struct program *program = job_program(job, step);
    uint64_t draw = random_bits(job->options.seed, DRAW_TAIL, (uint64_t)rank, (uint64_t)step, 2);
    int action = (int)(draw % (uint64_t)program->length_of_rank[rank]);
    while (action > 0 && program->actions[rank][action].kind != ACTION_COMPUTE &&
           program->actions[rank][action].kind != ACTION_COLLECTIVE)
        action--;
    return action > 0 ? action : 1;
}

double fault_before_action_us(const struct job *job, int rank, int step, int index)
{
    double us = 0;
    for (int i = 0; i < job->fault_count; i++) {
        const struct fault *fault = &job->faults[i];
        if (fault->kind == FAULT_COLLECTION && fault_on(fault, rank) &&
            fault_now(fault, step, fault->phase) && index == collecting_action(job, rank, step))
            us += fault->amount * pareto(job, rank, step);
    }
    return us;
}

void fault_stop(struct job *job, int rank, int step, int index, int64_t now)
{
    for (int i = 0; i < job->fault_count; i++) {
        struct fault *fault = &job->faults[i];
        if (fault->kind == FAULT_STOP && fault->since == UNKNOWN && fault_on(fault, rank) &&
            fault_now(fault, step, fault->phase) && index == collecting_action(job, rank, step))
            fault->since = now;
    }
}

int64_t fault_stopped_until(const struct job *job, int rank, int64_t at)
{
    for (int i = 0; i < job->fault_count; i++) {
        const struct fault *fault = &job->faults[i];
        if (fault->kind != FAULT_STOP || !fault->enabled || fault->since == UNKNOWN || !fault_on(fault, rank))
            continue;
        int64_t until = fault->since + (int64_t)(fault->amount * 1e6);
        if (at >= fault->since && at < until)
            at = until;
    }
    return at;
}

int64_t fault_pause_until(struct job *job, int sender, int step, int phase, int64_t at)
{
    for (int i = 0; i < job->fault_count; i++) {
        struct fault *fault = &job->faults[i];
        if (fault->kind != FAULT_PAUSE || !fault_on(fault, sender) || !fault_now(fault, step, phase))
            continue;
        if (fault->since == UNKNOWN)
            fault->since = at;
        int64_t until = fault->since + (int64_t)(fault->amount * 1e6);
        if (at >= fault->since && at < until)
            at = until;
    }
    return at;
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_step_us(const struct job *job)
{
    int steps = job->options.steps, count = 0;
    double *durations = allocate((size_t)steps, sizeof(*durations));
    for (int i = 1; i < steps; i++)
        if (job->step_end[i] != UNKNOWN && job->step_end[i - 1] != UNKNOWN)
            durations[count++] = (double)(job->step_end[i] - job->step_end[i - 1]) / 1000;
    qsort(durations, (size_t)count, sizeof(*durations), compare_double);
    double median = count > 0 ? durations[count / 2] : 0;
    free(durations);
    return median;
}

/* Network sends of a rank, one after another, that this fault would slow in one step of the simulated job. */
static double sends_of(const struct job *job, const struct fault *fault, int rank)
{
    const struct process *process = &job->processes[rank];
    double sends = 0;
    for (int i = 0; i < process->record_count; i++) {
        const struct record *record = process->records[i];
        if (record->step != 1 || (fault->phase >= 0 && record->phase != fault->phase))
            continue;
        for (int k = 0; k < record->proxy_count; k++) {
            const struct proxy *proxy = &record->proxy[k];
            int peer = job->communicators[record->communicator].ranks[proxy->peer];
            bool hit = fault->kind == FAULT_RECEIVE
                           ? fault_on(fault, peer)
                           : fault_on(fault, rank) && (fault->peer < 0 || peer == fault->peer);
            if (proxy->send && hit)
                sends += (double)proxy->steps / record->channels;
        }
    }
    return sends;
}

/* For one of its ranks. */
static double sends_per_step(const struct job *job, const struct fault *fault)
{
    double sends = 0;
    for (int rank = 0; rank < job->options.ranks; rank++)
        sends += sends_of(job, fault, rank);
    return sends / fault->rank_count;
}

/* A network card is slow for those of its ranks that send over the network; the others have no fault. */
static void keep_senders(const struct job *job, struct fault *fault)
{
    int kept = 0;
    for (int i = 0; i < fault->rank_count; i++)
        if (sends_of(job, fault, fault->ranks[i]) > 0)
            fault->ranks[kept++] = fault->ranks[i];
    if (kept == 0)
        fail("fault: none of its ranks sends over the network");
    fault->rank_count = kept;
    fault->rank = fault->ranks[0];
}

/*
 * A slow receiver with one sender cannot be distinguished from a slow link, so the sender is also a correct
 * answer.
 */
static int only_sender(const struct job *job, const struct fault *fault)
{
    int sender = -1;
    for (int rank = 0; rank < job->options.ranks; rank++) {
        const struct process *process = &job->processes[rank];
        bool sends = false;
        for (int i = 0; i < process->record_count; i++) {
            const struct record *record = process->records[i];
            if (record->step != 1 || (fault->phase >= 0 && record->phase != fault->phase))
                continue;
            for (int k = 0; k < record->proxy_count; k++)
                sends |= record->proxy[k].send &&
                         job->communicators[record->communicator].ranks[record->proxy[k].peer] == fault->rank;
        }
        if (sends && sender >= 0)
            return -1;
        sender = sends ? rank : sender;
    }
    return sender;
}

static void add_crossing(struct fault *fault, int sender, int receiver)
{
    for (int i = 0; i < fault->crossing_count; i++)
        if (fault->crossing[i][0] == sender && fault->crossing[i][1] == receiver)
            return;
    fault->crossing =
        grow(fault->crossing, &fault->crossing_capacity, fault->crossing_count + 1, sizeof(*fault->crossing));
    fault->crossing[fault->crossing_count][0] = sender;
    fault->crossing[fault->crossing_count++][1] = receiver;
}

/* Which links of the simulated job cross a switch. */
static void find_crossing(const struct job *job, struct fault *fault)
{
    for (int rank = 0; rank < job->options.ranks; rank++) {
        const struct process *process = &job->processes[rank];
        for (int i = 0; i < process->record_count; i++) {
            const struct record *record = process->records[i];
            for (int k = 0; record->step == 1 && k < record->proxy_count; k++) {
                int peer = job->communicators[record->communicator].ranks[record->proxy[k].peer];
                if (record->proxy[k].send && fault_on(fault, rank) != fault_on(fault, peer))
                    add_crossing(fault, rank, peer);
            }
        }
    }
}

static bool rank_taken(const struct job *job, int rank)
{
    for (int i = 0; i < job->fault_count; i++)
        if (fault_on(&job->faults[i], rank) || job->faults[i].peer == rank)
            return true;
    return false;
}

/* Puts a fault without a given rank on a link between nodes that this job uses. */
static void place_fault(struct job *job, struct fault *fault)
{
    uint64_t best = UINT64_MAX;
    int sender = -1, receiver = -1;
    for (int rank = 0; rank < job->options.ranks; rank++) {
        const struct process *process = &job->processes[rank];
        for (int i = 0; i < process->record_count; i++) {
            const struct record *record = process->records[i];
            if (record->step != 1 || (fault->phase >= 0 && record->phase != fault->phase))
                continue;
            for (int k = 0; k < record->proxy_count; k++) {
                int peer = job->communicators[record->communicator].ranks[record->proxy[k].peer];
                uint64_t draw = random_bits(job->options.seed, DRAW_NAME, 5, (uint64_t)rank, (uint64_t)peer);
                if (!record->proxy[k].send || draw >= best || rank_taken(job, rank) || rank_taken(job, peer))
                    continue;
                best = draw;
                sender = rank;
                receiver = peer;
            }
        }
    }
    fault->rank = sender < 0 ? 0 : fault->kind == FAULT_RECEIVE ? receiver : sender;
    fault->peer = fault->kind == FAULT_EDGE ? receiver : -1;
    fault->ranks = allocate(1, sizeof(int));
    fault->ranks[fault->rank_count++] = fault->rank;
}

static void enable_all(struct job *job, bool enabled)
{
    for (int i = 0; i < job->fault_count; i++)
        job->faults[i].enabled = enabled;
}

/* Converts amounts in percent of a step to microseconds, with a clean run of the same job. */
void faults_resolve(struct job *job)
{
    enable_all(job, false);
    engine_run(job);
    for (int round = 0; round < 3 && noise_calm(job); round++) {
        job_reset(job);
        engine_run(job);
    }
    if (noise_place_stall(job)) {
        job_reset(job);
        engine_run(job);
    }
    job->clean_step_us = median_step_us(job);
    for (int i = 0; i < job->fault_count; i++) {
        struct fault *fault = &job->faults[i];
        if (fault->rank < 0)
            place_fault(job, fault);
        else if (fault->kind == FAULT_NETWORK && fault->rank_count > 1)
            keep_senders(job, fault);
        if (fault->kind == FAULT_SWITCH)
            find_crossing(job, fault);
        fault->equivalent = fault->kind == FAULT_RECEIVE ? only_sender(job, fault) : -1;
        if (!fault->relative)
            continue;
        fault->amount *= job->clean_step_us / 100;
        if (fault->kind == FAULT_NETWORK || fault->kind == FAULT_EDGE || fault->kind == FAULT_RECEIVE) {
            double sends = sends_per_step(job, fault);
            fault->amount = sends > 0 ? fault->amount / sends : 0;
        }
        if (fault->kind == FAULT_PAUSE || fault->kind == FAULT_STOP)
            fault->amount /= 1000;
    }
}

static int64_t played_end(struct job *job)
{
    job_reset(job);
    engine_run(job);
    return job->end;
}

void faults_check_once(const struct job *job)
{
    for (int i = 0; i < job->fault_count; i++)
        if (job->faults[i].relative || job->faults[i].rank < 0 ||
            (job->faults[i].kind == FAULT_NETWORK && job->faults[i].rank_count > 1))
            fail("--once: a fault in percent, or with ? as rank, takes several runs");
}

/*
 * The cost of each fault: the same job with the same random numbers, without it; and the fault alone compared
 * with a clean job. For a single fault, this is the run with all faults, which is made anyway.
 */
void faults_measure(struct job *job)
{
    bool stopped = false;
    for (int i = 0; i < job->fault_count; i++)
        stopped |= fault_stops_job(job->faults[i].kind);
    enable_all(job, false);
    int64_t clean = job->end;
    for (int i = 0; job->fault_count > 1 && i < job->fault_count; i++) {
        struct fault *fault = &job->faults[i];
        if (fault_stops_job(fault->kind))
            continue;
        enable_all(job, false);
        fault->enabled = true;
        fault->alone_us = (double)(played_end(job) - clean) / 1000;
    }
    if (stopped || job->fault_count < 2) {
        for (int i = 0; i < job->fault_count; i++)
            job->faults[i].lost_us = job->faults[i].alone_us;
        return;
    }
    enable_all(job, true);
    int64_t all = played_end(job);
    for (int i = 0; i < job->fault_count; i++) {
        job->faults[i].enabled = false;
        job->faults[i].lost_us = (double)(all - played_end(job)) / 1000;
        job->faults[i].enabled = true;
    }
}

void faults_measured(struct job *job, int64_t clean_end)
{
    struct fault *fault = &job->faults[0];
    if (job->options.once || job->fault_count != 1 || fault_stops_job(fault->kind))
        return;
    fault->lost_us = fault->alone_us = (double)(job->end - clean_end) / 1000;
}
