#include "analyse/html_findings.h"

#include "analyse/headline.h"
#include "analyse/html_evidence.h"
#include "html/chart.h"
#include "html/page.h"
#include "html/text.h"
#include "job/record.h"
#include "verdict/finding_names.h"
#include "verdict/finding_text.h"
#include "verdict/longer_steps.h"
#include "verdict/words.h"

#include <stdlib.h>
#include <string.h>

static int is_bad(const struct html_run *run)
{
    return html_run_told(run) || longer_steps_alarm(&run->judgement->longer);
}

static int is_doubtful(const struct html_run *run)
{
    const struct scope *scope = &run->judgement->scope;
    return scope->blindness != BLIND_NOT || scope_is_partial(scope) || run->judgement->standstill.is_known;
}

/* A line for each finding; without any, what diagnose says. */
static int say_verdict(const struct html_run *run, struct buffer *text)
{
    size_t told = html_run_told(run);
    if (!told)
        return headline_say_verdict(run->judgement, 0, text);
    if (buffer_printf(text, "%zu finding%s\n", told, told == 1 ? "" : "s"))
        return -1;
    for (size_t i = 0; i < run->findings->count; i++) {
        const struct finding *finding = &run->findings->items[i];
        if (finding_is_told(finding) &&
            (buffer_printf(text, "%s: ", finding_kind_name(finding->kind)) ||
             finding_say(finding, run->job, text) || buffer_append_text(text, ".\n")))
            return -1;
    }
    return 0;
}

static int put_fact(const struct html_run *run, const char *name, struct buffer *value)
{
    int failed = 0;
    if (value->length)
        failed = buffer_append_text(run->page, "<div>") || html_element(run->page, "dt", name) ||
                 html_put(run->page, "dd", value) || buffer_append_text(run->page, "</div>\n");
    return failed;
}

static int say_ranks(const struct html_run *run, struct buffer *text)
{
    const struct scope *scope = &run->judgement->scope;
    return scope->ranks > scope->recorded_ranks
               ? buffer_printf(text, "%lld of %lld", (long long)scope->recorded_ranks,
                               (long long)scope->ranks)
               : buffer_printf(text, "%lld", (long long)scope->recorded_ranks);
}

/* "38.9 ms (20 %)". */
static int say_part(int64_t part_ns, int64_t whole_ns, struct buffer *text)
{
    if (whole_ns <= 0 || part_ns == TIME_UNKNOWN)
        return 0;
    if (part_ns <= 0)
        return buffer_append_text(text, "none");
    return text_time(text, part_ns) ||
           buffer_printf(text, " (%.2g %%)", 100 * (double)part_ns / (double)whole_ns);
}

static int say_share(int64_t part_ns, int64_t whole_ns, struct buffer *text)
{
    return part_ns == TIME_UNKNOWN || whole_ns <= 0
               ? 0
               : buffer_printf(text, "%.3g %%", 100 * (double)part_ns / (double)whole_ns);
}

/* What was lost, of a job that stopped until then; and that it did. */
static int put_loss(const struct html_run *run, struct buffer *text)
{
    const struct judgement *judgement = run->judgement;
    int has_stopped = judgement->stopped_step >= 0;
    return (has_stopped && buffer_printf(text, "in step %d", (int)judgement->stopped_step)) ||
                   put_fact(run, "Stopped", text) ||
                   say_part(judgement->longer.lost_ns, judgement->longer.whole_ns, text) ||
                   put_fact(run, has_stopped ? "Time lost before that" : "Time lost", text)
               ? -1
               : 0;
}

static int put_facts(const struct html_run *run)
{
    const struct judgement *judgement = run->judgement;
    const struct scope *scope = &judgement->scope;
    const struct time_shares *shares = &judgement->shares;
    struct buffer text = BUFFER_INIT;
    int failed = buffer_append_text(run->page, "<dl class=\"facts\">\n") || say_ranks(run, &text) ||
                 put_fact(run, "Ranks", &text) ||
                 (judgement->hosts && buffer_printf(&text, "%zu", judgement->hosts)) ||
                 put_fact(run, "Hosts", &text) ||
                 buffer_printf(&text, "%d", (int)(run->job->step_count - run->job->first_step)) ||
                 put_fact(run, "Steps", &text) ||
                 (shares->usual_step_ns != TIME_UNKNOWN && text_time(&text, shares->usual_step_ns)) ||
                 put_fact(run, "Baseline step", &text) || put_loss(run, &text) ||
                 say_share(shares->communication_ns, shares->steps_ns, &text) ||
                 put_fact(run, "Communication", &text) ||
                 say_share(shares->waiting_ns, shares->steps_ns, &text) || put_fact(run, "Waiting", &text) ||
                 say_share(scope->judged, scope->operations - scope->warm_up, &text) ||
                 put_fact(run, "Coverage", &text) || buffer_append_text(run->page, "</dl>\n");
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* How long steps were, but for the warm-up; those of findings stand out. */
static int put_lengths(const struct html_run *run)
{
    const struct baseline *baseline = run->baseline;
    int32_t first = baseline->first_step, steps = baseline->step_count - first;
    int64_t *usual = steps > 0 ? malloc(((size_t)steps + 1) * sizeof *usual) : NULL;
    unsigned char *marked = steps > 0 ? calloc((size_t)steps + 1, 1) : NULL;
    int failed = steps > 0 && (!usual || !marked);
    for (int32_t i = 0; !failed && i < steps; i++) {
        usual[i] = run->judgement->shares.usual_step_ns;
        for (size_t j = 0; j < run->findings->count; j++)
            marked[i] |= finding_is_told(&run->findings->items[j]) &&
                         finding_has_step(&run->findings->items[j], first + i);
    }
    if (!failed && steps > 0 && baseline->step_ns) {
        struct html_chart chart = {.title = "Duration of each step, median over ranks",
                                   .mine_name = "a step",
                                   .peers_name = "baseline",
                                   .mine_ns = baseline->step_ns + first,
                                   .peers_ns = usual,
                                   .marked = marked,
                                   .marked_name = "a step of a finding",
                                   .first_step = first,
                                   .steps = (size_t)steps};
        failed = html_add_chart(run->page, &chart);
    }
    free(usual);
    free(marked);
    return failed ? -1 : 0;
}

int html_add_verdict(const struct html_run *run, struct error *error)
{
    struct buffer verdict = BUFFER_INIT, job = BUFFER_INIT;
    const char *class = is_bad(run) ? " bad" : is_doubtful(run) ? " doubt" : "";
    int failed = html_run_section(run, "summary", "Summary") || say_verdict(run, &verdict) ||
                 buffer_printf(run->page, "<div class=\"verdict%s\">\n", class) ||
                 (verdict.data && html_lines(run->page, "p", verdict.data)) ||
                 buffer_append_text(run->page, "</div>\n") || put_facts(run) ||
                 headline_say_job(run->judgement, 0, &job) ||
                 buffer_append_text(run->page, "<div class=\"words note\">\n") ||
                 (job.data && html_lines(run->page, "p", job.data)) ||
                 buffer_append_text(run->page, "</div>\n") || put_lengths(run) ||
                 html_section_end(run->whole);
    buffer_release(&verdict);
    buffer_release(&job);
    return failed ? error_no_memory(error) : 0;
}

/* The lines below a finding's headline, the last of which says what to do next. */
static int put_lines(const struct html_run *run, const char *paragraph)
{
    static const char next[] = "    Next: ";
    const char *line = strchr(paragraph, '\n');
    while (line && *++line) {
        size_t length = strcspn(line, "\n");
        char *text = strndup(line, length);
        int failed =
            !text ||
            html_lines(run->page, strncmp(line, next, sizeof next - 1) ? "p" : "p class=\"next\"", text);
        free(text);
        if (failed)
            return -1;
        line = strchr(line, '\n');
    }
    return 0;
}

static int put_badges(const struct html_run *run, const struct finding *finding)
{
    return buffer_printf(
        run->page, "<p><span class=\"badge\">%s</span><span class=\"badge quiet\">%s confidence</span></p>\n",
        finding_kind_name(finding->kind), confidence_name(finding->confidence));
}

static int put_finding(const struct html_run *run, const struct finding *finding,
                       const struct job_record *record)
{
    struct buffer headline = BUFFER_INIT, paragraph = BUFFER_INIT;
    int is_told = finding_is_told(finding);
    int failed = finding_say_headline(finding, run->job, &headline) ||
                 finding_add_paragraph(finding, run->job, record, run->names_run, 0, &paragraph) ||
                 buffer_printf(run->page, "<article class=\"finding%s\">\n", is_told ? "" : " low") ||
                 html_put(run->page, "h3", &headline) || put_badges(run, finding) ||
                 put_lines(run, paragraph.data) || (is_told && html_add_evidence(run, finding)) ||
                 buffer_append_text(run->page, "</article>\n");
    buffer_release(&headline);
    buffer_release(&paragraph);
    return failed ? -1 : 0;
}

static int add_finding(const struct html_run *run, const struct finding *finding, struct error *error)
{
    struct job_record record = {.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    int failed =
        finding->operation >= 0 && job_find_record(run->job, (size_t)finding->operation, &record, error);
    if (!failed && put_finding(run, finding, &record))
        failed = error_no_memory(error);
    job_record_release(&record);
    return failed ? -1 : 0;
}

/* Those that are told, or the others. */
static int add_those(const struct html_run *run, int are_told, struct error *error)
{
    for (size_t i = 0; i < run->findings->count; i++)
        if ((finding_is_told(&run->findings->items[i]) != 0) == are_told &&
            add_finding(run, &run->findings->items[i], error))
            return -1;
    return 0;
}

int html_add_findings(const struct html_run *run, struct error *error)
{
    size_t told = html_run_told(run), low = run->findings->count - told;
    if (!run->findings->count)
        return 0;
    if (html_run_section(run, "findings", "Findings") ||
        (!told && html_element(run->page, "p", "No finding of medium or high confidence.")))
        return error_no_memory(error);
    if (add_those(run, 1, error))
        return -1;
    if (low && buffer_printf(run->page, "<details><summary>%zu of low confidence</summary>\n", low))
        return error_no_memory(error);
    if (low && add_those(run, 0, error))
        return -1;
    return (low && buffer_append_text(run->page, "</details>\n")) || html_section_end(run->whole)
               ? error_no_memory(error)
               : 0;
}
