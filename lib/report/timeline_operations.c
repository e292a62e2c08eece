/*
 * Draws the operations of ranks in a timeline, with their wait times and the arrows from the operation that
 * arrived last.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/timeline.h"

#include <stdlib.h>

/* Shorter waits are not drawn. */
enum { WAIT_LEAST_NS = 1000 };

int waits_init(struct waits *waits, const struct canvas *canvas)
{
    const struct job *job = canvas->job;
    int32_t most = 0;
    *waits = (struct waits){.canvas = canvas, .last = array_new(job->instance_count, sizeof *waits->last)};
    for (size_t i = 0; waits->last && i < job->instance_count; i++) {
        const struct job_instance *instance = &job->instances[i];
        waits->last[i] = instance->members == instance->expected ? arrival_last(job, instance) : -1;
        most = instance->members > most ? instance->members : most;
    }
    waits->arrows = array_new((size_t)most, sizeof *waits->arrows);
    return waits->last && waits->arrows ? 0 : -1;
}

void waits_release(struct waits *waits)
{
    free(waits->last);
    free(waits->arrows);
    *waits = (struct waits){0};
}

/*
 * How long an operation waited for the last rank to arrive, from its start on; 0: it did not wait, or that is
 * not known.
 */
static int64_t waits_of(const struct waits *waits, size_t operation)
{
    const struct job *job = waits->canvas->job;
    int32_t last = waits->last[job->operations[operation].instance];
    return last < 0 ? 0 : arrival_stay_ns(job, (int32_t)operation) - arrival_stay_ns(job, last);
}

static int is_aligned(const struct job *job, int32_t operation)
{
    return job_is_aligned(&job->ranks[job->operations[operation].rank]);
}

/*
 * When the wait of an operation was over, as the end of an arrow; TIME_UNKNOWN: no arrow. An arrow begins
 * where the last rank arrives and must end later, or Perfetto reverses it; the accuracy of the clocks alone
 * does not guarantee that.
 */
static int64_t waits_arrow_ns(const struct waits *waits, size_t operation)
{
    const struct canvas *canvas = waits->canvas;
    const struct job *job = canvas->job;
    const struct job_operation *of = &job->operations[operation];
    int32_t last = waits->last[of->instance];
    int64_t waited_ns = waits_of(waits, operation);
    if (waited_ns < WAIT_LEAST_NS || waited_ns < canvas->selection->arrow_ns ||
        !canvas_shows(canvas, operation) || !canvas_shows(canvas, (size_t)last) ||
        !is_aligned(job, (int32_t)operation) || !is_aligned(job, last))
        return TIME_UNKNOWN;
    int64_t over_ns = canvas_begin_ns(canvas, operation) + waited_ns;
    int64_t came_ns = canvas_begin_ns(canvas, (size_t)last);
    over_ns = over_ns > came_ns ? over_ns : came_ns + 1;
    return over_ns < canvas_end_ns(canvas, operation) ? over_ns : TIME_UNKNOWN;
}

/* The id of the arrow that ends at an operation. */
static uint64_t waits_arrow(size_t operation)
{
    return operation + 1;
}

/* Writes the arrows from an operation to all that waited for it to waits->arrows. Returns their number. */
static size_t waits_arrows(const struct waits *waits, size_t operation)
{
    const struct job *job = waits->canvas->job;
    const struct job_instance *instance = &job->instances[job->operations[operation].instance];
    size_t count = 0;
    if (waits->last[job->operations[operation].instance] != (int32_t)operation)
        return 0;
    for (int32_t i = 0; i < instance->members; i++) {
        size_t member = (size_t)job_member_at(job, instance, i);
        if (waits_arrow_ns(waits, member) != TIME_UNKNOWN)
            waits->arrows[count++] = waits_arrow(member);
    }
    return count;
}

/* When an operation occupied its stream, on the device timeline of its rank. */
struct drawn {
    int64_t begin_ns;
    int64_t end_ns;   /* INT64_MAX: it never ended */
    int64_t shown_ns; /* where it is drawn on the common clock, at most the begin of any later operation */
    int32_t operation;
    int32_t stream;
};

/* The operations of a rank that are drawn. */
struct drawn_operations {
    struct drawn *items; /* owned; sorted by stream and begin */
    size_t count;
    int32_t *stream_of; /* owned: per operation of the rank */
    int32_t streams;
};

static int32_t number_stream(const struct job *job, const struct job_rank *rank,
                             struct drawn_operations *drawn, size_t at)
{
    const struct job_operation *operation = &job->operations[at];
    size_t before = (size_t)(operation->group == (int32_t)at ? operation->previous : operation->group);
    if (operation->group == (int32_t)at && operation->previous < 0)
        return drawn->streams++;
    return before >= rank->first && before < at ? drawn->stream_of[before - rank->first] : drawn->streams++;
}

static int64_t end_of(const struct job_operation *operation)
{
    if (operation->end_ns != TIME_UNKNOWN && operation->end_ns < operation->start_ns)
        return operation->start_ns;
    return operation->end_ns != TIME_UNKNOWN || !operation->unfinished ? operation->end_ns : INT64_MAX;
}

static struct drawn make_drawn(const struct job_operation *operation, int32_t at, int32_t stream)
{
    int64_t end_ns = end_of(operation);
    int64_t begin_ns = operation->start_ns != TIME_UNKNOWN ? operation->start_ns : end_ns;
    return (struct drawn){.begin_ns = begin_ns,
                          .end_ns = end_ns != TIME_UNKNOWN ? end_ns : begin_ns,
                          .operation = at,
                          .stream = stream};
}

static int by_stream(const void *a, const void *b)
{
    const struct drawn *left = a, *right = b;
    if (left->stream != right->stream)
        return left->stream < right->stream ? -1 : 1;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    return (left->operation > right->operation) - (left->operation < right->operation);
}

static int has_device_time(const struct job_operation *operation)
{
    return operation->start_ns != TIME_UNKNOWN || operation->end_ns != TIME_UNKNOWN;
}

static int collect(struct canvas *canvas, int32_t number, struct drawn_operations *drawn)
{
    const struct job *job = canvas->job;
    const struct job_rank *rank = &job->ranks[number];
    drawn->items = array_new(rank->count, sizeof *drawn->items);
    drawn->stream_of = array_new(rank->count, sizeof *drawn->stream_of);
    if (!drawn->items || !drawn->stream_of)
        return -1;
    for (size_t i = 0; i < rank->count; i++) {
        size_t at = rank->first + i;
        const struct job_operation *operation = &job->operations[at];
        drawn->stream_of[i] = number_stream(job, rank, drawn, at);
        if (!canvas_shows(canvas, at))
            continue;
        canvas->counts->operations++;
        canvas->counts->untimed += canvas_begin_ns(canvas, at) == TIME_UNKNOWN;
        if (has_device_time(operation))
            drawn->items[drawn->count++] = make_drawn(operation, (int32_t)at, drawn->stream_of[i]);
    }
    array_sort(drawn->items, drawn->count, sizeof *drawn->items, by_stream);
    return 0;
}

/* The communicator of all operations of a stream; -1: several. */
static int32_t only_communicator(const struct job *job, const struct drawn *items, size_t count)
{
    int32_t communicator = job->operations[items[0].operation].communicator;
    for (size_t i = 1; i < count; i++)
        if (job->operations[items[i].operation].communicator != communicator)
            return -1;
    return communicator;
}

/*
 * Names a stream by its number among the streams of its rank, because its address says nothing to a reader
 * and differs between ranks, and by its communicator if it has only one.
 */
static int name_stream(const struct canvas *canvas, const struct drawn_operations *drawn,
                       const struct drawn *items, size_t count, struct buffer *name)
{
    const struct job *job = canvas->job;
    uint64_t stream = canvas->calls[items[0].operation].stream;
    int32_t communicator = drawn->streams > 1 ? only_communicator(job, items, count) : -1;
    buffer_clear(name);
    if (buffer_append_text(name, "operations") ||
        (stream && drawn->streams > 1 && buffer_printf(name, ", stream %d", (int)items[0].stream + 1)))
        return -1;
    return communicator < 0
               ? 0
               : buffer_printf(name, ", communicator %s", job->communicators[communicator].label);
}

enum { MOST_ARGUMENTS = 10 };

/* The texts that Perfetto shows for the slice of an operation. */
struct words {
    struct trace_argument arguments[MOST_ARGUMENTS];
    size_t count;
    struct buffer name;
};

static void say(struct words *words, const char *key, const char *text, int64_t number)
{
    words->arguments[words->count++] = (struct trace_argument){key, text, number};
}

static int name_operation(const struct job *job, const struct job_operation *operation, struct words *words)
{
    const struct job_instance *instance = &job->instances[operation->instance];
    const char *function = function_name((enum function)operation->function);
    int is_send = operation->function == FUNCTION_SEND;
    int32_t peer = is_send ? instance->receiver : instance->sender;
    buffer_clear(&words->name);
    if (!function_is_point_to_point((enum function)operation->function) || peer < 0)
        return buffer_append_text(&words->name, function ? function : "operation");
    return buffer_printf(&words->name, "%s %s rank %s", function, is_send ? "to" : "from",
                         job->ranks[peer].name);
}

/* Appends where the times come from if it is not the GPU. */
static const char *append_times(const struct job_operation *operation)
{
    if (operation->by_call)
        return "earliest time that the calls of its ranks allow";
    if (operation->end_ns == TIME_UNKNOWN)
        return operation->unfinished ? "it never ended" : "its end was not recorded";
    if (operation->start_ns == TIME_UNKNOWN)
        return "its start was not recorded";
    if (operation->ends == ENDS_ESTIMATED)
        return "its end is estimated";
    return operation->inferred ? "its start is estimated" : NULL;
}

static int describe(const struct canvas *canvas, size_t at, struct words *words)
{
    const struct job *job = canvas->job;
    const struct job_operation *operation = &job->operations[at];
    const char *tag = job_tag(job, operation->tag), *source = job_source(job, at);
    const char *times = append_times(operation);
    words->count = 0;
    say(words, "communicator", job->communicators[operation->communicator].label, 0);
    say(words, "number", NULL, job->instances[operation->instance].sequence);
    if (operation->bytes >= 0)
        say(words, "bytes", NULL, operation->bytes);
    if (tag)
        say(words, "tag", tag, 0);
    if (operation->step >= 0)
        say(words, "step", NULL, job_run_step(job, operation->step));
    if (source)
        say(words, "source", source, 0);
    if (times)
        say(words, "times", times, 0);
    return name_operation(job, operation, words);
}

/* Draws the operations of one stream. Each is held until the begin of the next one on its lane is known. */
struct drawing {
    struct canvas *canvas;
    const struct waits *waits;
    struct track_group track_group;
    const struct drawn *held[LANES_MOST]; /* NULL: none */
    struct words words;
    struct buffer text;
};

static int end_by(int64_t *end_ns, int64_t limit_ns)
{
    *end_ns = *end_ns < limit_ns ? *end_ns : limit_ns;
    return *end_ns == INT64_MAX;
}

/* Draws a slice within that of an operation. */
static int draw_inner(struct drawing *drawing, uint64_t track, struct trace_event event, int64_t end_ns,
                      struct error *error)
{
    event.track = track;
    return trace_begin(&drawing->canvas->trace, &event, error) ||
                   trace_end(&drawing->canvas->trace, track, end_ns, error)
               ? -1
               : 0;
}

/*
 * Draws how long an operation waited for the last rank to arrive, and the transfer after that, where an arrow
 * ends.
 */
static int draw_wait(struct drawing *drawing, uint64_t track, size_t operation, int64_t begin_ns,
                     int64_t end_ns, struct error *error)
{
    struct canvas *canvas = drawing->canvas;
    const struct job *job = canvas->job;
    int64_t waited_ns = waits_of(drawing->waits, operation);
    int32_t last = drawing->waits->last[job->operations[operation].instance];
    if (waited_ns < WAIT_LEAST_NS)
        return 0;
    int64_t over_ns = begin_ns + waited_ns, arrow_ns = waits_arrow_ns(drawing->waits, operation);
    end_by(&over_ns, end_ns);
    buffer_clear(&drawing->text);
    if (buffer_printf(&drawing->text, "waiting for rank %s", job->ranks[job->operations[last].rank].name))
        return error_no_memory(error);
    const struct trace_event wait = {.at_ns = begin_ns, .category = "waiting", .name = drawing->text.data};
    if (draw_inner(drawing, track, wait, over_ns, error))
        return -1;
    int64_t from_ns = arrow_ns != TIME_UNKNOWN ? arrow_ns : over_ns;
    if (from_ns >= end_ns)
        return 0;
    const uint64_t arrow = waits_arrow(operation);
    const struct trace_event transfer = {.at_ns = from_ns,
                                         .category = "transfer",
                                         .name = "transfer",
                                         .arrows = &arrow,
                                         .arrow_count = arrow_ns != TIME_UNKNOWN};
    canvas->counts->arrows += arrow_ns != TIME_UNKNOWN;
    return draw_inner(drawing, track, transfer, end_ns, error);
}

/* Marks that the operation arrived last, with the arrows to those that waited. */
static int draw_last(struct drawing *drawing, uint64_t track, size_t operation, int64_t begin_ns,
                     struct error *error)
{
    size_t count = waits_arrows(drawing->waits, operation);
    const struct trace_argument argument = {"waited", NULL, (int64_t)count};
    const struct trace_event event = {.track = track,
                                      .at_ns = begin_ns,
                                      .category = "waiting",
                                      .name = "arrived last",
                                      .arguments = &argument,
                                      .argument_count = 1,
                                      .arrows = drawing->waits->arrows,
                                      .arrow_count = count};
    return count ? trace_mark(&drawing->canvas->trace, &event, error) : 0;
}

static int draw_slice(struct drawing *drawing, struct trace_event *event, size_t operation, int64_t end_ns,
                      struct error *error)
{
    struct trace_writer *trace = &drawing->canvas->trace;
    int is_open = end_ns == INT64_MAX;
    if (trace_begin(trace, event, error) || draw_last(drawing, event->track, operation, event->at_ns, error))
        return -1;
    if (!is_open && draw_wait(drawing, event->track, operation, event->at_ns, end_ns, error))
        return -1;
    return is_open ? 0 : trace_end(trace, event->track, end_ns, error);
}

/* Draws the operation that a lane holds. It ends at `limit_ns`, the begin of the next one, at the latest. */
static int release_held(struct drawing *drawing, int lane, int64_t limit_ns, struct error *error)
{
    struct canvas *canvas = drawing->canvas;
    const struct drawn *held = drawing->held[lane];
    if (!held)
        return 0;
    size_t operation = (size_t)held->operation;
    const struct job_operation *of = &canvas->job->operations[operation];
    int64_t end_ns = held->end_ns == INT64_MAX ? INT64_MAX : canvas_end_ns(canvas, operation);
    if (describe(canvas, operation, &drawing->words))
        return error_no_memory(error);
    struct trace_event event = {.track = drawing->track_group.tracks[lane],
                                .at_ns = held->shown_ns,
                                .category = "operation",
                                .name = drawing->words.name.data,
                                .arguments = drawing->words.arguments,
                                .argument_count = drawing->words.count};
    drawing->held[lane] = NULL;
    if (end_ns == TIME_UNKNOWN || of->start_ns == TIME_UNKNOWN)
        return trace_mark(&canvas->trace, &event, error);
    end_by(&end_ns, limit_ns);
    return draw_slice(drawing, &event, operation, end_ns > event.at_ns ? end_ns : event.at_ns, error);
}

/*
 * GPU time is converted to host time block by block. If two blocks differ by more than the gap between two
 * operations, the second operation could appear first; this corrects the order.
 */
static void order_begins(const struct canvas *canvas, struct drawn *items, size_t count)
{
    int64_t next_ns = INT64_MAX;
    for (size_t i = count; i-- > 0;) {
        int64_t begin_ns = canvas_begin_ns(canvas, (size_t)items[i].operation);
        next_ns = begin_ns < next_ns ? begin_ns : next_ns;
        items[i].shown_ns = next_ns;
    }
}

static int draw_stream(struct drawing *drawing, struct drawn *items, size_t count, struct error *error)
{
    int failed = 0, lane;
    order_begins(drawing->canvas, items, count);
    for (size_t i = 0; !failed && i < count; i++) {
        failed = track_group_place(drawing->canvas, &drawing->track_group, items[i].begin_ns, items[i].end_ns,
                                   &lane, error);
        if (failed || lane < 0)
            continue;
        failed = release_held(drawing, lane, items[i].shown_ns, error);
        drawing->held[lane] = &items[i];
    }
    for (lane = 0; !failed && lane < drawing->track_group.lanes.count; lane++)
        failed = release_held(drawing, lane, INT64_MAX, error);
    return failed;
}

static int draw_streams(struct drawing *drawing, const struct drawn_operations *drawn, int32_t rank,
                        struct error *error)
{
    struct buffer name = BUFFER_INIT;
    int failed = 0;
    for (size_t i = 0, end; !failed && i < drawn->count; i = end) {
        for (end = i + 1; end < drawn->count && drawn->items[end].stream == drawn->items[i].stream; end++)
            ;
        failed = name_stream(drawing->canvas, drawn, &drawn->items[i], end - i, &name)
                     ? error_no_memory(error)
                     : 0;
        drawing->track_group = (struct track_group){.rank = rank, .name = name.data};
        failed = failed || draw_stream(drawing, &drawn->items[i], end - i, error);
    }
    buffer_release(&name);
    return failed;
}

int draw_operations(struct canvas *canvas, const struct waits *waits, int32_t rank, struct error *error)
{
    struct drawn_operations drawn = {0};
    struct drawing drawing = {.canvas = canvas, .waits = waits};
    int failed =
        collect(canvas, rank, &drawn) ? error_no_memory(error) : draw_streams(&drawing, &drawn, rank, error);
    free(drawn.items);
    free(drawn.stream_of);
    buffer_release(&drawing.words.name);
    buffer_release(&drawing.text);
    return failed ? -1 : 0;
}
