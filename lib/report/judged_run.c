/*
 * Loads a run and diagnoses it, in several rounds (job/load.h) if it does not fit in memory, and merges the
 * findings of the rounds.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

/*
 * The results of the rounds of a run, kept after their jobs are released. All findings refer to one job,
 * which has the names of the run, the steps of all rounds, and only those operations in which findings first
 * show.
 */
struct rounds {
    struct job *job; /* borrowed: as job_plan created it */
    struct findings findings;
    struct judgement later; /* sums over the later rounds: judgement_add_round */
    struct quote *quotes;   /* operations that findings refer to; index in job->operations */
    size_t quote_count;
    size_t quote_capacity;
    size_t instance_capacity;
    size_t operations; /* number in the later rounds */
    int64_t timed_operations;
};

/* An operation that a finding refers to: its id in the store, and its number in the finding. */
struct quote {
    int64_t id;
    int32_t number;
    int32_t rank;
    int32_t source; /* index in the tags of rounds->job; -1: none */
};

/* Sets the steps of all rounds. */
static int take_steps(struct job *job, const struct chosen_steps *chosen)
{
    struct job_excerpt *excerpts = NULL;
    size_t count = 0, capacity = 0;
    unsigned char *taken = array_new((size_t)job->step_count + 1, 1);
    int failed = !taken;
    for (size_t i = 0; !failed && i < chosen->count; i++)
        for (size_t j = 0; j < chosen->rounds[i].count; j++) {
            const struct job_excerpt *excerpt = &chosen->rounds[i].excerpts[j];
            memset(taken + excerpt->first, 1, (size_t)(excerpt->end - excerpt->first));
        }
    for (int32_t step = 0; !failed && step < job->step_count; step++) {
        if (!taken[step])
            continue;
        if (!count || excerpts[count - 1].end < step) {
            failed = array_reserve((void **)&excerpts, &capacity, count + 1, sizeof *excerpts);
            if (failed)
                break;
            excerpts[count++].first = step;
        }
        excerpts[count - 1].end = step + 1;
    }
    free(taken);
    if (!failed)
        return job_set_excerpts(job, excerpts, count);
    free(excerpts);
    return -1;
}

/* The following functions return -1 when memory is out. Release `rounds` in any case. */
static int rounds_init(struct rounds *rounds, struct job *names, const struct chosen_steps *chosen)
{
    *rounds = (struct rounds){.job = names, .later = {.scope = {.first_step = INT32_MAX, .last_step = -1}}};
    return take_steps(names, chosen);
}

static int keep_text(struct rounds *rounds, const char *text, int32_t *number)
{
    int64_t kept = text ? intern_put(&rounds->job->tags, text, strlen(text)) : -1;
    *number = (int32_t)kept;
    return text && kept < 0 ? -1 : 0;
}

/* Replaces the number of an operation of a round by its number in `quotes`. */
static int quote(struct rounds *rounds, const struct job *job, int32_t *operation)
{
    struct quote quote = {.number = (int32_t)rounds->quote_count};
    if (*operation < 0)
        return 0;
    if (array_reserve((void **)&rounds->quotes, &rounds->quote_capacity, rounds->quote_count + 1,
                      sizeof *rounds->quotes) ||
        keep_text(rounds, job_source(job, (size_t)*operation), &quote.source))
        return -1;
    quote.id = job_operation_id(job, (size_t)*operation);
    quote.rank = job->operations[*operation].rank;
    *operation = quote.number;
    rounds->quotes[rounds->quote_count++] = quote;
    return 0;
}

/* Lets a text that a finding borrows from its job live as long as rounds->job. */
static int keep_borrowed(struct rounds *rounds, const char **text)
{
    int32_t number;
    if (keep_text(rounds, *text, &number))
        return -1;
    *text = job_tag(rounds->job, number);
    return 0;
}

/* Keeps the communicator of an instance; its members are dropped. */
static int keep_instance(struct rounds *rounds, const struct job *job, int32_t *number)
{
    struct job *to = rounds->job;
    if (*number < 0)
        return 0;
    if (array_reserve((void **)&to->instances, &rounds->instance_capacity, to->instance_count + 1,
                      sizeof *to->instances))
        return -1;
    to->instances[to->instance_count] = job->instances[*number];
    to->instances[to->instance_count].members = 0;
    *number = (int32_t)to->instance_count++;
    return 0;
}

static int32_t step_in(const struct rounds *rounds, const struct job *job, int32_t step)
{
    return step < 0 ? step : job_loaded_step(rounds->job, job_run_step(job, step));
}

/* Changes a finding to refer to rounds->job and not to the job of its round. */
static int carry(struct rounds *rounds, const struct job *job, struct finding *finding)
{
    finding->first_step = step_in(rounds, job, finding->first_step);
    finding->last_step = step_in(rounds, job, finding->last_step);
    finding->breaks = job_breaks_in(rounds->job, finding->first_step, finding->last_step);
    for (size_t i = 0; i < finding->step_count; i++)
        finding->steps[i] = step_in(rounds, job, finding->steps[i]);
    free(finding->excess_up_to);
    finding->excess_up_to = NULL;
    for (size_t i = 0; i < finding->cause_count; i++) {
        free(finding->causes[i].steps);
        finding->causes[i].steps = NULL;
    }
    finding->numbers = finding->numbers ? rounds->job->step_numbers : NULL;
    int failed = keep_text(rounds, job_tag(job, finding->tag), &finding->tag) ||
                 quote(rounds, job, &finding->operation) || quote(rounds, job, &finding->called) ||
                 keep_instance(rounds, job, &finding->instance) || keep_borrowed(rounds, &finding->nic) ||
                 keep_borrowed(rounds, &finding->link[0]) || keep_borrowed(rounds, &finding->link[1]);
    for (size_t i = 0; !failed && i < finding->phase_count; i++)
        failed = keep_text(rounds, job_tag(job, finding->phases[i].tag), &finding->phases[i].tag);
    return failed;
}

static int carry_all(struct rounds *rounds, const struct job *job, struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (carry(rounds, job, &findings->items[i]))
            return -1;
    return findings_unite_round(&rounds->findings, findings, rounds->job);
}

/* Keeps the result of a later round: takes `findings` with their details, and leaves them empty. */
static int rounds_keep(struct rounds *rounds, const struct judgement *judgement, struct findings *findings)
{
    const struct job *job = judgement->job;
    rounds->operations += job->operation_count;
    rounds->timed_operations += job->timed_operations;
    return judgement_add_round(&rounds->later, judgement) || carry_all(rounds, job, findings) ? -1 : 0;
}

static int by_id(const void *a, const void *b)
{
    const struct quote *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

/* Lays out the kept operations like those of a job, so that records can be looked up (job/job.h). */
static int lay_out_quotes(struct rounds *rounds)
{
    struct job *job = rounds->job;
    size_t count = rounds->quote_count;
    job->operations = array_new(count, sizeof *job->operations);
    job->read_order = array_new(count, sizeof *job->read_order);
    job->sources = array_new(count, sizeof *job->sources);
    if (!job->operations || !job->read_order || !job->sources)
        return -1;
    job->operation_count = count;
    array_sort(rounds->quotes, count, sizeof *rounds->quotes, by_id);
    for (size_t i = 0; i < count; i++) {
        const struct quote *quote = &rounds->quotes[i];
        if ((!i || quote->id != rounds->quotes[i - 1].id) && id_runs_add(&job->operation_ids, quote->id))
            return -1;
        job->operations[quote->number] = (struct job_operation){.rank = quote->rank, .tag = -1};
        job->sources[quote->number] = quote->source;
        job->read_order[quote->number] = (int32_t)job->operation_ids.count - 1;
    }
    return 0;
}

/* Adds the first round. `findings` then has those of all rounds, in steps of rounds->job. */
static int rounds_end(struct rounds *rounds, struct judgement *judgement, struct findings *findings)
{
    struct findings all = *findings;
    if (carry_all(rounds, judgement->job, findings) || lay_out_quotes(rounds))
        return -1;
    /* What stopped the job, and everything else that is not a finding, comes from the first round. */
    all.items = rounds->findings.items;
    all.count = rounds->findings.count;
    all.capacity = rounds->findings.capacity;
    rounds->findings = (struct findings){0};
    findings_release(findings);
    *findings = all;
    judgement->told = rounds->job;
    return 0;
}

static void rounds_release(struct rounds *rounds)
{
    findings_release(&rounds->findings);
    judgement_release(&rounds->later);
    free(rounds->quotes);
    *rounds = (struct rounds){0};
}

/* Removes what a later round does not show: hangs, and faults before its first whole step. */
static void keep_faults_of_round(struct findings *findings, const struct job *job)
{
    for (size_t i = findings->count; i > 0; i--) {
        const struct finding *finding = &findings->items[i - 1];
        if (!finding_is_of_steps(finding) || finding->last_step <= job->first_step)
            findings_remove(findings, i - 1);
    }
}

/* Diagnoses a run whose job is loaded. Release the run if it fails. */
static int judge(struct judged_run *run, const struct diagnose_options *options, struct error *error)
{
    if (findings_find(&run->findings, &run->job, &run->baseline, &run->transfers, options, error))
        return -1;
    if (run->job.is_later_round)
        keep_faults_of_round(&run->findings, &run->job);
    run->operations = run->job.operation_count;
    run->timed_operations = run->job.timed_operations;
    if (judgement_init(&run->judgement, &run->job, &run->baseline, &run->findings, options))
        return error_no_memory(error);
    return run->job.is_later_round
               ? 0
               : longer_steps_observe(&run->judgement.longer, &run->job, &run->baseline, error);
}

static int judge_later(struct rounds *rounds, const struct chosen_steps *chosen, size_t number,
                       const struct diagnose_options *options, struct error *error)
{
    struct judged_run round = {.transfers = NULL};
    if (job_load_round(&round.job, rounds->job, chosen, number, error))
        return -1;
    int failed = judge(&round, options, error);
    if (!failed && rounds_keep(rounds, &round.judgement, &round.findings))
        failed = error_no_memory(error);
    judged_run_release(&round);
    return failed;
}

/* The first round is run last, because its job stays in memory. */
static int judge_rounds(struct judged_run *run, const struct chosen_steps *chosen,
                        const struct diagnose_options *options, struct error *error)
{
    struct rounds rounds;
    int failed = rounds_init(&rounds, &run->all, chosen) ? error_no_memory(error) : 0;
    for (size_t i = 1; !failed && i < chosen->count; i++)
        failed = judge_later(&rounds, chosen, i, options, error);
    failed = failed || job_load_round(&run->job, &run->all, chosen, 0, error) || judge(run, options, error);
    run->operations += rounds.operations;
    run->timed_operations += rounds.timed_operations;
    if (!failed && (rounds_end(&rounds, &run->judgement, &run->findings) ||
                    judgement_add_round(&run->judgement, &rounds.later)))
        failed = error_no_memory(error);
    rounds_release(&rounds);
    return failed;
}

static int judge_one(struct judged_run *run, const struct chosen_steps *chosen,
                     const struct diagnose_options *options, struct error *error)
{
    if (chosen->count) {
        int failed = job_load_round(&run->job, &run->all, chosen, 0, error);
        job_release(&run->all);
        return failed || judge(run, options, error);
    }
    run->job = run->all;
    run->all = (struct job){.store = NULL};
    return job_load_rest(&run->job, error) || judge(run, options, error);
}

/* Excerpts are changed when they are set in a job, so each job has a copy. NULL when memory is out. */
static struct job_excerpt *copy_excerpts(const struct job *job)
{
    struct job_excerpt *copy = array_new(job->excerpt_count + 1, sizeof *copy);
    if (copy)
        memcpy(copy, job->excerpts, job->excerpt_count * sizeof *copy);
    return copy;
}

/* Lets the findings of a run that was loaded in one round refer to run->all, so that run->job can change. */
static int detach_findings(struct judged_run *run, struct error *error)
{
    struct rounds rounds = {.job = &run->all};
    if (job_load_names(&run->all, run->job.store, run->job.run_id, error))
        return -1;
    run->all.screened = run->job.screened;
    struct job_excerpt *excerpts = copy_excerpts(&run->job);
    int failed = !excerpts || job_set_excerpts(&run->all, excerpts, run->job.excerpt_count) ||
                 rounds_end(&rounds, &run->judgement, &run->findings);
    rounds_release(&rounds);
    return failed ? error_no_memory(error) : 0;
}

/* The index of an operation of run->all in run->job; -1: it is not loaded. */
static int32_t shown_operation(const struct judged_run *run, int32_t operation)
{
    const struct job *job = &run->job;
    if (operation < 0)
        return -1;
    int64_t id = job_operation_id(&run->all, (size_t)operation);
    const struct job_rank *rank = &job->ranks[run->all.operations[operation].rank];
    for (size_t i = rank->first; i < rank->first + rank->count; i++)
        if (job_operation_id(job, i) == id)
            return (int32_t)i;
    return -1;
}

/* The number of a tag of run->all in run->job; -1: no loaded operation has it. */
static int32_t shown_tag(const struct judged_run *run, int32_t tag)
{
    const char *text = job_tag(&run->all, tag);
    for (size_t i = 0; text && i < run->job.tags.count; i++)
        if (!strcmp(job_tag(&run->job, (int32_t)i), text))
            return (int32_t)i;
    return -1;
}

/* Sets the steps of `shown`, a copy, to those of them that run->job has loaded. Returns -1 when memory is
 * out. */
static int show_steps(const struct judged_run *run, struct finding *shown)
{
    const struct finding whole = *shown;
    shown->steps = array_new((size_t)run->job.step_count + 1, sizeof *shown->steps);
    shown->step_count = 0;
    shown->period = 0;
    if (!shown->steps)
        return -1;
    for (int32_t step = 0; whole.first_step >= 0 && step < run->job.step_count; step++)
        if (!job_is_break(&run->job, step) &&
            finding_has_step(&whole, job_loaded_step(&run->all, job_run_step(&run->job, step))))
            shown->steps[shown->step_count++] = step;
    if (whole.first_step < 0)
        return 0;
    shown->first_step = shown->step_count ? shown->steps[0] : run->job.step_count;
    shown->last_step = shown->step_count ? shown->steps[shown->step_count - 1] : run->job.step_count;
    return 0;
}

static void release_shown(struct findings *shown)
{
    for (size_t i = 0; i < shown->count; i++)
        free(shown->items[i].steps);
    free(shown->items);
    *shown = (struct findings){0};
}

/* Fills in run->shown. Returns -1 when memory is out. */
static int show_findings(struct judged_run *run)
{
    release_shown(&run->shown);
    run->shown.items = array_new(run->findings.count + 1, sizeof *run->shown.items);
    if (!run->shown.items)
        return -1;
    for (size_t i = 0; i < run->findings.count; i++) {
        struct finding *shown = &run->shown.items[run->shown.count];
        *shown = run->findings.items[i];
        if (show_steps(run, shown)) {
            shown->steps = NULL;
            return -1;
        }
        run->shown.count++;
        shown->numbers = run->job.step_numbers;
        shown->operation = shown_operation(run, shown->operation);
        shown->called = shown_operation(run, shown->called);
        shown->instance = shown->operation < 0 ? -1 : run->job.operations[shown->operation].instance;
        shown->tag = shown_tag(run, shown->tag);
        shown->phases = NULL;
        shown->phase_count = 0;
    }
    return 0;
}

const struct findings *judged_run_shown(struct judged_run *run, struct error *error)
{
    if (run->judgement.told == &run->job)
        return &run->findings;
    if (!show_findings(run))
        return &run->shown;
    error_no_memory(error);
    return NULL;
}

int judged_run_show(struct judged_run *run, struct job_excerpt *excerpts, size_t count,
                    const struct diagnose_options *options, struct error *error)
{
    struct store *store = run->job.store;
    int64_t run_id = run->job.run_id;
    if (run->judgement.told == &run->job && detach_findings(run, error)) {
        free(excerpts);
        return -1;
    }
    free(run->transfers);
    run->transfers = NULL;
    baseline_release(&run->baseline);
    job_release(&run->job);
    if (!excerpts)
        return error_no_memory(error);
    if (job_load_steps(&run->job, store, run_id, excerpts, count, error))
        return -1;
    run->job.screened = run->all.screened;
    return excess_find(&run->job, &run->baseline, &run->transfers, options, 0, error);
}

int32_t job_first_shown(const struct job *job)
{
    return job->excerpt_count > 1 ? job->excerpts[job->excerpt_count - 1].at : job->first_step;
}

/* Normal steps that are shown before those of a finding. */
enum { STEPS_BEFORE = 2 };

/* The steps of the run to show. */
static void choose_window(const struct judged_run *run, const struct filter *filter, int32_t *first,
                          int32_t *last)
{
    const struct job *told = run->judgement.told;
    *first = *last = told->first_step;
    for (size_t i = run->findings.count; i > 0; i--) {
        const struct finding *finding = &run->findings.items[i - 1];
        if (!finding_is_reported(finding) || finding->first_step < 0)
            continue;
        *first = job_run_step(told, finding->first_step) - STEPS_BEFORE;
        *last = job_run_step(told, finding->last_step);
    }
    if (!filter || (filter->steps.first <= 0 && filter->steps.last == INT64_MAX))
        return;
    *first = (int32_t)(filter->steps.first < INT32_MAX ? filter->steps.first : INT32_MAX);
    *last = (int32_t)(filter->steps.last < INT32_MAX ? filter->steps.last : INT32_MAX);
}

int judged_run_show_window(struct judged_run *run, const struct filter *filter,
                           const struct diagnose_options *options, struct error *error)
{
    struct job names;
    struct job_excerpt *excerpts;
    int32_t first, last;
    size_t count = 0;
    if (!run->job.excerpt_count)
        return 0;
    choose_window(run, filter, &first, &last);
    if (job_load_names(&names, run->job.store, run->job.run_id, error))
        return -1;
    excerpts =
        step_window_find(&names, first, last, options->memory_bytes / JOB_OPERATION_BYTES, &count, error);
    job_release(&names);
    return excerpts ? judged_run_show(run, excerpts, count, options, error) : -1;
}

int judged_run_init(struct judged_run *run, struct store *store, int64_t run_id,
                    const struct diagnose_options *options, struct error *error)
{
    struct chosen_steps chosen;
    *run = (struct judged_run){.transfers = NULL};
    if (job_plan(&chosen, &run->all, store, run_id, options->memory_bytes, error))
        return -1;
    int failed = chosen.count > 1 ? judge_rounds(run, &chosen, options, error)
                                  : judge_one(run, &chosen, options, error);
    chosen_steps_release(&chosen);
    if (failed)
        judged_run_release(run);
    return failed;
}

void judged_run_release(struct judged_run *run)
{
    judgement_release(&run->judgement);
    free(run->transfers);
    baseline_release(&run->baseline);
    release_shown(&run->shown);
    findings_release(&run->findings);
    job_release(&run->job);
    job_release(&run->all);
}

/* Options with the same effect have the same members. */
static int are_alike(const struct diagnose_options *a, const struct diagnose_options *b)
{
    return a->min_gain == b->min_gain && a->sigmas == b->sigmas && a->pieces == b->pieces &&
           a->memory_bytes == b->memory_bytes && memcmp(&a->off, &b->off, sizeof a->off) == 0;
}

static void shared_run_release(struct shared_run *shared)
{
    if (shared->is_loaded)
        judged_run_release(&shared->run);
    shared->is_loaded = 0;
}

int shared_run_load(struct shared_run *shared, struct store *store, int64_t run_id,
                    const struct diagnose_options *options, struct judged_run **run, struct error *error)
{
    *run = shared ? &shared->run : NULL;
    if (!shared || (shared->is_loaded && shared->run.job.store == store && shared->run_id == run_id &&
                    are_alike(&shared->options, options)))
        return 0;
    shared_run_release(shared);
    if (judged_run_init(&shared->run, store, run_id, options, error))
        return -1;
    shared->options = *options;
    shared->run_id = run_id;
    shared->is_loaded = 1;
    return 0;
}

int shared_run_load_whole(struct shared_run *shared, struct store *store, int64_t run_id,
                          const struct diagnose_options *options, struct judged_run **run,
                          struct error *error)
{
    struct job names;
    int is_whole;
    *run = NULL;
    if (!shared)
        return 0;
    if (job_load_names(&names, store, run_id, error))
        return -1;
    int failed = job_is_loaded_whole(&names, options->memory_bytes, &is_whole, error);
    job_release(&names);
    return failed || !is_whole ? failed : shared_run_load(shared, store, run_id, options, run, error);
}

int shared_run_has(const struct shared_run *shared, const struct diagnose_options *options)
{
    return shared->is_loaded && are_alike(&shared->options, options) && !shared->run.job.excerpt_count;
}

struct shared_run *shared_run_new(void)
{
    return calloc(1, sizeof(struct shared_run));
}

void shared_run_free(struct shared_run *shared)
{
    if (shared)
        shared_run_release(shared);
    free(shared);
}
