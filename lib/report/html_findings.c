/* Sections of the HTML report: the verdict of a run, and its findings with their evidence as charts. */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/html.h"
#include "report/report.h"
#include "report/steps.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

/* Most ranks in a table of operation counts. */
enum { MOST_COUNTED = 64 };

/* The ranks at fault. */
static const int32_t *accused(const struct finding *finding, size_t *count)
{
    *count = finding->rank_count ? finding->rank_count : 1;
    return finding->rank_count ? finding->ranks : &finding->rank;
}

/* The figure "call" of a finding, from 1: which operation of the step its evidence is about; 0: not known. */
static int32_t call_of(const struct finding *finding)
{
    for (size_t i = 0; i < finding->figures.count; i++)
        if (strcmp(finding->figures.items[i].name, "call") == 0)
            return (int32_t)finding->figures.items[i].value;
    return 0;
}

/* The position in the rank's role that the finding is about; -1: none. */
static int32_t position_of(const struct html_run *run, const struct finding *finding)
{
    const struct baseline *baseline = run->baseline;
    int32_t role = finding->operation < 0 ? -1 : baseline->role_of_rank[finding->rank];
    int32_t at = role < 0 ? -1 : baseline->positions[finding->operation];
    if (at < 0 || baseline->role_of_rank[run->job->operations[finding->operation].rank] != role)
        return -1;
    int32_t call = finding->kind == FINDING_NETWORK ? 0 : call_of(finding);
    return call ? role_sequence(&baseline->roles[role], at).begin + call - 1 : at;
}

/* An operation at that position; NULL: none. */
static const struct job_operation *operation_at(const struct html_run *run, const struct finding *finding,
                                                int32_t position)
{
    struct job_range range = {run->job->ranks[finding->rank].first, 0};
    range.end = range.first + run->job->ranks[finding->rank].count;
    for (size_t i = range.first; i < range.end; i++)
        if (run->baseline->positions[i] == position)
            return &run->job->operations[i];
    return NULL;
}

static int append_title(const struct html_run *run, const struct finding *finding, int32_t position,
                        const char *what, struct buffer *title)
{
    const struct job_operation *operation = operation_at(run, finding, position);
    const struct role *role = &run->baseline->roles[run->baseline->role_of_rank[finding->rank]];
    int32_t number = position_in_step(role, position) + 1;
    const char *function = operation ? function_name(operation->function) : NULL;
    return buffer_append_text(title, what) ||
                   text_place(title, number, "each step", function,
                              operation ? &run->job->communicators[operation->communicator] : NULL)
               ? -1
               : 0;
}

static int draw(const struct html_run *run, const struct finding *finding, const struct step_history *history,
                const char *title)
{
    struct buffer names = BUFFER_INIT, marked = BUFFER_INIT;
    unsigned char *steps = array_new((size_t)history->steps + 1, 1);
    int failed = !steps || finding_name_unit(finding, run->job, &names) ||
                 buffer_printf(&marked, "%s in steps of the finding", names.data);
    for (int32_t i = 0; !failed && i < history->steps; i++)
        steps[i] = finding_has_step(finding, history->first_step + i) != 0;
    struct html_chart chart = {.title = title,
                               .mine_name = names.data,
                               .peers_name = "its peers: median, and range of the middle 80 %",
                               .mine_ns = history->mine_ns,
                               .peers_ns = history->peers_ns,
                               .low_ns = history->low_ns,
                               .high_ns = history->high_ns,
                               .marked = steps,
                               .marked_name = marked.data,
                               .first_step = history->first_step,
                               .steps = (size_t)history->steps};
    failed = failed || html_add_chart(run->page, &chart);
    buffer_release(&names);
    buffer_release(&marked);
    free(steps);
    return failed ? -1 : 0;
}

/* Draws the waits of network steps, if any were recorded. */
static int draw_waits(const struct html_run *run, const struct finding *finding, int *is_drawn)
{
    struct step_history history;
    size_t count;
    const int32_t *ranks = accused(finding, &count);
    int failed = wait_history_init(&history, run->job, ranks, count, finding->receives);
    *is_drawn = !failed && step_history_known(&history) > 0;
    if (*is_drawn)
        failed = draw(run, finding, &history,
                      finding->receives
                          ? "Wait of a network step of data sent to it (SendWait), mean per step"
                          : "Wait of a network step of data that it sends (SendWait), mean per step");
    step_history_release(&history);
    return failed;
}

static int draw_place(const struct html_run *run, const struct finding *finding)
{
    struct buffer title = BUFFER_INIT;
    struct step_history history;
    int is_network = finding->kind == FINDING_NETWORK;
    int32_t position = position_of(run, finding);
    size_t count;
    const int32_t *ranks = accused(finding, &count);
    if (position < 0)
        return 0;
    int failed =
        place_history_init(&history, run->job, run->baseline, ranks, count, position,
                           is_network ? PLACE_TRANSFER : PLACE_GAP) ||
        append_title(run, finding, position, is_network ? "Transfer time of " : "Gap before ", &title) ||
        draw(run, finding, &history, title.data);
    step_history_release(&history);
    buffer_release(&title);
    return failed ? -1 : 0;
}

static const struct column columns_of_counts[] = {
    {.name = "rank", .type = CELL_TEXT, .description = "name of the rank"},
    {.name = "started", .type = CELL_INTEGER, .description = "operations that it started in the step"},
    {.name = "finished", .type = CELL_INTEGER, .description = "those of them that finished"},
    {.name = "last", .type = CELL_TEXT, .description = "the last operation that it started"},
};

static int append_last(const struct html_run *run, size_t last, struct buffer *text)
{
    const struct job_operation *operation = &run->job->operations[last];
    if (operation->instance < 0)
        return buffer_append_text(
            text, function_name(operation->function) ? function_name(operation->function) : "operation");
    return text_operation(text, run->job, &run->job->instances[operation->instance], operation->function) ||
           (operation->unfinished && buffer_append_text(text, ", never finished"));
}

static int count_rank(const struct html_run *run, int32_t rank, int32_t step, struct table *table,
                      struct error *error)
{
    struct job_range range = job_operations_in(run->job, rank, step, step);
    struct buffer text = BUFFER_INIT;
    int64_t begun = 0, ended = 0;
    int failed = 0;
    size_t last = 0;
    for (size_t i = range.first; i < range.end; i++) {
        if (run->job->operations[i].step != step)
            continue;
        begun++;
        ended += !run->job->operations[i].unfinished;
        last = i;
    }
    if (table_add_row(table, error))
        return -1;
    table_set_integer(table, 1, begun);
    table_set_integer(table, 2, ended);
    if (begun)
        failed = append_last(run, last, &text) || table_set_text(table, 3, text.data, error);
    buffer_release(&text);
    return failed || table_set_text(table, 0, run->job->ranks[rank].name, error) ? -1 : 0;
}

/* Adds the ranks at fault first, then others, up to the limit. */
static int count_ranks(const struct html_run *run, const struct finding *finding, struct table *table,
                       struct error *error)
{
    for (int at_fault = 1; at_fault >= 0; at_fault--)
        for (size_t rank = 0; rank < run->job->rank_count && table->row_count < MOST_COUNTED; rank++)
            if ((finding_has_rank(finding, (int32_t)rank) != 0) == at_fault &&
                count_rank(run, (int32_t)rank, finding->first_step, table, error))
                return -1;
    return 0;
}

/* Adds how far each rank came in the step in which the job stopped. */
static int add_counts(const struct html_run *run, const struct finding *finding)
{
    struct buffer caption = BUFFER_INIT;
    struct table table;
    struct error error = ERROR_INIT;
    table_init(&table, "html");
    int failed = table_add_columns(&table, columns_of_counts,
                                   sizeof columns_of_counts / sizeof *columns_of_counts, &error) ||
                 count_ranks(run, finding, &table, &error) ||
                 buffer_printf(&caption, "Progress of each rank in step %d", (int)finding->first_step);
    const struct html_table how = {.caption = caption.data,
                                   .bars = "finished",
                                   .most_rows = MOST_COUNTED,
                                   .rest_command = "steps --by rank"};
    failed = failed || html_add_table_of(run->job->store, run->job->run_id, run->page, &table, &how);
    table_release(&table);
    buffer_release(&caption);
    return failed ? -1 : 0;
}

/*
 * Draws the evidence of a finding: the gap time, transfer time or wait of the ranks at fault, by step, beside
 * those of their peers. Draws nothing if no step has it. Returns -1 when memory is out.
 */
static int html_add_evidence(const struct html_run *run, const struct finding *finding)
{
    int is_drawn = 0;
    if (finding->at_start || finding->first_step < 0 || finding->first_step >= run->job->step_count)
        return 0;
    if (finding->kind > FINDING_NETWORK || finding->stops_job)
        return add_counts(run, finding);
    if (finding->kind == FINDING_NETWORK && run->job->traffic_count && draw_waits(run, finding, &is_drawn))
        return -1;
    return is_drawn ? 0 : draw_place(run, finding);
}

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

/* Appends a line per finding; without findings, the verdict of diagnose. */
static int append_verdict(const struct html_run *run, struct buffer *text)
{
    size_t told = html_run_finding_count(run);
    if (!told)
        return headline_append_verdict(run->judgement, 0, text);
    if (buffer_printf(text, "%zu finding%s\n", told, told == 1 ? "" : "s"))
        return -1;
    for (size_t i = 0; i < run->findings->count; i++) {
        const struct finding *finding = &run->findings->items[i];
        if (finding_is_reported(finding) &&
            (buffer_printf(text, "%s: ", finding_kind_name(finding->kind)) ||
             finding_append(finding, run->job, text) || buffer_append_text(text, ".\n")))
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
    return (has_stopped && buffer_printf(text, "in step %d", (int)judgement->stopped_step)) ||
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
                 buffer_printf(&text, "%d", (int)(run->job->step_count - run->job->first_step)) ||
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
    int32_t first = baseline->first_step, steps = baseline->step_count - first;
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
    int failed = html_run_section(run, "summary", "Summary") || append_verdict(run, &verdict) ||
                 buffer_printf(run->page, "<div class=\"verdict%s\">\n", class) ||
                 (verdict.data && html_lines(run->page, "p", verdict.data)) ||
                 buffer_append_text(run->page, "</div>\n") || put_facts(run) ||
                 headline_append_job(run->judgement, 0, &job) ||
                 buffer_append_text(run->page, "<div class=\"words note\">\n") ||
                 (job.data && html_lines(run->page, "p", job.data)) ||
                 buffer_append_text(run->page, "</div>\n") || put_lengths(run) ||
                 html_section_end(run->whole);
    buffer_release(&verdict);
    buffer_release(&job);
    return failed ? error_no_memory(error) : 0;
}

/* Adds the lines below the headline of a finding. The last two have the next action and its command. */
static int put_lines(const struct html_run *run, const char *paragraph)
{
    static const char next[] = "    Next: ", confirm[] = "    Confirm with: ";
    const char *line = strchr(paragraph, '\n');
    while (line && *++line) {
        line += *line == *UNBROKEN_LINE;
        size_t length = strcspn(line, "\n");
        char *text = strndup(line, length);
        int is_next = !strncmp(line, next, sizeof next - 1) || !strncmp(line, confirm, sizeof confirm - 1);
        int failed = !text || html_lines(run->page, is_next ? "p class=\"next\"" : "p", text);
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
    int is_told = finding_is_reported(finding);
    int failed = finding_append_headline(finding, run->job, &headline) ||
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

/* Adds the findings that diagnose shows by default, or the others. */
static int add_those(const struct html_run *run, int are_told, struct error *error)
{
    for (size_t i = 0; i < run->findings->count; i++)
        if ((finding_is_reported(&run->findings->items[i]) != 0) == are_told &&
            add_finding(run, &run->findings->items[i], error))
            return -1;
    return 0;
}

int html_add_findings(const struct html_run *run, struct error *error)
{
    size_t told = html_run_finding_count(run), low = run->findings->count - told;
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
