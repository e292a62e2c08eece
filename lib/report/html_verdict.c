/*
 * First section of a run in the HTML report: the verdict with what to do next, the facts of the run, and the
 * duration of its steps. Also the list of all runs at the top of the report, and where the traces come from.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/html.h"
#include "report/report.h"
#include "report/verdicts.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>
#include <string.h>

/* Most findings that the first section describes, and that the list of all runs names for each run. */
enum { MOST_TOLD = 5, MOST_NAMED = 2, MOST_VERSIONS = 4 };

static const int64_t MINUTE_NS = 60 * 1000000000LL;

static int is_bad(const struct html_run *run)
{
    return html_run_finding_count(run) || longer_steps_alarm(&run->judgement->longer);
}

static int is_doubtful(const struct html_run *run)
{
    const struct scope *scope = &run->judgement->scope;
    return scope->blindness != BLIND_NOT || scope_is_partial(scope) ||
           run->judgement->unexplained_hang.is_known;
}

/* The class of the verdict, which decides its colour. */
static const char *class_of(const struct html_run *run)
{
    return is_bad(run) ? " bad" : is_doubtful(run) ? " doubt" : "";
}

static int put_badge(const struct html_run *run, const char *text)
{
    return html_element(run->page, "span class=\"badge quiet\"", text);
}

/* Names the host and the GPU at fault, if they are known and the headline does not contain them. */
static int put_place(const struct html_run *run, const struct finding *finding, const char *headline)
{
    const struct roster_facts *facts = finding_facts(finding, run->job);
    const char *host = finding_host(finding, run->job);
    struct buffer text = BUFFER_INIT;
    int failed = host && !strstr(headline, host) &&
                 (buffer_printf(&text, "host %s", host) || put_badge(run, text.data));
    buffer_clear(&text);
    if (!failed && facts && !strstr(headline, "GPU ") && (facts->gpu != COUNT_UNKNOWN || facts->gpu_bus_id)) {
        failed = buffer_append_text(&text, "GPU") ||
                 (facts->gpu != COUNT_UNKNOWN && buffer_printf(&text, " %lld", (long long)facts->gpu)) ||
                 (facts->gpu_bus_id && buffer_printf(&text, " %s", facts->gpu_bus_id)) ||
                 put_badge(run, text.data);
    }
    buffer_release(&text);
    return failed ? -1 : 0;
}

int html_put_badges(const struct html_run *run, const struct finding *finding, const char *headline)
{
    struct buffer text = BUFFER_INIT;
    int failed =
        buffer_printf(run->page, "<p><span class=\"badge\">%s</span>\n", finding_kind_name(finding->kind)) ||
        buffer_printf(&text, "%s confidence", confidence_name(finding->confidence)) ||
        put_badge(run, text.data) || put_place(run, finding, headline) ||
        buffer_append_text(run->page, "</p>\n");
    buffer_release(&text);
    return failed ? -1 : 0;
}

static const char NEXT[] = "Next: ", CONFIRM[] = "Confirm with: ";

static int begins(const char *line, const char *name)
{
    return strncmp(line, name, strlen(name)) == 0;
}

/* Puts a line of a finding's text, with the command at its end as code. */
static int put_line(const struct html_run *run, const char *line)
{
    const char *confirm = strstr(line, CONFIRM), *command = confirm ? confirm + strlen(CONFIRM) : NULL;
    int is_next = begins(line, NEXT) || begins(line, CONFIRM);
    size_t length = command ? (size_t)(command - line) : strlen(line);
    return buffer_append_text(run->page, is_next ? "<p class=\"next\">" : "<p>") ||
                   escape_markup(run->page, line, length) ||
                   (command && (buffer_append_text(run->page, "<code>") || html_text(run->page, command) ||
                                buffer_append_text(run->page, "</code>"))) ||
                   buffer_append_text(run->page, "</p>\n")
               ? -1
               : 0;
}

/* The beginning of the words of a line. */
static const char *words_of(const char *line)
{
    while (*line && ((unsigned char)*line <= ' ') && *line != '\n')
        line++;
    return line;
}

int html_put_paragraph(const struct html_run *run, const char *paragraph, const char *const *names)
{
    const char *line = strchr(paragraph, '\n');
    while (line && *++line) {
        const char *words = words_of(line);
        char *text = strndup(words, strcspn(words, "\n"));
        int is_wanted = !names, failed = !text;
        for (size_t i = 0; text && names && names[i]; i++)
            is_wanted |= begins(text, names[i]);
        failed = failed || (is_wanted && *text && put_line(run, text));
        free(text);
        if (failed)
            return -1;
        line = strchr(line, '\n');
    }
    return 0;
}

/* Puts the headline of a finding as a link to its evidence, where it is, what it costs, and what to do. */
static int tell(const struct html_run *run, size_t number)
{
    static const char *const lines[] = {"Action: ", "Cost: ", NEXT, CONFIRM, NULL};
    const struct job_record record = {.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    const struct finding *finding = &run->told->items[number];
    struct buffer headline = BUFFER_INIT, paragraph = BUFFER_INIT;
    int failed = finding_append_headline(finding, run->told_job, &headline) ||
                 finding_add_paragraph(finding, run->told_job, &record, run->names_run, 0, &paragraph) ||
                 buffer_printf(run->page, "<li><p class=\"headline\"><a href=\"#finding-%lld-%zu\">",
                               (long long)run->number, number) ||
                 html_text(run->page, headline.data) || buffer_append_text(run->page, "</a></p>\n") ||
                 html_put_badges(run, finding, headline.data) ||
                 html_put_paragraph(run, paragraph.data, lines) || buffer_append_text(run->page, "</li>\n");
    buffer_release(&headline);
    buffer_release(&paragraph);
    return failed ? -1 : 0;
}

static int tell_findings(const struct html_run *run)
{
    size_t count = html_run_finding_count(run), told = 0;
    if (buffer_printf(run->page, "<p>%zu finding%s</p>\n<ol>\n", count, count == 1 ? "" : "s"))
        return -1;
    for (size_t i = 0; i < run->findings->count && told < MOST_TOLD; i++)
        if (finding_is_reported(&run->findings->items[i])) {
            told++;
            if (tell(run, i))
                return -1;
        }
    if (buffer_append_text(run->page, "</ol>\n"))
        return -1;
    return count > told && buffer_printf(run->page, "<p><a href=\"#run-%lld-findings\">%zu more</a></p>\n",
                                         (long long)run->number, count - told);
}

/* Puts a line per finding with what to do; without findings, the verdict of diagnose. */
static int put_verdict(const struct html_run *run)
{
    struct buffer text = BUFFER_INIT;
    int failed = buffer_printf(run->page, "<div class=\"verdict%s\">\n", class_of(run));
    if (!failed && html_run_finding_count(run))
        failed = tell_findings(run);
    else
        failed = failed || headline_append_verdict(run->judgement, 0, &text) ||
                 (text.data && html_lines(run->page, "p", text.data));
    buffer_release(&text);
    return failed || buffer_append_text(run->page, "</div>\n") ? -1 : 0;
}

static int put_fact(const struct html_run *run, const char *name, struct buffer *value)
{
    int failed = 0;
    if (value->length)
        failed = buffer_append_text(run->page, "<div>") || html_element(run->page, "dt", name) ||
                 html_put(run->page, "dd", value) || buffer_append_text(run->page, "</div>\n");
    return failed;
}

static int append_ranks(const struct html_run *run, struct buffer *text)
{
    const struct scope *scope = &run->judgement->scope;
    return scope->ranks > scope->recorded_ranks
               ? buffer_printf(text, "%lld of %lld", (long long)scope->recorded_ranks,
                               (long long)scope->ranks)
               : buffer_printf(text, "%lld", (long long)scope->recorded_ranks);
}

/* "38.9 ms (20 %)". */
static int append_part(int64_t part_ns, int64_t whole_ns, struct buffer *text)
{
    if (whole_ns <= 0 || part_ns == TIME_UNKNOWN)
        return 0;
    if (part_ns <= 0)
        return buffer_append_text(text, "none");
    return text_time(text, part_ns) ||
           buffer_printf(text, " (%.2g %%)", 100 * (double)part_ns / (double)whole_ns);
}

static int append_share(int64_t part_ns, int64_t whole_ns, struct buffer *text)
{
    return part_ns == TIME_UNKNOWN || whole_ns <= 0
               ? 0
               : buffer_printf(text, "%.3g %%", 100 * (double)part_ns / (double)whole_ns);
}

/* Adds the time lost before a job stopped, and that it stopped. */
static int put_loss(const struct html_run *run, struct buffer *text)
{
    const struct judgement *judgement = run->judgement;
    int has_stopped = judgement->stopped_step >= 0;
    return (has_stopped &&
            buffer_printf(text, "in step %d", (int)job_run_step(run->told_job, judgement->stopped_step))) ||
                   put_fact(run, "Stopped", text) ||
                   append_part(judgement->longer.lost_ns, judgement->longer.whole_ns, text) ||
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
    int failed = buffer_append_text(run->page, "<dl class=\"facts\">\n") || append_ranks(run, &text) ||
                 put_fact(run, "Ranks", &text) ||
                 (judgement->hosts && buffer_printf(&text, "%zu", judgement->hosts)) ||
                 put_fact(run, "Hosts", &text) ||
                 buffer_printf(&text, "%d", (int)(job_run_steps(run->job) - run->job->first_step)) ||
                 put_fact(run, "Steps", &text) ||
                 (shares->usual_step_ns != TIME_UNKNOWN && text_time(&text, shares->usual_step_ns)) ||
                 put_fact(run, "Baseline step", &text) || put_loss(run, &text) ||
                 append_share(shares->communication_ns, shares->steps_ns, &text) ||
                 put_fact(run, "Communication", &text) ||
                 append_share(shares->waiting_ns, shares->steps_ns, &text) ||
                 put_fact(run, "Waiting", &text) ||
                 append_share(scope->judged, scope->operations - scope->warm_up, &text) ||
                 put_fact(run, "Coverage", &text) || buffer_append_text(run->page, "</dl>\n");
    buffer_release(&text);
    return failed ? -1 : 0;
}

/* Draws the step times, without warm-up; steps with findings are highlighted. */
static int put_lengths(const struct html_run *run)
{
    const struct baseline *baseline = run->baseline;
    int32_t first = html_run_first_step(run);
    first = first > baseline->first_step ? first : baseline->first_step;
    int32_t steps = baseline->step_count - first;
    int64_t *usual = steps > 0 ? malloc(((size_t)steps + 1) * sizeof *usual) : NULL;
    unsigned char *marked = steps > 0 ? calloc((size_t)steps + 1, 1) : NULL;
    int failed = steps > 0 && (!usual || !marked);
    for (int32_t i = 0; !failed && i < steps; i++) {
        usual[i] = run->judgement->shares.usual_step_ns;
        for (size_t j = 0; j < run->findings->count; j++)
            marked[i] |= finding_is_reported(&run->findings->items[j]) &&
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
                                   .first_step = html_run_step(run, first),
                                   .steps = (size_t)steps};
        failed = html_add_chart(run->page, &chart);
    }
    free(usual);
    free(marked);
    return failed ? -1 : 0;
}

/* The number of GPUs; 0: not known of every rank with records. */
static int count_gpus(const struct job *job, size_t *count)
{
    struct intern gpus;
    struct buffer name = BUFFER_INIT;
    int is_known = 1, failed = 0;
    intern_init(&gpus);
    for (size_t i = 0; !failed && i < job->rank_count; i++) {
        const struct roster_facts *facts = &job->ranks[i].facts;
        int has_number = facts->host && (facts->gpu_bus_id || facts->gpu != COUNT_UNKNOWN);
        is_known &= facts->gpu_serial || has_number || !job->ranks[i].count;
        buffer_clear(&name);
        if (facts->gpu_serial)
            failed = buffer_append_text(&name, facts->gpu_serial);
        else if (has_number)
            failed = buffer_printf(&name, "%s ", facts->host) ||
                     (facts->gpu_bus_id ? buffer_append_text(&name, facts->gpu_bus_id)
                                        : buffer_printf(&name, "%lld", (long long)facts->gpu));
        failed = failed || (name.length && intern_put(&gpus, name.data, name.length) < 0);
    }
    *count = is_known ? gpus.count : 0;
    intern_release(&gpus);
    buffer_release(&name);
    return failed ? -1 : 0;
}

static int append_versions(const struct html_run *run, struct buffer *text, struct error *error)
{
    struct statement *row =
        store_prepare_for(run->store, schema_analysis_about_versions, run->job->run_id, error);
    int more = row ? 1 : -1;
    for (size_t i = 0; i < MOST_VERSIONS && more == 1 && (more = statement_step(row, error)) == 1; i++) {
        const char *version = statement_text(row, 0), *equal = strchr(version, '=');
        /* "NCCL version=2.28.9" */
        int length = (int)strcspn(version, "=") - (int)strlen(" version");
        if (equal && length > 0 && buffer_printf(text, "%.*s %s. ", length, version, equal + 1))
            more = error_no_memory(error);
    }
    statement_free(row);
    return more < 0 ? -1 : 0;
}

/* Appends "2026-11-25 10:12 UTC". */
static int append_minute(int64_t time_ns, struct buffer *text)
{
    struct buffer utc = BUFFER_INIT;
    int failed = text_utc(&utc, time_ns) ||
                 buffer_printf(text, "%.10s %.5s UTC", utc.data, utc.data + strlen("2026-11-25T"));
    buffer_release(&utc);
    return failed ? -1 : 0;
}

/* Appends when the run began; where that is not known, when its files were written. */
static int append_date(const struct html_run *run, int64_t first_ns, int64_t last_ns, struct buffer *text,
                       struct error *error)
{
    const struct job *job = run->job;
    struct job_record record = {.at_ns = TIME_UNKNOWN, .wall_ns = TIME_UNKNOWN};
    size_t rank = 0;
    while (rank < job->rank_count && !job->ranks[rank].count)
        rank++;
    if (rank < job->rank_count && job_find_record(job, job->ranks[rank].first, &record, error)) {
        job_record_release(&record);
        return -1;
    }
    int failed = 0;
    if (record.wall_ns != TIME_UNKNOWN)
        failed = buffer_append_text(text, "Recorded ") || append_minute(record.wall_ns, text);
    else if (first_ns > 0)
        failed = buffer_append_text(text, "Files written ") || append_minute(first_ns, text) ||
                 (last_ns / MINUTE_NS != first_ns / MINUTE_NS &&
                  (buffer_append_text(text, " to ") || append_minute(last_ns, text)));
    failed = failed || ((record.wall_ns != TIME_UNKNOWN || first_ns > 0) && buffer_append_text(text, ". "));
    job_record_release(&record);
    return failed ? error_no_memory(error) : 0;
}

static int append_recorders(const struct html_run *run, struct buffer *text, struct error *error)
{
    struct statement *row =
        store_prepare_for(run->store, schema_analysis_about_recorders, run->job->run_id, error);
    int found = row ? statement_step(row, error) : -1;
    const char *dialects = found == 1 ? statement_text(row, 0) : NULL;
    int failed = found < 0;
    if (found == 1)
        failed =
            append_date(run, statement_integer_or(row, 1, 0), statement_integer_or(row, 2, 0), text, error);
    if (!failed && dialects && buffer_printf(text, "Recorder: %s. ", dialects))
        failed = error_no_memory(error);
    statement_free(row);
    return failed ? -1 : 0;
}

static int append_about(const struct html_run *run, struct buffer *text, struct error *error)
{
    size_t gpus;
    if (count_gpus(run->job, &gpus))
        return error_no_memory(error);
    if (append_recorders(run, text, error) || append_versions(run, text, error))
        return -1;
    return gpus && buffer_printf(text, "%zu GPU%s. ", gpus, gpus == 1 ? "" : "s") ? error_no_memory(error)
                                                                                  : 0;
}

/* Names the first findings of a run in the list of all runs. */
static int name_findings(const struct html_run *run, struct buffer *list)
{
    struct buffer text = BUFFER_INIT;
    size_t count = html_run_finding_count(run), named = 0;
    int failed = 0;
    for (size_t i = 0; !failed && i < run->findings->count && named < MOST_NAMED; i++) {
        const struct finding *finding = &run->told->items[i];
        if (!finding_is_reported(finding))
            continue;
        named++;
        failed = buffer_printf(&text, "%s, %s confidence: ", finding_kind_name(finding->kind),
                               confidence_name(finding->confidence)) ||
                 finding_append(finding, run->told_job, &text) || html_put(list, "p", &text);
    }
    buffer_release(&text);
    return failed || (count > named && buffer_printf(list, "<p>and %zu more</p>\n", count - named)) ? -1 : 0;
}

/* Appends "Run 2 (traces-b): 1 finding". */
static int append_outcome(const struct html_run *run, struct buffer *text)
{
    size_t told = html_run_finding_count(run);
    if (html_run_append_name(run, text))
        return -1;
    if (told)
        return buffer_printf(text, "%zu finding%s", told, told == 1 ? "" : "s");
    if (run->judgement->unexplained_hang.is_known)
        return buffer_append_text(text, "cannot be determined");
    return buffer_append_text(text, run->judgement->scope.blindness == BLIND_NOT ? "no problem found"
                                                                                 : "not enough data");
}

/* Begins the list of all runs, and links to it. */
static int begin_list(const struct html_run *run)
{
    return buffer_append_text(&run->whole->contents, "<li><a href=\"#runs\">All runs</a></li>\n") ||
           buffer_append_text(run->list,
                              "<section id=\"runs\" aria-labelledby=\"runs-title\">\n"
                              "<h2 id=\"runs-title\">All runs</h2>\n");
}

/* Adds the run to the list of all runs at the top of the report. */
static int add_to_list(const struct html_run *run, const char *about)
{
    struct buffer text = BUFFER_INIT;
    int failed = (!run->list->length && begin_list(run)) ||
                 buffer_printf(run->list, "<div class=\"verdict run%s\"><p><a href=\"#run-%lld-summary\">",
                               class_of(run), (long long)run->number) ||
                 append_outcome(run, &text) || html_text(run->list, text.data) ||
                 buffer_append_text(run->list, "</a></p>\n") || name_findings(run, run->list) ||
                 html_element(run->list, "p class=\"note\"", about) ||
                 buffer_append_text(run->list, "</div>\n");
    buffer_release(&text);
    return failed ? -1 : 0;
}

static int put_summary(const struct html_run *run, const char *about)
{
    struct buffer job = BUFFER_INIT;
    int failed = (run->list && add_to_list(run, about)) || html_run_section(run, "summary", "Summary") ||
                 (run->names_run && html_element(run->page, "p class=\"note\"", about)) || put_verdict(run) ||
                 put_facts(run) || headline_append_job(run->judgement, 0, &job) ||
                 buffer_append_text(run->page, "<div class=\"beside\">\n<div>") || put_lengths(run) ||
                 buffer_append_text(run->page, "</div>\n<div class=\"words note\">\n") ||
                 (job.data && html_lines(run->page, "p", job.data)) ||
                 buffer_append_text(run->page, "</div>\n</div>\n") || html_section_end(run->whole);
    buffer_release(&job);
    return failed ? -1 : 0;
}

int html_add_verdict(const struct html_run *run, struct error *error)
{
    struct buffer about = BUFFER_INIT;
    int failed = append_about(run, &about, error);
    if (!failed && put_summary(run, about.data ? about.data : ""))
        failed = error_no_memory(error);
    if (!failed && !run->names_run) {
        buffer_clear(&run->whole->lead);
        failed = buffer_append(&run->whole->lead, about.data, about.length) ? error_no_memory(error) : 0;
    }
    buffer_release(&about);
    return failed;
}
