#include "compare/measure.h"

#include "compare/measure_network.h"
#include "compare/measure_ranks.h"
#include "compare/network_parts.h"
#include "compare/shape.h"
#include "steps/phase_times.h"
#include "steps/step_summary.h"
#include "verdict/finding_names.h"
#include "verdict/finding_text.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double us_of(int64_t ns)
{
    return ns == TIME_UNKNOWN ? (double)NAN : (double)ns / 1e3;
}

static double share_of(int64_t part_ns, int64_t whole_ns)
{
    return part_ns == TIME_UNKNOWN || whole_ns <= 0 ? (double)NAN : 100 * (double)part_ns / (double)whole_ns;
}

/* Of a figure of steps, in its units. */
static double network_of(const struct step_series *steps, enum series_kind kind,
                         const struct network_parts *parts)
{
    double sum = 0;
    for (size_t i = 0; i < steps->count; i++)
        sum += steps->values[i];
    return kind == SERIES_STEP ? parts->all_us
           : sum > 0           ? 100 * parts->all_us * (double)steps->count / sum
                               : 0;
}

static int add_steps(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                     const struct usual *usual, const struct network_parts *parts)
{
    struct step_summary *summaries = step_summaries_new(job, baseline);
    int failed = !summaries;
    for (enum series_kind kind = SERIES_STEP; !failed && kind <= SERIES_WAITING; kind++) {
        struct step_series *series = measured_add(run, kind, "", usual->count);
        failed = !series;
        for (size_t i = 0; !failed && i < usual->count; i++) {
            const struct step_summary *of = &summaries[usual->steps[i]];
            series_add(series, kind == SERIES_STEP
                                   ? us_of(of->duration_ns)
                                   : share_of(kind == SERIES_WAITING ? of->waiting_ns : of->communication_ns,
                                              of->duration_ns));
        }
        if (!failed)
            series->network = network_of(&run->items[0], kind, parts);
    }
    free(summaries);
    return failed ? -1 : 0;
}

/* Phases that have no name are what is left, and no phase. */
static int add_phases(struct measured_run *run, const struct job *job, const struct usual *usual,
                      const struct network_parts *parts)
{
    struct phase_times times;
    struct step_series *series = NULL;
    int failed = phase_times_init(&times, job);
    for (size_t i = 0; !failed && i < times.count; i++) {
        const struct phase_time *time = &times.items[i];
        const char *tag = job_tag(job, time->tag);
        if (!tag || time->step >= job->step_count || usual->places[time->step] < 0)
            continue;
        if (!series || strcmp(series->key, tag) != 0) {
            series = measured_add(run, SERIES_PHASE, tag, usual->count);
            failed = !series;
            if (!failed)
                series->tag = series->key;
            if (!failed)
                series->network = parts->by_tag[time->tag];
        }
        if (!failed)
            series_add(series, us_of(time->time_ns));
    }
    phase_times_release(&times);
    return failed ? -1 : 0;
}

static int describe_finding(struct measured_run *run, const struct job *job, const struct finding *finding,
                            struct measured_finding *of)
{
    struct buffer key = BUFFER_INIT, text = BUFFER_INIT;
    const char *tag = job_tag(job, finding->tag);
    int failed = buffer_printf(&key, "%s, ", finding_kind_name(finding->kind)) ||
                 finding_name_unit(finding, job, &key) || finding_say(finding, job, &text) ||
                 !(of->key = measured_keep(run, key.data)) || (tag && !(of->tag = measured_keep(run, tag))) ||
                 !(of->text = buffer_detach(&text));
    buffer_release(&key);
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int add_findings(struct measured_run *run, const struct job *job, const struct findings *findings)
{
    double steps = run->steps > 0 ? run->steps : 1;
    run->findings = array_new(findings->count + 1, sizeof *run->findings);
    if (!run->findings)
        return -1;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        struct measured_finding *of = &run->findings[run->finding_count];
        *of = (struct measured_finding){.rank = job->ranks[finding->rank].global_rank,
                                        .lost_us = us_of(finding->lost_ns) / steps,
                                        .is_told = finding_is_told(finding),
                                        .stops_job = finding->stops_job};
        if (describe_finding(run, job, finding, of))
            return -1;
        run->finding_count++;
    }
    return 0;
}

static int name_run(struct measured_run *run, const struct job *job)
{
    run->run_id = job->run_id;
    run->run_name = strdup(job->run_name ? job->run_name : "");
    return run->run_name ? 0 : -1;
}

static int measure_all(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                       const struct findings *findings, const struct usual *usual)
{
    struct network_parts parts;
    run->steps = usual->after_warm_up;
    run->usual = (int32_t)usual->count;
    run->are_called = baseline->steps_are_called;
    int failed = network_parts_init(&parts, job, usual) || name_run(run, job) ||
                 add_findings(run, job, findings) || add_steps(run, job, baseline, usual, &parts) ||
                 add_phases(run, job, usual, &parts) || measure_transfers(run, job, usual, parts.is_over) ||
                 measure_edges(run, job, usual) || measure_ranks(run, job, baseline, usual, &parts) ||
                 shape_measure(run, job, usual);
    network_parts_release(&parts);
    measured_sort(run);
    return failed ? -1 : 0;
}

int run_measure(struct measured_run *run, const struct job *job, const struct baseline *baseline,
                const struct findings *findings, struct error *error)
{
    struct usual usual;
    int failed =
        usual_find(&usual, job, baseline, findings) || measure_all(run, job, baseline, findings, &usual);
    usual_release(&usual);
    return failed ? error_no_memory(error) : 0;
}
