/*
 * Situations of regular jobs besides repeating the same step, also healthy ones: load that moves between
 * experts, batches that differ, growing batches and sequences, evaluation, recreated communicators; and
 * problems of their records: clocks that are set, operations that are lost.
 */
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EXPERTS 8
#define LOAD_SPREAD 0.12 /* of experts' load between ranks, steps and layers */
#define LOAD_LIMIT 2.5   /* spreads */
#define GAP_LENGTH 8

const char situation_usage[] =
    "  --hot-expert PERCENT:STEPS   moe: one expert of each group gets this much more data, another one\n"
    "                        after every STEPS steps; message sizes follow the load of experts\n"
    "  --batches PERCENT     batches differ by this (normal spread), equally on all ranks\n"
    "  --own-batches PERCENT the same, separately on each rank\n"
    "  --ramp-up N:STEPS     N microbatches at first, one more after every STEPS steps, up to "
    "--microbatches\n"
    "  --sequences PERCENT:STEPS    sequences grow by this part of the first length after every STEPS steps\n"
    "  --evaluate STEPS[:BATCHES[:TAG]]   forward passes at the end of every STEPS-th step\n"
    "  --remake STEP         all communicators are recreated in the same processes; may be repeated\n"
    "  --clock-step RANK:STEP:US    the clock of the process jumps when the step begins; may be repeated\n"
    "  --gaps FRACTION[:LENGTH]     fraction of operations that recorders lose, LENGTH calls in a row\n";

/* The number before the next colon; NULL stays NULL. */
static double take(char **rest, const char *what)
{
    char *end, *field = strsep(rest, ":");
    double value = field == NULL ? 0 : strtod(field, &end);
    if (field == NULL || end == field || *end != '\0')
        fail("%s is missing or not a number", what);
    return value;
}

static int take_positive(char **rest, const char *what)
{
    double value = take(rest, what);
    if (value < 1 || value > 1e6)
        fail("%s must be at least 1", what);
    return (int)value;
}

static void take_evaluation(struct situation *situation, char *rest)
{
    situation->evaluate_steps = take_positive(&rest, "--evaluate's steps");
    situation->evaluate_batches = rest != NULL ? take_positive(&rest, "--evaluate's batches") : 2;
    situation->evaluate_tag = rest;
}

static void take_remake(struct situation *situation, char *rest)
{
    if (situation->remade_count == MAX_EVENTS_OF_A_JOB)
        fail("--remake: at most %d times", MAX_EVENTS_OF_A_JOB);
    int step = take_positive(&rest, "--remake's step"), at = situation->remade_count++;
    for (; at > 0 && situation->remade[at - 1] > step; at--)
        situation->remade[at] = situation->remade[at - 1];
    situation->remade[at] = step;
}

static void take_clock_step(struct situation *situation, char *rest)
{
    if (situation->clock_step_count == MAX_EVENTS_OF_A_JOB)
        fail("--clock-step: at most %d times", MAX_EVENTS_OF_A_JOB);
    struct clock_step *step = &situation->clock_steps[situation->clock_step_count++];
    step->rank = (int)take(&rest, "--clock-step's rank");
    step->step = take_positive(&rest, "--clock-step's step");
    step->us = take(&rest, "--clock-step's us");
}

/* `text` must live as long as the job. */
bool situation_option(struct situation *situation, const char *name, char *text)
{
    char *rest = text;
    if (strcmp(name, "hot-expert") == 0) {
        situation->hot_percent = take(&rest, "--hot-expert's percent");
        situation->hot_steps = take_positive(&rest, "--hot-expert's steps");
    } else if (strcmp(name, "batches") == 0)
        situation->batches_percent = take(&rest, "--batches' percent");
    else if (strcmp(name, "own-batches") == 0)
        situation->own_batches_percent = take(&rest, "--own-batches' percent");
    else if (strcmp(name, "ramp-up") == 0) {
        situation->ramp_first = take_positive(&rest, "--ramp-up's first");
        situation->ramp_steps = take_positive(&rest, "--ramp-up's steps");
    } else if (strcmp(name, "sequences") == 0) {
        situation->sequence_percent = take(&rest, "--sequences' percent");
        situation->sequence_steps = take_positive(&rest, "--sequences' steps");
    } else if (strcmp(name, "evaluate") == 0)
        take_evaluation(situation, rest);
    else if (strcmp(name, "remake") == 0)
        take_remake(situation, rest);
    else if (strcmp(name, "clock-step") == 0)
        take_clock_step(situation, rest);
    else if (strcmp(name, "gaps") == 0) {
        situation->gaps = take(&rest, "--gaps' fraction");
        situation->gap_length = rest != NULL ? take_positive(&rest, "--gaps' length") : GAP_LENGTH;
    } else
        return false;
    return true;
}

void situation_check(const struct options *options)
{
    const struct situation *situation = &options->situation;
    if (situation->hot_steps > 0 && strcmp(options->shape, "moe") != 0)
        fail("--hot-expert: only with shape moe");
    if (situation->gaps < 0 || situation->gaps > 0.9)
        fail("--gaps: 0 to 0.9");
    for (int i = 0; i < situation->clock_step_count; i++)
        if (situation->clock_steps[i].rank < 0 || situation->clock_steps[i].rank >= options->ranks)
            fail("--clock-step: no rank %d", situation->clock_steps[i].rank);
}

struct program situation_program(const struct options *options, int step)
{
    const struct situation *situation = &options->situation;
    struct program program = {.microbatches = options->microbatches, .sequence_length = 1};
    if (situation->ramp_steps > 0) {
        int batches = situation->ramp_first + step / situation->ramp_steps;
        program.microbatches = batches < options->microbatches ? batches : options->microbatches;
    }
    if (situation->sequence_steps > 0)
        program.sequence_length += situation->sequence_percent / 100 * (step / situation->sequence_steps);
    program.evaluates = situation->evaluate_steps > 0 && (step + 1) % situation->evaluate_steps == 0;
    for (int i = 0; i < situation->remade_count; i++)
        program.generation += step >= situation->remade[i];
    return program;
}

int experts_of(const struct options *options)
{
    return options->ranks < MOST_EXPERTS ? options->ranks : MOST_EXPERTS;
}

static bool is_hot(const struct job *job, int rank, int step)
{
    int size = experts_of(&job->options);
    uint64_t group = (uint64_t)(rank / size), turn = (uint64_t)(step / job->options.situation.hot_steps);
    return rank % size == (int)(random_bits(job->options.seed, DRAW_LOAD, 1, group, turn) % (uint64_t)size);
}

/* The work of a rank's expert, relative to the usual work. */
double situation_load(const struct job *job, int rank, int step, int layer)
{
    double draw =
        random_normal(job->options.seed, DRAW_LOAD, 2 + (uint64_t)rank, (uint64_t)step, (uint64_t)layer);
    double limited = draw > LOAD_LIMIT ? LOAD_LIMIT : draw < -LOAD_LIMIT ? -LOAD_LIMIT : draw;
    double hot = is_hot(job, rank, step) ? job->options.situation.hot_percent / 100 : 0;
    return 1 + hot + LOAD_SPREAD * limited;
}

double situation_batch(const struct job *job, int rank, int step)
{
    const struct situation *situation = &job->options.situation;
    uint64_t seed = job->options.seed, at = (uint64_t)step;
    double all = situation->batches_percent / 100, own = situation->own_batches_percent / 100;
    return exp(all * random_normal(seed, DRAW_BATCH, 0, at, 0) +
               own * random_normal(seed, DRAW_BATCH, 1, at, (uint64_t)rank));
}

int64_t situation_bytes(const struct job *job, const struct action *action, int sender, int receiver,
                        int step, int64_t bytes)
{
    if (action->load == LOAD_NONE || job->options.situation.hot_steps == 0)
        return bytes;
    int expert = action->load == LOAD_TO_EXPERTS ? receiver : sender;
    return (int64_t)((double)bytes * situation_load(job, expert, step, action->layer));
}

int64_t situation_clock(const struct job *job, const struct process *process, int64_t time)
{
    double ns = 0;
    for (int i = 0; i < job->options.situation.clock_step_count; i++) {
        const struct clock_step *step = &job->options.situation.clock_steps[i];
        if (step->rank != process->rank || step->step >= job->options.steps)
            continue;
        int64_t at = job->rank_step_end[step->rank * job->options.steps + step->step - 1];
        if (at != UNKNOWN && time >= at)
            ns += step->us * 1000;
    }
    return (int64_t)ns;
}

/* Of a process's calls, groups of `gap_length` in a row are lost or kept together. */
void situation_lose(struct job *job, struct process *process, int first, int end)
{
    const struct situation *situation = &job->options.situation;
    for (int i = first; situation->gaps > 0 && i < end; i++) {
        struct record *record = process->records[i];
        uint64_t gap = (uint64_t)(record->group / situation->gap_length);
        record->lost =
            random_unit(job->options.seed, DRAW_GAP, (uint64_t)process->rank, gap, 0) < situation->gaps;
        job->lost_operations += record->lost;
    }
}

/* By step: number of microbatches, length of sequences, whether it evaluates, and its communicators. */
void situation_truth(struct output *output, const struct job *job)
{
    output_print(output, " \"programs\": [");
    for (int step = 0; step < job->options.steps; step++) {
        const struct program *program = job_program(job, step);
        output_print(
            output,
            "%s\n  {\"microbatches\": %d, \"sequence_length\": %.3f, \"evaluates\": %s, \"remade\": %d}",
            step > 0 ? "," : "", program->microbatches, program->sequence_length,
            program->evaluates ? "true" : "false", program->generation);
    }
    output_print(output, "],\n");
}
