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
    bars->is_empty = 1;
    for (size_t i = range.first; i < range.end; i++) {
        if (job->operations[i].step != step)
            continue;
        bars->is_empty = 0;
        if (begin_of(job, &job->operations[i]) != TIME_UNKNOWN)
            add_bar(bars, job, (int32_t)i);
    }
    bars->is_untimed = !bars->is_empty && !bars->count && !bars->is_unclocked;
    array_sort(bars->items, bars->count, sizeof *bars->items, by_begin);
    return 0;
}

void step_bars_release(struct step_bars *bars)
{
    free(bars->items);
    *bars = (struct step_bars){.items = NULL};
}

/* Most steps that are drawn, and most operations over all steps and runs. */
enum { MOST_STEPS = 4, MOST_BARS = 8000 };

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
    return filter && filter_is_of_steps(filter);
}

static void choose_steps(const struct html_run *run, struct choices *choices)
{
    int32_t first = html_run_first_step(run), last = run->job->step_count - 1;
    *choices = (struct choices){.count = 0};
    if (last < first)
        return;
    if (is_asked(run->filter)) {
        for (int32_t step = first; step <= last; step++)
            if (html_run_step(run, step) >= run->filter->steps.first &&
                html_run_step(run, step) <= run->filter->steps.last)
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

/* An operation whose network steps waited in a network finding. */
struct slow_send {
    int32_t operation;
    int64_t wait_ns; /* mean per network step */
};

struct slow_sends {
    struct slow_send *items; /* owned */
    size_t count;
    size_t capacity;
};

/* Least ratio of the mean wait to the median of all operations of that kind in the step: the first colour of
 * heat_times_baseline beyond noise. */
static const double SLOW_TIMES = 1.5;

static int is_of_finding(const struct html_run *run, const struct job_traffic *traffic, int32_t step)
{
    for (size_t i = 0; i < run->findings->count; i++) {
        const struct finding *finding = &run->findings->items[i];
        int32_t own = finding->receives ? traffic->receiver : traffic->sender;
        if (finding->kind == FINDING_NETWORK && finding_is_reported(finding) && own >= 0 &&
            finding_has_rank(finding, own) && finding_has_step(finding, step))
            return 1;
    }
    return 0;
}

/* The mean wait of the network steps of an operation on one link. */
struct link_wait {
    const struct job_operation *of;
    int64_t wait_ns;
    int is_of_finding;
};

static int compare_kinds(const struct job_operation *a, const struct job_operation *b)
{
    int order = (a->function > b->function) - (a->function < b->function);
    return order ? order : compare_integers(a->bytes, b->bytes);
}

static int by_kind(const void *a, const void *b)
{
    const struct link_wait *left = a, *right = b;
    int order = compare_kinds(left->of, right->of);
    return order ? order : compare_integers(left->wait_ns, right->wait_ns);
}

/* Lists the waits of a step by kind of operation. `waits` has room for all traffic. Returns their number. */
static size_t list_waits(const struct html_run *run, int32_t step, struct link_wait *waits)
{
    const struct job *job = run->job;
    size_t count = 0;
    for (size_t i = 0; i < job->traffic_count; i++) {
        const struct job_traffic *traffic = &job->traffic[i];
        const struct job_operation *operation = &job->operations[traffic->operation];
        if (!traffic->by_receiver && traffic->steps && operation->step == step)
            waits[count++] = (struct link_wait){operation, traffic->network_wait_ns / traffic->steps,
                                                is_of_finding(run, traffic, step)};
    }
    array_sort(waits, count, sizeof *waits, by_kind);
    return count;
}

/* Finds the operations of a step in which a network finding shows. */
static int find_slow_sends(const struct html_run *run, int32_t step, struct slow_sends *slow)
{
    const struct job *job = run->job;
    struct link_wait *waits = array_new(job->traffic_count + 1, sizeof *waits);
    size_t count = waits ? list_waits(run, step, waits) : 0;
    int failed = !waits;
    for (size_t i = 0, end; !failed && i < count; i = end) {
        for (end = i + 1; end < count && compare_kinds(waits[i].of, waits[end].of) == 0; end++)
            ;
        size_t middle = i + (end - i - 1) / 2;
        double least_ns = SLOW_TIMES * (double)waits[middle].wait_ns;
        for (size_t j = i; !failed && j < end; j++) {
            if (!waits[j].is_of_finding || (double)waits[j].wait_ns < least_ns)
                continue;
            failed =
                array_reserve((void **)&slow->items, &slow->capacity, slow->count + 1, sizeof *slow->items);
            if (!failed)
                slow->items[slow->count++] =
                    (struct slow_send){(int32_t)(waits[j].of - job->operations), waits[j].wait_ns};
        }
    }
    free(waits);
    return failed ? -1 : 0;
}

static int64_t slow_wait_ns(const struct slow_sends *slow, int32_t operation)
{
    int64_t wait_ns = 0;
    for (size_t i = 0; i < slow->count; i++)
        if (slow->items[i].operation == operation && slow->items[i].wait_ns > wait_ns)
            wait_ns = slow->items[i].wait_ns;
    return wait_ns;
}

/* The lanes of a step. Everything is owned except the names of ranks. */
struct step_lanes {
    struct html_lane *lanes;
    size_t count;
    size_t room; /* in operations */
    int64_t begin_ns;
    int64_t end_ns;
    struct slow_sends slow;
};

static int take_bars(const struct html_run *run, const struct step_bars *from, struct intern *texts,
                     struct step_lanes *of, struct html_lane *lane)
{
    lane->bars = array_new(from->count + 1, sizeof *lane->bars);
    int has_room = from->count <= of->room;
    lane->missing = from->is_unclocked ? "its clock is not aligned with the other clocks"
                    : from->is_empty   ? "no operation recorded in this step"
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
                                   .slow_ns = slow_wait_ns(&of->slow, bar->operation),
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
    free(of->slow.items);
}

/* What the pictures of a run have in common. */
struct pictures {
    const struct html_run *run;
    struct html_rows rows;
    size_t room;       /* in operations, per picture */
    int64_t length_ns; /* duration of the longest picture */
    size_t drawn;
};

/* Adds the lanes of the ranks at fault, or of the others. */
static int fill_lanes(const struct pictures *pictures, int32_t step, int are_accused, struct intern *texts,
                      struct step_lanes *of)
{
    const struct html_run *run = pictures->run;
    for (size_t i = 0; i < of->count; i++) {
        struct step_bars bars;
        if (of->lanes[i].is_accused != are_accused)
            continue;
        int failed = step_bars_init(&bars, run->job, pictures->rows.ranks[i], step) ||
                     take_bars(run, &bars, texts, of, &of->lanes[i]);
        step_bars_release(&bars);
        if (failed)
            return -1;
    }
    return 0;
}

static int make_lanes(const struct pictures *pictures, int32_t step, struct intern *texts,
                      struct step_lanes *of)
{
    const struct job *job = pictures->run->job;
    const struct html_rows *rows = &pictures->rows;
    *of = (struct step_lanes){.lanes = array_new(rows->count + 1, sizeof *of->lanes),
                              .room = pictures->room,
                              .begin_ns = TIME_UNKNOWN,
                              .end_ns = TIME_UNKNOWN};
    if (!of->lanes || find_slow_sends(pictures->run, step, &of->slow))
        return -1;
    for (size_t i = 0; i < rows->count; i++) {
        unsigned char why = rows->why[rows->ranks[i]];
        of->lanes[of->count++] = (struct html_lane){.name = job->ranks[rows->ranks[i]].name,
                                                    .reason = html_row_reason(why),
                                                    .is_accused = why == HTML_ROW_ACCUSED};
    }
    return fill_lanes(pictures, step, 1, texts, of) || fill_lanes(pictures, step, 0, texts, of) ? -1 : 0;
}

static int append_title(const struct html_run *run, const struct choice *choice, struct buffer *title)
{
    int64_t length_ns = length_of(run, choice->step);
    if (buffer_printf(title, "Step %d", (int)html_run_step(run, choice->step)) ||
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
    int failed =
        buffer_printf(&id, "lanes-%lld-%d", (long long)run->number, (int)html_run_step(run, choice->step)) ||
        append_title(run, choice, &title) || (!is_first && buffer_append_byte(run->data, ','));
    lanes.id = id.data;
    lanes.title = title.data;
    failed = failed || html_add_lanes(run->page, run->data, &lanes);
    buffer_release(&id);
    buffer_release(&title);
    return failed ? -1 : 0;
}

/* A step that is nearly as long as the one before is drawn at the same scale, so that both can be compared.
 */
static int64_t scale_for(const struct pictures *pictures, const struct step_lanes *of)
{
    enum { ALIKE = 2 };
    return (of->end_ns - of->begin_ns) * ALIKE >= pictures->length_ns ? pictures->length_ns : 0;
}

static int add_step(struct pictures *pictures, const struct choice *choice)
{
    struct step_lanes of;
    struct intern texts;
    intern_init(&texts);
    int failed = make_lanes(pictures, choice->step, &texts, &of);
    if (!failed && of.begin_ns != TIME_UNKNOWN) {
        end_open_bars(&of, scale_for(pictures, &of));
        if (of.end_ns - of.begin_ns > pictures->length_ns)
            pictures->length_ns = of.end_ns - of.begin_ns;
        failed = put_step(pictures->run, choice, &of, &texts, pictures->drawn++ == 0);
    }
    release_lanes(&of);
    intern_release(&texts);
    return failed ? -1 : 0;
}

static int has_network_finding(const struct html_run *run)
{
    for (size_t i = 0; i < run->findings->count; i++)
        if (finding_is_reported(&run->findings->items[i]) && run->findings->items[i].kind == FINDING_NETWORK)
            return 1;
    return 0;
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
            "height=\"12\"/></svg> operation that never ended</span> ") ||
        (has_network_finding(run) && run->job->traffic_count &&
         buffer_append_text(
             page,
             "<span class=\"key\"><svg viewBox=\"0 0 24 12\" aria-hidden=\"true\"><rect "
             "class=\"moving\" width=\"24\" height=\"12\"/><rect class=\"slow\" y=\"8\" "
             "width=\"24\" height=\"4\"/></svg> its slow network transfers (finding)</span> ")) ||
        buffer_append_text(page,
                           "between operations: gap time. Steps of very different length have different "
                           "time scales.</p>\n"))
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
               "<p class=\"note\">%zu of %zu ranks: those at fault, the other ends of their slow links, some "
               "that waited for them, and some that do the same work. Others: ncclprof html --rank LIST "
               "--step "
               "A-B.</p>\n",
               ranks, run->job->rank_count);
}

static int add_steps(const struct html_run *run, const struct choices *choices)
{
    struct pictures pictures = {.run = run, .room = MOST_BARS / run->runs / choices->count};
    int failed = html_rows_init(&pictures.rows, run, run->filter) ||
                 put_legend(run, choices, pictures.rows.count) ||
                 buffer_append_text(run->data, ",\"lanes\":[");
    for (size_t i = 0; !failed && i < choices->count; i++)
        failed = add_step(&pictures, &choices->items[i]);
    failed = failed || buffer_append_byte(run->data, ']') ||
             (!pictures.drawn &&
              html_element(run->page, "p",
                           "No operation of these steps says when it ran on a clock that ranks share: "
                           "nothing to draw."));
    html_rows_release(&pictures.rows);
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
