/* Section of the HTML report: the operations of ranks in a few steps, as bars on the common clock. */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/html.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/verdicts.h"

#include <stdlib.h>
#include <string.h>

static int by_begin(const void *a, const void *b)
{
    const struct step_bar *left = a, *right = b;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    return (left->operation > right->operation) - (left->operation < right->operation);
}

static int64_t waiting_of(const struct job *job, int32_t number)
{
    const struct job_operation *operation = &job->operations[number];
    if (operation->instance < 0)
        return 0;
    const struct job_instance *instance = &job->instances[operation->instance];
    int32_t last = instance->members == instance->expected ? arrival_last(job, instance) : -1;
    int64_t waiting_ns = last >= 0 ? arrival_stay_ns(job, number) - arrival_stay_ns(job, last) : 0;
    int64_t length_ns = operation->end_ns - operation->start_ns;
    return waiting_ns < 0 ? 0 : waiting_ns > length_ns ? length_ns : waiting_ns;
}

/*
 * The start of an operation. If no kernel start is recorded and the operation never ended, it is taken to
 * start when it was enqueued and the previous operation had ended; if that one never ended, this one did not
 * start.
 */
static int64_t begin_of(const struct job *job, const struct job_operation *operation)
{
    const struct job_operation *before =
        operation->previous >= 0 ? &job->operations[operation->previous] : NULL;
    int64_t enqueued_ns = operation->enqueued_ns;
    if (operation->start_ns != TIME_UNKNOWN || !operation->unfinished)
        return operation->start_ns;
    if (enqueued_ns == TIME_UNKNOWN || (before && before->unfinished))
        return TIME_UNKNOWN;
    return before && before->end_ns > enqueued_ns ? before->end_ns : enqueued_ns;
}

static void add_bar(struct step_bars *bars, const struct job *job, int32_t number)
{
    const struct job_operation *operation = &job->operations[number];
    int64_t begin_ns = job_common_time(job, operation, begin_of(job, operation));
    if (begin_ns == TIME_UNKNOWN) {
        bars->is_unclocked = 1;
        return;
    }
    struct step_bar *bar = &bars->items[bars->count++];
    *bar = (struct step_bar){
        .operation = number, .begin_ns = begin_ns, .end_ns = TIME_UNKNOWN, .is_open = operation->unfinished};
    if (operation->unfinished || operation->end_ns == TIME_UNKNOWN)
        return;
    bar->end_ns = job_common_time(job, operation, operation->end_ns);
    bar->waiting_ns = waiting_of(job, number);
}

int step_bars_init(struct step_bars *bars, const struct job *job, int32_t rank, int32_t step)
{
    struct job_range range = job_operations_in(job, rank, step, step);
    *bars = (struct step_bars){.items = array_new(range.end - range.first + 1, sizeof *bars->items)};
    if (!bars->items)
        return -1;
    for (size_t i = range.first; i < range.end; i++)
        if (job->operations[i].step == step && begin_of(job, &job->operations[i]) != TIME_UNKNOWN)
            add_bar(bars, job, (int32_t)i);
    bars->is_untimed = !bars->count && !bars->is_unclocked;
    array_sort(bars->items, bars->count, sizeof *bars->items, by_begin);
    return 0;
}

void step_bars_release(struct step_bars *bars)
{
    free(bars->items);
    *bars = (struct step_bars){.items = NULL};
}

/* Most steps and ranks that are drawn, and most operations over all steps and runs. */
enum { MOST_STEPS = 4, MOST_RANKS = 32, MOST_BARS = 8000 };

struct choice {
    int32_t step;
    const struct finding *finding; /* that it belongs to; NULL: none */
    int is_usual;
};

struct choices {
    struct choice items[MOST_STEPS];
    size_t count;
    int32_t left_out; /* number of selected steps that are not drawn */
};

static int64_t length_of(const struct html_run *run, int32_t step)
{
    return run->baseline->step_ns && step < run->baseline->step_count ? run->baseline->step_ns[step]
                                                                      : TIME_UNKNOWN;
}

static int has_choice(const struct choices *choices, int32_t step)
{
    for (size_t i = 0; i < choices->count; i++)
        if (choices->items[i].step == step)
            return 1;
    return 0;
}

static void choose(struct choices *choices, struct choice choice)
{
    if (choice.step < 0 || has_choice(choices, choice.step))
        return;
    if (choices->count < MOST_STEPS)
        choices->items[choices->count++] = choice;
    else
        choices->left_out++;
}

/* The longest of these steps; the first if none has a duration. */
static int32_t longest_step(const struct html_run *run, int32_t first, int32_t last)
{
    int32_t longest = first;
    for (int32_t step = first; step <= last; step++)
        if (length_of(run, step) > length_of(run, longest))
            longest = step;
    return longest;
}

/* The step whose duration is nearest to the baseline. */
static int32_t usual_step(const struct html_run *run)
{
    int64_t usual_ns = run->judgement->shares.usual_step_ns;
    int32_t nearest = -1;
    for (int32_t step = run->baseline->first_step; step < run->baseline->step_count; step++) {
        int64_t length_ns = length_of(run, step);
        if (length_ns == TIME_UNKNOWN || usual_ns == TIME_UNKNOWN)
            continue;
        if (nearest < 0 || llabs(length_ns - usual_ns) < llabs(length_of(run, nearest) - usual_ns))
            nearest = step;
    }
    return nearest;
}

static int is_asked(const struct filter *filter)
{
    return filter && (filter->steps.first > 0 || filter->steps.last < INT64_MAX);
}

static void choose_steps(const struct html_run *run, struct choices *choices)
{
    int32_t last = run->job->step_count - 1;
    *choices = (struct choices){.count = 0};
    if (last < run->job->first_step)
        return;
    if (is_asked(run->filter)) {
        for (int32_t step = run->job->first_step; step <= last; step++)
            if (step >= run->filter->steps.first && step <= run->filter->steps.last)
                choose(choices, (struct choice){.step = step});
        return;
    }
    for (size_t i = 0; i < run->findings->count && choices->count < MOST_STEPS - 1; i++) {
        const struct finding *finding = &run->findings->items[i];
        if (finding_is_reported(finding) && finding->first_step >= 0 && finding->first_step <= last)
            choose(choices, (struct choice){
                                .step = longest_step(run, finding->first_step,
                                                     finding->last_step < last ? finding->last_step : last),
                                .finding = finding});
    }
    if (!choices->count)
        choose(choices, (struct choice){.step = longest_step(run, run->baseline->first_step, last)});
    choose(choices, (struct choice){.step = usual_step(run), .is_usual = 1});
}

static int is_accused(const struct html_run *run, size_t rank)
{
    for (size_t i = 0; i < run->findings->count; i++)
        if (finding_is_reported(&run->findings->items[i]) &&
            finding_has_rank(&run->findings->items[i], (int32_t)rank))
            return 1;
    return 0;
}

static int waits(const struct html_run *run, size_t rank)
{
    for (size_t i = 0; i < run->findings->count; i++)
        for (size_t j = 0; j < run->findings->items[i].waiting_count; j++)
            if (finding_is_reported(&run->findings->items[i]) &&
                run->findings->items[i].waiting[j] == (int32_t)rank)
                return 1;
    return 0;
}

static int is_wanted(const struct html_run *run, size_t rank)
{
    return !run->filter || filter_has_rank(run->filter, run->job->ranks[rank].global_rank);
}

/*
 * Selects the ranks that findings blame, then those that wait for them, then the first others, up to the
 * limit. Returns their number.
 */
static size_t choose_ranks(const struct html_run *run, unsigned char *is_chosen)
{
    size_t count = 0;
    for (int round = 0; round < 3; round++)
        for (size_t rank = 0; rank < run->job->rank_count && count < MOST_RANKS; rank++) {
            int fits = round == 0 ? is_accused(run, rank) : round == 1 ? waits(run, rank) : 1;
            if (fits && !is_chosen[rank] && is_wanted(run, rank)) {
                is_chosen[rank] = 1;
                count++;
            }
        }
    return count;
}

/* The lanes of a step. Everything is owned except the names of ranks. */
struct step_lanes {
    struct html_lane *lanes;
    size_t count;
    size_t room; /* in operations */
    int64_t begin_ns;
    int64_t end_ns;
};

static int take_bars(const struct html_run *run, const struct step_bars *from, struct intern *texts,
                     struct step_lanes *of, struct html_lane *lane)
{
    lane->bars = array_new(from->count + 1, sizeof *lane->bars);
    int has_room = from->count <= of->room;
    lane->missing = from->is_unclocked ? "its clock is not aligned with the other clocks"
                    : from->is_untimed ? "its operations have no timestamps"
                    : has_room         ? NULL
                                       : "too many operations to draw; choose fewer with --rank and --step";
    if (!lane->bars)
        return -1;
    for (size_t i = 0; has_room && i < from->count; i++, of->room--) {
        const struct step_bar *bar = &from->items[i];
        const struct job_operation *operation = &run->job->operations[bar->operation];
        const char *function = function_name(operation->function), *tag = job_tag(run->job, operation->tag);
        struct buffer name = BUFFER_INIT;
        int failed = buffer_printf(&name, "%s on ", function ? function : "operation") ||
                     text_communicator(&name, &run->job->communicators[operation->communicator]);
        int64_t number = failed ? -1 : intern_put(texts, name.data, name.length);
        int64_t group = tag ? intern_put(texts, tag, strlen(tag)) : -1;
        buffer_release(&name);
        if (number < 0 || (tag && group < 0))
            return -1;
        lane->bars[lane->count++] =
            (struct html_lane_bar){.begin_ns = bar->begin_ns,
                                   .end_ns = bar->end_ns == TIME_UNKNOWN ? bar->begin_ns : bar->end_ns,
                                   .waiting_ns = bar->waiting_ns,
                                   .name = (int32_t)number,
                                   .group = (int32_t)group,
                                   .is_open = bar->is_open,
                                   .is_endless = !bar->is_open && bar->end_ns == TIME_UNKNOWN};
        if (of->begin_ns == TIME_UNKNOWN || bar->begin_ns < of->begin_ns)
            of->begin_ns = bar->begin_ns;
        int64_t seen_ns = bar->end_ns == TIME_UNKNOWN ? bar->begin_ns : bar->end_ns;
        of->end_ns = seen_ns > of->end_ns ? seen_ns : of->end_ns;
    }
    return 0;
}

static void release_lanes(struct step_lanes *of)
{
    for (size_t i = 0; i < of->count; i++)
        free(of->lanes[i].bars);
    free(of->lanes);
}

/* What the pictures of a run have in common. */
struct pictures {
    const struct html_run *run;
    unsigned char *is_chosen; /* owned: per rank */
    size_t ranks;             /* number of selected ranks */
    size_t room;              /* in operations, per picture */
    int64_t length_ns;        /* least duration that each picture covers, so that steps can be compared */
    size_t drawn;
};

/* Adds the lanes of the ranks at fault, or of the others. */
static int fill_lanes(const struct pictures *pictures, int32_t step, int are_accused, struct intern *texts,
                      struct step_lanes *of)
{
    const struct html_run *run = pictures->run;
    struct html_lane *lane = of->lanes;
    for (size_t rank = 0; rank < run->job->rank_count; rank++) {
        struct step_bars bars;
        if (!pictures->is_chosen[rank])
            continue;
        if (lane->is_accused == are_accused) {
            int failed = step_bars_init(&bars, run->job, (int32_t)rank, step) ||
                         take_bars(run, &bars, texts, of, lane);
            step_bars_release(&bars);
            if (failed)
                return -1;
        }
        lane++;
    }
    return 0;
}

static int make_lanes(const struct pictures *pictures, int32_t step, struct intern *texts,
                      struct step_lanes *of)
{
    const struct job *job = pictures->run->job;
    *of = (struct step_lanes){.lanes = array_new(pictures->ranks + 1, sizeof *of->lanes),
                              .room = pictures->room,
                              .begin_ns = TIME_UNKNOWN,
                              .end_ns = TIME_UNKNOWN};
    if (!of->lanes)
        return -1;
    for (size_t rank = 0; rank < job->rank_count; rank++)
        if (pictures->is_chosen[rank])
            of->lanes[of->count++] = (struct html_lane){.name = job->ranks[rank].name,
                                                        .is_accused = is_accused(pictures->run, rank)};
    return fill_lanes(pictures, step, 1, texts, of) || fill_lanes(pictures, step, 0, texts, of) ? -1 : 0;
}

static int append_title(const struct html_run *run, const struct choice *choice, struct buffer *title)
{
    int64_t length_ns = length_of(run, choice->step);
    if (buffer_printf(title, "Step %d", (int)choice->step) ||
        (length_ns != TIME_UNKNOWN && (buffer_append_text(title, ", ") || text_time(title, length_ns))))
        return -1;
    if (choice->is_usual)
        return buffer_append_text(title, ": baseline step, for comparison");
    if (choice->finding)
        return buffer_printf(title, ": %s, ", finding_kind_name(choice->finding->kind)) ||
               finding_name_unit(choice->finding, run->job, title);
    return is_asked(run->filter) ? 0 : buffer_append_text(title, ": longest step");
}

/* Open bars extend to the end of the picture, which leaves some room for them. */
static void end_open_bars(struct step_lanes *of, int64_t length_ns)
{
    int is_open = 0;
    for (size_t i = 0; i < of->count; i++)
        for (size_t j = 0; j < of->lanes[i].count; j++)
            is_open |= of->lanes[i].bars[j].is_open;
    if (is_open)
        of->end_ns += (of->end_ns - of->begin_ns) / 8 + 1;
    if (of->end_ns - of->begin_ns < length_ns)
        of->end_ns = of->begin_ns + length_ns;
    for (size_t i = 0; i < of->count; i++)
        for (size_t j = 0; j < of->lanes[i].count; j++)
            if (of->lanes[i].bars[j].is_open)
                of->lanes[i].bars[j].end_ns = of->end_ns;
}

static int put_step(const struct html_run *run, const struct choice *choice, const struct step_lanes *of,
                    const struct intern *texts, int is_first)
{
    struct buffer id = BUFFER_INIT, title = BUFFER_INIT;
    struct html_lanes lanes = {.lanes = of->lanes,
                               .count = of->count,
                               .texts = texts,
                               .begin_ns = of->begin_ns,
                               .end_ns = of->end_ns};
    int failed = buffer_printf(&id, "lanes-%lld-%d", (long long)run->job->run_id, (int)choice->step) ||
                 append_title(run, choice, &title) || (!is_first && buffer_append_byte(run->data, ','));
    lanes.id = id.data;
    lanes.title = title.data;
    failed = failed || html_add_lanes(run->page, run->data, &lanes);
    buffer_release(&id);
    buffer_release(&title);
    return failed ? -1 : 0;
}

static int add_step(struct pictures *pictures, const struct choice *choice)
{
    struct step_lanes of;
    struct intern texts;
    intern_init(&texts);
    int failed = make_lanes(pictures, choice->step, &texts, &of);
    if (!failed && of.begin_ns != TIME_UNKNOWN) {
        end_open_bars(&of, pictures->length_ns);
        pictures->length_ns = of.end_ns - of.begin_ns;
        failed = put_step(pictures->run, choice, &of, &texts, pictures->drawn++ == 0);
    }
    release_lanes(&of);
    intern_release(&texts);
    return failed ? -1 : 0;
}

static int put_legend(const struct html_run *run, const struct choices *choices, size_t ranks)
{
    struct buffer *page = run->page;
    if (buffer_append_text(
            page,
            "<p class=\"keys\"><span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect "
            "class=\"moving\" width=\"24\" height=\"12\"/></svg> operation on the GPU</span> <span "
            "class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect class=\"waiting\" "
            "width=\"24\" height=\"12\"/></svg> part of it spent waiting for the last rank</span> <span "
            "class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect class=\"open\" width=\"24\" "
            "height=\"12\"/></svg> operation that never ended</span> between operations: gap time</p>\n"))
        return -1;
    if (choices->left_out &&
        buffer_printf(page,
                      "<p class=\"note\">%d more steps of those asked for: ncclprof timeline "
                      "has them.</p>\n",
                      (int)choices->left_out))
        return -1;
    return ranks < run->job->rank_count &&
           buffer_printf(
               page,
               "<p class=\"note\">%zu of %zu ranks: those at fault, those that waited for them, and others. "
               "--rank and --step choose.</p>\n",
               ranks, run->job->rank_count);
}

static int add_steps(const struct html_run *run, const struct choices *choices)
{
    struct pictures pictures = {.run = run,
                                .is_chosen = array_new(run->job->rank_count + 1, 1),
                                .room = MOST_BARS / run->runs / choices->count};
    if (!pictures.is_chosen)
        return -1;
    pictures.ranks = choose_ranks(run, pictures.is_chosen);
    int failed = put_legend(run, choices, pictures.ranks) || buffer_append_text(run->data, ",\"lanes\":[");
    for (size_t i = 0; !failed && i < choices->count; i++)
        failed = add_step(&pictures, &choices->items[i]);
    failed = failed || buffer_append_byte(run->data, ']') ||
             (!pictures.drawn &&
              html_element(run->page, "p",
                           "No operation of these steps says when it ran on a clock that ranks share: "
                           "nothing to draw."));
    free(pictures.is_chosen);
    return failed ? -1 : 0;
}

int html_add_timeline(const struct html_run *run)
{
    struct choices choices;
    choose_steps(run, &choices);
    if (!choices.count)
        return 0;
    return html_run_section(run, "timeline", "Chosen steps on one clock") || add_steps(run, &choices) ||
                   html_section_end(run->whole)
               ? -1
               : 0;
}
