/*
 * Noise of healthy jobs besides jitter. Jitter is drawn again for each piece of work and averages out over a
 * step. The noise here lasts: a sender that is slow for a step or several steps in a row, connections that
 * warm up, a host that is late once. All of it is drawn from the seed before the job is simulated, so faults
 * do not shift it.
 *
 * The figures were measured on 138 recorded healthy runs over sockets: 4 and 8 ranks on 2 to 8 hosts that
 * shared one machine; pipeline and tensor parallel, fully sharded, expert and data parallel; 11 steps after
 * the first. 89 of them have network steps. The slowness of a sender in a step is its mean SendWait in it,
 * divided by the median over its steps.
 */
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A sender's steps differ by 7 % (normal spread; quartiles 0.95 and 1.05), of which jitter is 4 %, and a step
 * depends on the one before: correlation 0.00 to 0.05 over 8 steps, where unrelated ones would have -0.13. In
 * sharded jobs with each rank on its own host, quartiles are 0.90 and 1.12. The step times themselves are
 * within 2.3 % there (median of the runs; sharded: 4.2 %), and drift, for all senders together.
 */
#define WALK 0.05
#define WALK_BUSY 0.13
#define WALK_MEMORY 0.5
#define DRIFT 0.006
#define DRIFT_BUSY 0.015
#define DRIFT_MEMORY 0.9

/*
 * The first step after step 0: quartiles 1.00, 1.05 and 1.17, upper decile 1.33, compared with 1.13 for other
 * steps. The second: hardly higher. In 17 of 138 runs the first two steps are both at least 5 % longer than
 * the median, in 11 at least 8 %: a sender that stays slow for up to five steps.
 */
static const double warming[] = {0, 0.075, 0.015, 0.008};
#define SLOW_START_JOBS 0.10
#define SLOW_START_LEAST 1.25
#define SLOW_START_SCALE 0.35

/*
 * 11 of 81 runs have steps in which one sender is 1.5 to 3 times as slow as its median, 23 times in total; in
 * a third of them a second sender is, too. It is mostly the same sender again. Such steps are 5 to 50 %
 * longer, one 92 %.
 */
#define RESTLESS_JOBS 0.18
#define HICCUP_STEPS 0.13
#define HICCUP_SECOND 0.33
#define HICCUP_LEAST 1.4
#define HICCUP_TAIL 3.5
#define HICCUP_MOST 3.5

/*
 * Sharded, each rank on its own host: in 64 steps, 19 slow periods of one step, 2 of two, and 2 of four and
 * five, in which one sender is 1.5 to 4 times as slow; then another sender.
 */
#define SPELL_BEGINS 0.32
#define SPELL_LASTS 0.25
#define SPELL_LONGEST 6
#define SPELL_LEAST 1.4
#define SPELL_SCALE 0.6
#define SPELL_MOST 3.5

/*
 * A single send that stalls for at least 2.5 ms, ten times the median: in 4 of 68 runs, the longest 6.3 ms.
 * In 105 other healthy runs no send waited longer than 4.1 ms.
 */
#define STALL_JOBS 0.06
#define STALL_LEAST_MS 2.5
#define STALL_TAIL 2.0
#define STALL_MOST_MS 6.5

/* A host that enqueues 0.8 to 2.9 ms late, once: in 4 of 89 runs. */
#define LATE_JOBS 0.05
#define LATE_LEAST_MS 0.8
#define LATE_SCALE_MS 0.7

/*
 * Of 6,000 steps of senders one was 3.0 times as slow as the median, none slower (3.6 in the first step, on a
 * busy network). In steps with a sender 1.5 to 2 times as slow, transfers take 1.06 to 1.12 times as long,
 * with one 2 to 3 times as slow 1.28 times: as if all of it were bandwidth. On the busy networks they take
 * 1.02, 1.03 and, above that, 1.05 times as long (upper decile 1.06, 1.24, 1.32): there a part is
 * acknowledged late and delays nothing as long as there are free slots.
 */
#define SLOWEST 3.0

enum purpose { RESTLESS, SPELL, STALL, LATE, SLOW_START };

static double draw(const struct job *job, enum purpose purpose, int a, int b)
{
    return random_unit(job->options.seed, DRAW_ROUGH, (uint64_t)purpose, (uint64_t)a, (uint64_t)b);
}

static int draw_below(const struct job *job, enum purpose purpose, int a, int b, int limit)
{
    return (int)(draw(job, purpose, a, b) * limit);
}

static double pareto(double unit, double least, double tail, double most)
{
    double value = least * pow(unit, -1 / tail);
    return value < most ? value : most;
}

/*
 * Fully sharded jobs with one rank per host: every byte of the parameters crosses the network, most of the
 * time.
 */
bool network_busy(const struct options *options)
{
    return strcmp(options->shape, "fsdp") == 0 && options->ranks_per_node == 1;
}

static double *sender_step(struct job *job, int sender, int step)
{
    return &job->rough.slowness[sender * job->options.steps + step];
}

/* The next value of a mean-reverting random walk: its spread stays the same. */
static double walk_next(const struct job *job, double before, double memory, int who, int step)
{
    double fresh = random_normal(job->options.seed, DRAW_ROUGH, 100, (uint64_t)who, (uint64_t)step);
    return step == 0 ? fresh : memory * before + sqrt(1 - memory * memory) * fresh;
}

/* Each sender has its own walk, and so has the network as a whole. */
static void walks(struct job *job)
{
    bool busy = network_busy(&job->options);
    int ranks = job->options.ranks;
    for (int who = 0; who <= ranks; who++) {
        double at = 0;
        for (int step = 0; step < job->options.steps; step++) {
            at = walk_next(job, at, who < ranks ? WALK_MEMORY : DRIFT_MEMORY, who, step);
            if (who < ranks)
                *sender_step(job, who, step) += at * (busy ? WALK_BUSY : WALK);
            for (int sender = 0; who == ranks && sender < ranks; sender++)
                *sender_step(job, sender, step) += at * (busy ? DRIFT_BUSY : DRIFT);
        }
    }
}

static void slow_start(struct job *job)
{
    if (draw(job, SLOW_START, 0, 0) >= SLOW_START_JOBS)
        return;
    int sender = draw_below(job, SLOW_START, 1, 0, job->options.ranks);
    int last = 2 + draw_below(job, SLOW_START, 2, 0, 4);
    double factor = SLOW_START_LEAST - SLOW_START_SCALE * log(draw(job, SLOW_START, 3, 0));
    for (int step = 1; step <= last && step < job->options.steps; step++)
        *sender_step(job, sender, step) += log(factor);
}

static void hiccups(struct job *job)
{
    if (draw(job, RESTLESS, 0, 0) >= RESTLESS_JOBS)
        return;
    int ranks = job->options.ranks, sender = draw_below(job, RESTLESS, 1, 0, ranks);
    for (int step = 1; step < job->options.steps; step++) {
        if (draw(job, RESTLESS, 2, step) >= HICCUP_STEPS)
            continue;
        double factor = pareto(draw(job, RESTLESS, 3, step), HICCUP_LEAST, HICCUP_TAIL, HICCUP_MOST);
        *sender_step(job, sender, step) += log(factor);
        int second = draw_below(job, RESTLESS, 4, step, ranks);
        if (second != sender && draw(job, RESTLESS, 5, step) < HICCUP_SECOND)
            *sender_step(job, second, step) += log(factor) / 2;
    }
}

static void spells(struct job *job)
{
    int until = 0, sender = 0;
    double factor = 1;
    for (int step = 1; step < job->options.steps; step++) {
        if (step >= until) {
            if (draw(job, SPELL, 0, step) >= SPELL_BEGINS)
                continue;
            sender = draw_below(job, SPELL, 1, step, job->options.ranks);
            factor = SPELL_LEAST - SPELL_SCALE * log(draw(job, SPELL, 2, step));
            factor = factor < SPELL_MOST ? factor : SPELL_MOST;
            bool lasts = draw(job, SPELL, 3, step) < SPELL_LASTS;
            until = step + (lasts ? 2 + draw_below(job, SPELL, 4, step, SPELL_LONGEST - 1) : 1);
        }
        *sender_step(job, sender, step) += log(factor);
    }
}

static bool enqueues(const struct action *action)
{
    return action->kind == ACTION_COMPUTE || action->kind == ACTION_COLLECTIVE ||
           action->kind == ACTION_POINT_TO_POINT;
}

static void late_host(struct job *job)
{
    struct rough *rough = &job->rough;
    if (draw(job, LATE, 0, 0) >= LATE_JOBS)
        return;
    int rank = draw_below(job, LATE, 1, 0, job->options.ranks);
    int step = 1 + draw_below(job, LATE, 3, 0, job->options.steps - 1);
    const struct program *program = job_program(job, step);
    int action = draw_below(job, LATE, 2, 0, program->length_of_rank[rank]);
    while (action > 0 && !enqueues(&program->actions[rank][action]))
        action--;
    rough->late_rank = rank;
    rough->late_action = action;
    rough->late_step = step;
    rough->late_us = 1000 * (LATE_LEAST_MS - LATE_SCALE_MS * log(draw(job, LATE, 4, 0)));
}

void noise_prepare(struct job *job)
{
    size_t rank_steps = (size_t)job->options.ranks * (size_t)job->options.steps;
    job->rough = (struct rough){.late_rank = -1, .stall_rank = -1};
    if (!job->options.rough)
        return;
    job->rough.slowness = allocate(rank_steps, sizeof(*job->rough.slowness));
    job->rough.waited_ns = allocate(rank_steps, sizeof(*job->rough.waited_ns));
    job->rough.waits = allocate(rank_steps, sizeof(*job->rough.waits));
    if (draw(job, STALL, 0, 0) < STALL_JOBS)
        job->rough.stall_step = 1 + draw_below(job, STALL, 1, 0, job->options.steps - 1);
    walks(job);
    slow_start(job);
    hiccups(job);
    if (network_busy(&job->options))
        spells(job);
    late_host(job);
}

void noise_waited(struct job *job, int sender, int step, int64_t waited_ns)
{
    if (!job->options.rough)
        return;
    size_t at = (size_t)sender * (size_t)job->options.steps + (size_t)step;
    job->rough.waited_ns[at] += waited_ns;
    job->rough.waits[at]++;
}

void noise_forget_waits(struct job *job)
{
    size_t rank_steps = (size_t)job->options.ranks * (size_t)job->options.steps;
    if (!job->options.rough)
        return;
    memset(job->rough.waited_ns, 0, rank_steps * sizeof(*job->rough.waited_ns));
    memset(job->rough.waits, 0, rank_steps * sizeof(*job->rough.waits));
}

/* Mean SendWait of a sender's steps; 0 if it sends nothing. */
static void measure_waits(const struct job *job, int sender, double *mean)
{
    size_t first = (size_t)sender * (size_t)job->options.steps;
    const int64_t *waited_ns = job->rough.waited_ns + first, *waits = job->rough.waits + first;
    for (int step = 0; step < job->options.steps; step++)
        mean[step] = (double)waited_ns[step] / (double)(waits[step] > 0 ? waits[step] : 1);
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/*
 * The wait of a slow sender depends on how much it has to send: if that is much, the queue behind it waits,
 * too. No recorded sender waited more than SLOWEST times as long as its median.
 */
static bool calm_sender(struct job *job, int sender, double *mean, double *sorted)
{
    bool changed = false;
    int steps = job->options.steps;
    measure_waits(job, sender, mean);
    memcpy(sorted, mean + 1, (size_t)(steps - 1) * sizeof(*sorted));
    qsort(sorted, (size_t)(steps - 1), sizeof(*sorted), by_value);
    double usual = sorted[(steps - 1) / 2];
    for (int step = 1; step < steps && usual > 0; step++) {
        double *slow = sender_step(job, sender, step), ratio = mean[step] / usual;
        if (*slow <= 0 || ratio <= SLOWEST * 1.05)
            continue;
        *slow *= log(SLOWEST) / log(ratio);
        changed = true;
    }
    return changed;
}

bool noise_calm(struct job *job)
{
    bool changed = false;
    int steps = job->options.steps;
    if (!job->options.rough || steps < 3)
        return false;
    double *mean = allocate((size_t)steps, sizeof(*mean)), *sorted = allocate((size_t)steps, sizeof(*sorted));
    for (int sender = 0; sender < job->options.ranks; sender++)
        changed |= calm_sender(job, sender, mean, sorted);
    free(mean);
    free(sorted);
    return changed;
}

/* The rank on another node to which the operation sends first; -1: none. */
static int first_receiver(const struct job *job, const struct record *record)
{
    for (int i = 0; i < record->proxy_count; i++)
        if (record->proxy[i].send && record->proxy[i].channel == record->first_channel)
            return job->communicators[record->communicator].ranks[record->proxy[i].peer];
    return -1;
}

/* The send that stalls: one that occurs in the simulated job. */
bool noise_place_stall(struct job *job)
{
    struct rough *rough = &job->rough;
    int step = rough->stall_step;
    if (step == 0)
        return false;
    double best = 1;
    for (int rank = 0; rank < job->options.ranks; rank++) {
        const struct process *process = &job->processes[rank];
        for (int i = 0; i < process->record_count; i++) {
            const struct record *record = process->records[i];
            double luck = draw(job, STALL, 2 + rank, record->group);
            if (record->step != step || luck >= best || first_receiver(job, record) < 0)
                continue;
            best = luck;
            rough->stall_rank = rank;
            rough->stall_peer = first_receiver(job, record);
            rough->stall_group = record->group;
        }
    }
    double ms = pareto(draw(job, STALL, 1, 1), STALL_LEAST_MS, STALL_TAIL, STALL_MOST_MS);
    rough->stall_ns = (int64_t)(ms * 1e6 * job->options.noise);
    return rough->stall_rank >= 0;
}

struct slowness noise_link(const struct job *job, int sender, int receiver, int step)
{
    if (!job->options.rough)
        return (struct slowness){1, 0};
    double slow = job->rough.slowness[sender * job->options.steps + step];
    if (step < (int)(sizeof(warming) / sizeof(warming[0])))
        slow += warming[step] * random_exponential(job->options.seed, DRAW_ROUGH, 200 + (uint64_t)step,
                                                   (uint64_t)sender, (uint64_t)receiver);
    slow = exp(job->options.noise * (slow < log(SLOWEST) ? slow : log(SLOWEST)));
    if (slow < 1 || !network_busy(&job->options))
        return (struct slowness){slow, 0};
    return (struct slowness){sqrt(slow), sqrt(slow) - 1};
}

int64_t noise_stall(const struct job *job, int sender, int receiver, int group)
{
    const struct rough *rough = &job->rough;
    bool it = rough->stall_rank == sender && rough->stall_peer == receiver && rough->stall_group == group;
    return it ? rough->stall_ns : 0;
}

double noise_late_us(const struct job *job, int rank, int step, int action)
{
    const struct rough *rough = &job->rough;
    bool now = rough->late_rank == rank && rough->late_step == step && rough->late_action == action;
    return now ? rough->late_us * job->options.noise : 0;
}
