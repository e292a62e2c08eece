#include "timeline/draw_findings.h"

#include "verdict/advice.h"
#include "verdict/finding_names.h"
#include "verdict/finding_text.h"

/* What is said of one. */
struct words {
    struct buffer name;
    struct buffer text;
    struct buffer advice;
};

static int say(const struct canvas *canvas, const struct finding *finding, struct words *words)
{
    buffer_clear(&words->name);
    buffer_clear(&words->text);
    buffer_clear(&words->advice);
    return buffer_printf(&words->name, "%s: ", finding_kind_name(finding->kind)) ||
           finding_name_unit(finding, canvas->job, &words->name) ||
           finding_say(finding, canvas->job, &words->text) ||
           finding_advise(finding, canvas->job, 0, &words->advice);
}

/* From when it shows first, else from its first step. */
static int64_t begin_of(const struct canvas *canvas, const struct finding *finding,
                        const struct step_span *spans)
{
    int64_t begin_ns =
        finding->operation >= 0 ? canvas_begin_ns(canvas, (size_t)finding->operation) : TIME_UNKNOWN;
    if (begin_ns == TIME_UNKNOWN && finding->first_step >= 0)
        begin_ns = spans[finding->first_step].begin_ns;
    return begin_ns == TIME_UNKNOWN ? 0 : begin_ns;
}

/* To the end of its last step; for good, where the job stood still; else it has none. */
static int64_t end_of(const struct finding *finding, const struct step_span *spans, int64_t begin_ns)
{
    if (finding->stops_job)
        return INT64_MAX;
    int64_t end_ns = finding->last_step >= 0 ? spans[finding->last_step].end_ns : TIME_UNKNOWN;
    return end_ns > begin_ns ? end_ns : TIME_UNKNOWN;
}

static int draw(struct canvas *canvas, const struct finding *finding, const struct step_span *spans,
                struct strip *strip, const struct words *words, struct error *error)
{
    const struct perfetto_argument arguments[] = {
        {"text", words->text.data, 0},
        {"confidence", confidence_name(finding->confidence), 0},
        {"evidence", finding->evidence.data ? finding->evidence.data : "", 0},
        {"next", words->advice.data, 0},
        {"lost_us", NULL, finding->lost_ns / 1000},
    };
    struct perfetto_event event = {.at_ns = begin_of(canvas, finding, spans),
                                   .category = "finding",
                                   .name = words->name.data,
                                   .arguments = arguments,
                                   .argument_count = sizeof arguments / sizeof *arguments};
    return strip_draw(canvas, strip, &event, end_of(finding, spans, event.at_ns), error);
}

static int accuses_shown(const struct canvas *canvas, const struct finding *finding)
{
    for (size_t i = 0; i < canvas->job->rank_count; i++)
        if (canvas->selection->ranks[i] && finding_has_rank(finding, (int32_t)i))
            return 1;
    return 0;
}

static int is_drawn(const struct canvas *canvas, const struct finding *finding, int32_t rank)
{
    const struct timeline_selection *selection = canvas->selection;
    int in_steps = finding->first_step >= 0 && finding->first_step <= selection->last_step &&
                   finding->last_step >= selection->first_step;
    return finding_is_told(finding) && (!selection->has_steps || in_steps) &&
           (rank == NO_RANK ? accuses_shown(canvas, finding) : finding_has_rank(finding, rank));
}

int draw_findings(struct canvas *canvas, const struct step_span *spans, int32_t rank, struct error *error)
{
    const struct findings *findings = canvas->findings;
    struct words words = {.name = BUFFER_INIT, .text = BUFFER_INIT, .advice = BUFFER_INIT};
    struct strip strip = {.rank = rank,
                          .name = rank == NO_RANK ? "findings" : "Findings",
                          .description = "Findings of ncclprof diagnose. Click on a finding for details."};
    int failed = 0;
    for (size_t i = 0; !failed && i < findings->count; i++) {
        if (!is_drawn(canvas, &findings->items[i], rank))
            continue;
        canvas->counts->findings += rank == NO_RANK;
        failed = say(canvas, &findings->items[i], &words)
                     ? error_no_memory(error)
                     : draw(canvas, &findings->items[i], spans, &strip, &words, error);
    }
    buffer_release(&words.name);
    buffer_release(&words.text);
    buffer_release(&words.advice);
    return failed ? -1 : 0;
}
