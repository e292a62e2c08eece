/* Draws the work of the network (proxy) threads in a timeline, by direction, peer and channel. */
#include "base/base.h"
#include "job/job.h"
#include "model/model.h"
#include "output/output.h"
#include "report/timeline.h"
#include "store/store.h"

#include "schemas.h"

#include <stdlib.h>

enum {
    COLUMN_OPERATION,
    COLUMN_DIRECTION,
    COLUMN_CHANNEL,
    COLUMN_PEER,
    COLUMN_BEGIN,
    COLUMN_END,
    COLUMN_CONTINUED,
    COLUMN_STEP_COUNT,
    COLUMN_BYTES,
    COLUMN_STEPS,
    COLUMN_STEPS_BASE,
    COLUMN_FILE
};

/* The tracks of one direction, peer and channel. */
struct link {
    struct track_group operations;
    struct track_group steps;
    char *names[2]; /* owned: names of the two track groups */
};

/* Most links per file that are drawn; the others are counted. */
enum { MOST_LINKS = 4096 };

struct drawing {
    struct canvas *canvas;
    struct sort_entry *ids; /* owned: operations by id */
    size_t near;
    struct map link_of;
    struct link *links; /* owned: of `file` */
    size_t link_count;
    size_t link_capacity;
    int64_t file;
};

/* A row that is drawn. */
struct draw_proxies_row {
    struct statement *statement;
    size_t operation;
    int32_t rank;
    int received;
    struct link *link;
};

static void forget_links(struct drawing *drawing)
{
    for (size_t i = 0; i < drawing->link_count; i++) {
        free(drawing->links[i].names[0]);
        free(drawing->links[i].names[1]);
    }
    drawing->link_count = 0;
    map_release(&drawing->link_of);
    map_init(&drawing->link_of);
}

/* "proxy, send to rank 4, channel 1" */
static int name_link(const struct job *job, const struct job_operation *operation,
                     const struct draw_proxies_row *row, struct link *link)
{
    int64_t peer = statement_integer(row->statement, COLUMN_PEER);
    int64_t channel = statement_integer(row->statement, COLUMN_CHANNEL);
    int32_t other = job_rank_in(job, operation->communicator, peer);
    const char *way = row->received ? "receive from" : "send to";
    struct buffer name = BUFFER_INIT;
    int failed = other >= 0 ? buffer_printf(&name, "proxy, %s rank %s", way, job->ranks[other].name)
                            : buffer_printf(&name, "proxy, %s member %lld of %s", way, (long long)peer,
                                            job->communicators[operation->communicator].label);
    failed = failed || buffer_printf(&name, ", channel %lld", (long long)channel);
    link->names[0] = failed ? NULL : buffer_detach(&name);
    failed = failed || buffer_printf(&name, "%s, steps", link->names[0]);
    link->names[1] = failed ? NULL : buffer_detach(&name);
    buffer_release(&name);
    link->operations = (struct track_group){.rank = row->rank, .name = link->names[0]};
    link->steps = (struct track_group){.rank = row->rank, .name = link->names[1]};
    return failed;
}

/* Returns 0 with `link` NULL if there are too many links. */
static int find_link(struct drawing *drawing, struct draw_proxies_row *row)
{
    const struct job_operation *operation = &drawing->canvas->job->operations[row->operation];
    const struct map_key key = {{(uint64_t)row->rank << 1 | (uint64_t)row->received,
                                 (uint64_t)operation->communicator,
                                 (uint64_t)statement_integer(row->statement, COLUMN_PEER),
                                 (uint64_t)statement_integer(row->statement, COLUMN_CHANNEL)}};
    int64_t *number = map_get(&drawing->link_of, key);
    row->link = number ? &drawing->links[*number] : NULL;
    if (number || drawing->link_count == MOST_LINKS)
        return 0;
    if (array_reserve((void **)&drawing->links, &drawing->link_capacity, drawing->link_count + 1,
                      sizeof *drawing->links) ||
        !map_put(&drawing->link_of, key, (int64_t)drawing->link_count, NULL))
        return -1;
    row->link = &drawing->links[drawing->link_count++];
    return name_link(drawing->canvas->job, operation, row, row->link);
}

static int draw_operation(struct canvas *canvas, const struct draw_proxies_row *row, struct error *error)
{
    const struct job_operation *operation = &canvas->job->operations[row->operation];
    const char *name = function_name((enum function)operation->function);
    const struct trace_argument arguments[] = {
        {"steps", NULL, statement_integer_or(row->statement, COLUMN_STEP_COUNT, 0)},
        {"bytes", NULL, statement_integer_or(row->statement, COLUMN_BYTES, 0)},
    };
    int64_t end_ns = statement_integer_or(row->statement, COLUMN_END, TIME_UNKNOWN);
    struct trace_event event = {
        .at_ns = common_clock_host(&canvas->clock, row->rank,
                                   statement_integer_or(row->statement, COLUMN_BEGIN, TIME_UNKNOWN)),
        .category = "proxy",
        .name = name ? name : "operation",
        .arguments = arguments,
        .argument_count = sizeof arguments / sizeof *arguments};
    if (event.at_ns == TIME_UNKNOWN)
        return 0;
    end_ns = end_ns == TIME_UNKNOWN ? INT64_MAX : common_clock_host(&canvas->clock, row->rank, end_ns);
    return track_group_draw(canvas, &row->link->operations, &event,
                            end_ns > event.at_ns ? end_ns : event.at_ns, error);
}

/* The names that NCCL's profiler uses. */
static const char *name_wait(enum wait_kind kind, int received)
{
    static const char *const names[WAIT_KINDS][2] = {
        [WAIT_BUFFER] = {"SendBufferWait", "RecvBufferWait"}, [WAIT_GPU] = {"SendGPUWait", "RecvGPUWait"},
        [WAIT_PEER] = {"SendPeerWait", "RecvPeerWait"},       [WAIT_NETWORK] = {"SendWait", "RecvWait"},
        [WAIT_FLUSH] = {"SendFlushWait", "RecvFlushWait"},
    };
    return names[kind][received];
}

/* A wait of a network step, on the common clock. */
struct waited {
    int64_t begin_ns;
    int64_t end_ns; /* INT64_MAX: it never ended */
    const char *name;
};

static int by_begin(const void *a, const void *b)
{
    const struct waited *left = a, *right = b;
    if (left->begin_ns != right->begin_ns)
        return left->begin_ns < right->begin_ns ? -1 : 1;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

/* Lists the waits that have a begin, in order. */
static size_t list_waits(const struct canvas *canvas, const struct draw_proxies_row *row,
                         const struct proxy_step *step, struct waited *list)
{
    size_t count = 0;
    for (int kind = 0; kind < WAIT_KINDS; kind++) {
        const struct interval_ns *wait = &step->wait[kind];
        if (wait->begin_ns == TIME_UNKNOWN)
            continue;
        int64_t begin_ns = common_clock_host(&canvas->clock, row->rank, wait->begin_ns);
        int64_t end_ns = wait->end_ns == TIME_UNKNOWN
                             ? INT64_MAX
                             : common_clock_host(&canvas->clock, row->rank, wait->end_ns);
        list[count++] = (struct waited){begin_ns, end_ns > begin_ns ? end_ns : begin_ns,
                                        name_wait((enum wait_kind)kind, row->received)};
    }
    array_sort(list, count, sizeof *list, by_begin);
    for (size_t i = 0; i + 1 < count; i++)
        if (list[i].end_ns > list[i + 1].begin_ns)
            list[i].end_ns = list[i + 1].begin_ns;
    return count;
}

static int draw_step(struct canvas *canvas, const struct draw_proxies_row *row, const struct proxy_step *step,
                     struct error *error)
{
    struct waited list[WAIT_KINDS];
    size_t count = list_waits(canvas, row, step, list);
    const struct trace_argument argument = {"step", NULL, step->step};
    struct track_group *group = &row->link->steps;
    int lane, failed = 0;
    if (!count)
        return 0;
    if (track_group_place(canvas, group, list[0].begin_ns, list[count - 1].end_ns, &lane, error) || lane < 0)
        return lane < 0 ? 0 : -1;
    for (size_t i = 0; !failed && i < count; i++) {
        const struct trace_event event = {.track = group->tracks[lane],
                                          .at_ns = list[i].begin_ns,
                                          .category = "proxy",
                                          .name = list[i].name,
                                          .arguments = &argument,
                                          .argument_count = 1};
        failed =
            trace_begin(&canvas->trace, &event, error) ||
            (list[i].end_ns != INT64_MAX && trace_end(&canvas->trace, event.track, list[i].end_ns, error));
    }
    return failed;
}

static int draw_steps(struct canvas *canvas, const struct draw_proxies_row *row, struct error *error)
{
    size_t length;
    const void *blob = statement_blob(row->statement, COLUMN_STEPS, &length);
    struct unpack unpack;
    struct proxy_step step;
    int more = 1;
    if (!blob)
        return 0;
    if (unpack_steps(&unpack, blob, length, statement_integer_or(row->statement, COLUMN_STEPS_BASE, 0)))
        more = -1;
    while (more == 1 && (more = unpack_next_step(&unpack, &step)) == 1)
        if (draw_step(canvas, row, &step, error))
            return -1;
    return more < 0 ? error_set(error, "operation %lld has damaged proxy steps",
                                (long long)statement_integer(row->statement, COLUMN_OPERATION))
                    : 0;
}

static int draw_row(struct drawing *drawing, struct statement *statement, struct error *error)
{
    struct canvas *canvas = drawing->canvas;
    const struct job *job = canvas->job;
    int64_t at = find_id(drawing->ids, job->operation_count, sizeof *drawing->ids, drawing->near,
                         statement_integer(statement, COLUMN_OPERATION));
    if (at < 0 || !canvas_shows(canvas, (size_t)drawing->ids[at].index))
        return 0;
    drawing->near = (size_t)at;
    if (statement_integer(statement, COLUMN_FILE) != drawing->file)
        forget_links(drawing);
    drawing->file = statement_integer(statement, COLUMN_FILE);
    struct draw_proxies_row row = {.statement = statement,
                                   .operation = (size_t)drawing->ids[at].index,
                                   .rank = job->operations[drawing->ids[at].index].rank,
                                   .received =
                                       statement_integer(statement, COLUMN_DIRECTION) == DIRECTION_RECV};
    if (find_link(drawing, &row))
        return error_no_memory(error);
    canvas->counts->crowded += !row.link;
    if (!row.link)
        return 0;
    if (!statement_integer_or(statement, COLUMN_CONTINUED, 0) && draw_operation(canvas, &row, error))
        return -1;
    return draw_steps(canvas, &row, error);
}

int draw_proxies(struct canvas *canvas, struct error *error)
{
    const struct job *job = canvas->job;
    struct drawing drawing = {.canvas = canvas, .ids = operations_by_id(job)};
    map_init(&drawing.link_of);
    struct statement *statement =
        drawing.ids ? store_prepare_for(job->store, schema_analysis_timeline_proxies, job->run_id, error)
                    : NULL;
    int more = statement ? 1 : drawing.ids ? -1 : error_no_memory(error);
    while (more == 1 && (more = statement_step(statement, error)) == 1)
        if (draw_row(&drawing, statement, error))
            more = -1;
    statement_free(statement);
    forget_links(&drawing);
    map_release(&drawing.link_of);
    free(drawing.links);
    free(drawing.ids);
    return more;
}
