/* Reads what nodes say of themselves from the store, and the wall clocks of ranks. */
#include "base/base.h"
#include "job/job.h"
#include "model/model.h"
#include "store/store.h"

#include "schemas.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void rank_clock_release(struct rank_clock *clock)
{
    free(clock->local);
    free(clock->real);
    *clock = (struct rank_clock){.pid = COUNT_UNKNOWN};
}

static struct statement *prepare_for_process(const struct job *job, const char *sql, int32_t rank,
                                             struct error *error)
{
    struct statement *row = store_prepare(job->store, sql, error);
    if (row && statement_bind_integer(row, 1, job->ranks[rank].process_id, error)) {
        statement_free(row);
        return NULL;
    }
    return row;
}

static int read_anchors(struct rank_clock *clock, struct statement *row, struct error *error)
{
    size_t local_capacity = 0, real_capacity = 0;
    int more;
    while ((more = statement_step(row, error)) == 1) {
        if (array_reserve((void **)&clock->local, &local_capacity, clock->count + 1, sizeof *clock->local) ||
            array_reserve((void **)&clock->real, &real_capacity, clock->count + 1, sizeof *clock->real))
            return error_no_memory(error);
        clock->local[clock->count] = statement_integer(row, 0);
        clock->real[clock->count++] = statement_integer(row, 1);
    }
    return more;
}

int rank_clock_load(struct rank_clock *clock, const struct job *job, int32_t rank, struct error *error)
{
    *clock = (struct rank_clock){.pid = COUNT_UNKNOWN};
    if (job->ranks[rank].process_id < 0)
        return 0;
    struct statement *row = prepare_for_process(job, schema_analysis_node_clock, rank, error);
    int found = row ? statement_step(row, error) : -1;
    if (found == 1) {
        clock->is_wall = statement_integer(row, 0) != 0;
        clock->pid = statement_integer(row, 1);
    }
    statement_free(row);
    row = found < 0 || clock->is_wall ? NULL
                                      : prepare_for_process(job, schema_analysis_node_anchors, rank, error);
    int failed = found < 0 || (!clock->is_wall && (!row || read_anchors(clock, row, error)));
    statement_free(row);
    return failed ? -1 : 0;
}

int rank_clock_is_known(const struct rank_clock *clock)
{
    return clock->is_wall || clock->count;
}

static int is_before(const void *item, const void *wanted)
{
    return *(const int64_t *)item < *(const int64_t *)wanted;
}

int64_t rank_clock_of(const struct rank_clock *clock, const struct job *job,
                      const struct job_operation *operation, int64_t device_ns)
{
    int64_t host_ns, wall_ns;
    if (device_ns == TIME_UNKNOWN || !rank_clock_is_known(clock) ||
        __builtin_add_overflow(device_ns, job_delay(job, operation), &host_ns))
        return TIME_UNKNOWN;
    if (clock->is_wall)
        return host_ns;
    size_t at = lower_bound(clock->local, clock->count, sizeof *clock->local, is_before, &host_ns);
    if (at == clock->count || (at && host_ns - clock->local[at - 1] < clock->local[at] - host_ns))
        at--;
    return __builtin_sub_overflow(host_ns, clock->local[at], &wall_ns) ||
                   __builtin_add_overflow(wall_ns, clock->real[at], &wall_ns)
               ? TIME_UNKNOWN
               : wall_ns;
}

void node_hosts_release(struct node_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        struct node_host *host = &hosts->items[i];
        for (size_t j = 0; j < host->gpu_count; j++) {
            free(host->gpus[j].bus_id);
            free(host->gpus[j].uuid);
        }
        free(host->gpus);
        free(host->name);
        free(host->names);
        free(host->boot_id);
    }
    free(hosts->items);
    *hosts = (struct node_hosts){.items = NULL};
}

/* NULL stays NULL. */
static int copy_text(struct statement *row, int column, char **text)
{
    *text = NULL;
    return !statement_is_null(row, column) && statement_copy_text(row, column, text);
}

static int are_equal(const char *one, const char *other)
{
    return one && other && strcmp(one, other) == 0;
}

/* The GPU that a fact is about, if an earlier one was about it. */
static struct node_gpu *find_gpu(struct node_host *host, const struct node_gpu *told)
{
    for (size_t i = 0; i < host->gpu_count; i++) {
        struct node_gpu *gpu = &host->gpus[i];
        if (are_equal(gpu->bus_id, told->bus_id) || are_equal(gpu->uuid, told->uuid) ||
            (!(gpu->bus_id && told->bus_id) && !(gpu->uuid && told->uuid) && gpu->index != COUNT_UNKNOWN &&
             gpu->index == told->index))
            return gpu;
    }
    return NULL;
}

/* Adds what the one says and the other does not; takes over its texts. */
static void complete_gpu(struct node_gpu *gpu, struct node_gpu *told)
{
    if (gpu->index == COUNT_UNKNOWN)
        gpu->index = told->index;
    if (!gpu->bus_id) {
        gpu->bus_id = told->bus_id;
        told->bus_id = NULL;
    }
    if (!gpu->uuid) {
        gpu->uuid = told->uuid;
        told->uuid = NULL;
    }
    free(told->bus_id);
    free(told->uuid);
}

/* Several files may contain the same fact. */
static int take_fact(struct node_host *host, struct statement *row)
{
    int64_t cores = statement_integer_or(row, 3, COUNT_UNKNOWN);
    host->cores = cores > host->cores ? cores : host->cores;
    if (!host->boot_id && copy_text(row, 4, &host->boot_id))
        return -1;
    if (statement_is_null(row, 0) && statement_is_null(row, 1) && statement_is_null(row, 2))
        return 0;
    if (array_reserve((void **)&host->gpus, &host->gpu_capacity, host->gpu_count + 1, sizeof *host->gpus))
        return -1;
    struct node_gpu told = {.index = statement_integer_or(row, 0, COUNT_UNKNOWN)};
    if (copy_text(row, 1, &told.bus_id) || copy_text(row, 2, &told.uuid)) {
        free(told.bus_id);
        return -1;
    }
    struct node_gpu *known = find_gpu(host, &told);
    if (known)
        complete_gpu(known, &told);
    else
        host->gpus[host->gpu_count++] = told;
    return 0;
}

static struct statement *prepare_for_host(const struct node_host *host, struct store *store, const char *sql,
                                          struct error *error)
{
    struct statement *row = store_prepare(store, sql, error);
    if (row && statement_bind_text(row, 1, host->names, error)) {
        statement_free(row);
        return NULL;
    }
    return row;
}

static int load_facts(struct node_host *host, struct store *store, struct error *error)
{
    struct statement *row = prepare_for_host(host, store, schema_analysis_node_facts, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take_fact(host, row))
            more = error_no_memory(error);
    statement_free(row);
    return more;
}

static int take_host(struct node_hosts *hosts, struct statement *row)
{
    if (array_reserve((void **)&hosts->items, &hosts->capacity, hosts->count + 1, sizeof *hosts->items))
        return -1;
    struct node_host *host = &hosts->items[hosts->count++];
    *host = (struct node_host){
        .covers = {statement_integer_or(row, 1, TIME_UNKNOWN), statement_integer_or(row, 2, TIME_UNKNOWN)},
        .cores = COUNT_UNKNOWN};
    return copy_text(row, 0, &host->name);
}

static int is_full(const char *name)
{
    return name && !isdigit((unsigned char)*name) && strchr(name, '.');
}

/* Whether all full names that agree with a name are the same, so that they and the short one are one host. */
static int is_of_one_host(const struct node_hosts *hosts, const char *name)
{
    const char *full = NULL;
    for (size_t i = 0; i < hosts->count; i++) {
        const char *other = hosts->items[i].name;
        size_t length = other ? strcspn(other, ".") : 0;
        if (!is_full(other) || length != strcspn(name, ".") || strncasecmp(other, name, length) != 0)
            continue;
        if (full && strcasecmp(full, other) != 0)
            return 0;
        full = other;
    }
    return 1;
}

static int add_name(struct buffer *names, const char *name)
{
    return buffer_append_text(names, names->length ? "," : "[") ||
           (name ? text_json_quote(names, name) : buffer_append_text(names, "null"));
}

/* Whether two names are of one host: equal, or one is the first label of the other; without case. */
static int do_names_agree(const char *one, const char *other)
{
    size_t length = one && other ? strcspn(one, ".") : 0, other_length = other ? strcspn(other, ".") : 0;
    if (!one || !other || !length || length != other_length || strncasecmp(one, other, length) != 0)
        return 0;
    /* Addresses have dots, too. */
    if (isdigit((unsigned char)*one))
        return strcmp(one, other) == 0;
    return !one[length] || !other[length] || strcasecmp(one, other) == 0;
}

/* Unites the hosts whose names agree with that of host `at`, which lists them all. */
static int unite(struct node_hosts *hosts, size_t at)
{
    struct node_host *host = &hosts->items[at];
    struct buffer names = BUFFER_INIT;
    size_t kept = at + 1;
    int failed = add_name(&names, host->name), is_one = host->name && is_of_one_host(hosts, host->name);
    for (size_t i = at + 1; i < hosts->count; i++) {
        struct node_host *other = &hosts->items[i];
        if (failed || !is_one || !do_names_agree(host->name, other->name)) {
            hosts->items[kept++] = *other;
            continue;
        }
        failed = add_name(&names, other->name);
        if (other->covers.begin_ns != TIME_UNKNOWN)
            interval_widen(&host->covers, other->covers);
        free(other->name);
    }
    hosts->count = kept;
    if (failed || buffer_append_byte(&names, ']')) {
        buffer_release(&names);
        return -1;
    }
    host->names = names.data;
    return 0;
}

int32_t node_hosts_find(const struct node_hosts *hosts, const char *name)
{
    int32_t found = -1;
    for (size_t i = 0; i < hosts->count; i++) {
        const char *other = hosts->items[i].name;
        if (other && name && strcasecmp(other, name) == 0)
            return (int32_t)i;
        if (do_names_agree(other, name))
            found = found == -1 ? (int32_t)i : -2;
    }
    return found < 0 ? -1 : found;
}

static int has_any(struct store *store, struct error *error)
{
    struct statement *row = store_prepare(store, schema_analysis_node_has_any, error);
    int found = row ? statement_step(row, error) : -1;
    int has = found == 1 ? statement_integer(row, 0) != 0 : found;
    statement_free(row);
    return has;
}

int node_hosts_load(struct node_hosts *hosts, struct store *store, struct error *error)
{
    *hosts = (struct node_hosts){.items = NULL};
    int has = has_any(store, error);
    if (has <= 0)
        return has;
    struct statement *row = store_prepare(store, schema_analysis_node_hosts, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take_host(hosts, row))
            more = error_no_memory(error);
    statement_free(row);
    for (size_t i = 0; more == 0 && i < hosts->count; i++)
        if (unite(hosts, i))
            more = error_no_memory(error);
    for (size_t i = 0; more == 0 && i < hosts->count; i++)
        more = load_facts(&hosts->items[i], store, error);
    return more;
}

/* ---- samples ---- */

/* What is known of the series that is being read. */
struct series_reader {
    struct block_reader block;
    char *key;        /* owned: place, metric, tool and device of the last block; NULL before the first */
    int64_t last_ns;  /* the last sample's time in this series; TIME_UNKNOWN */
    int64_t total_ns; /* the last total's time, and the total; TIME_UNKNOWN */
    double total;
    struct interval_ns within;
    node_reading_taker take;
    void *context;
};

enum { BLOCK_ID, PLACE, DEVICE, METRIC, ERROR_NS, DIVISOR, PACKED, PATH, DIALECT };

/* A gauge of one moment counts for the time since the sample before, up to this. */
#define MOMENT_HOLDS_NS (INT64_C(60) * 1000000000)

static int begin_series(struct series_reader *reader, struct statement *row)
{
    struct buffer key = BUFFER_INIT;
    const char *device = statement_text(row, DEVICE), *dialect = statement_text(row, DIALECT);
    if (buffer_printf(&key, "%lld %lld %s %s", (long long)statement_integer(row, PLACE),
                      (long long)statement_integer(row, METRIC), dialect ? dialect : "",
                      device ? device : "")) {
        buffer_release(&key);
        return -1;
    }
    if (reader->key && strcmp(reader->key, key.data) == 0) {
        buffer_release(&key);
        return 0;
    }
    free(reader->key);
    reader->key = key.data;
    reader->last_ns = reader->total_ns = TIME_UNKNOWN;
    return 0;
}

static int hand_on(const struct series_reader *reader, struct node_reading *reading,
                   struct interval_ns during, double value)
{
    if (during.end_ns < reader->within.begin_ns || during.begin_ns > reader->within.end_ns)
        return 0;
    reading->during = during;
    reading->value = value;
    return reader->take(reader->context, reading);
}

/* Two totals give an increase, unless the counter began again; of a time, its share of the time in between.
 */
static int take_total(struct series_reader *reader, struct node_reading *reading, int64_t at_ns, double total)
{
    struct interval_ns during = {reader->total_ns, at_ns};
    double increase = total - reader->total;
    int is_known = during.begin_ns != TIME_UNKNOWN && during.begin_ns < at_ns && increase >= 0;
    reader->total_ns = at_ns;
    reader->total = total;
    reading->moment_ns = TIME_UNKNOWN;
    if (!is_known)
        return 0;
    if (!node_metric_is_counter(reading->metric))
        increase /= (double)(at_ns - during.begin_ns);
    return hand_on(reader, reading, during, increase);
}

/* A file has the total of its first moment, and increases from there: the next total counts from their end.
 */
static void advance_total(struct series_reader *reader, enum node_metric metric, struct interval_ns during,
                          double value)
{
    if (reader->total_ns == TIME_UNKNOWN || during.begin_ns != reader->total_ns)
        return;
    reader->total +=
        node_metric_is_counter(metric) ? value : value * (double)(during.end_ns - during.begin_ns);
    reader->total_ns = during.end_ns;
}

static int take_sample(struct series_reader *reader, struct node_reading *reading, size_t row,
                       int64_t divisor)
{
    const struct block_reader *block = &reader->block;
    if (block->absent[NODE_SAMPLE_AT][row] || block->absent[NODE_SAMPLE_VALUE][row])
        return 0;
    double value = (double)block->values[NODE_SAMPLE_VALUE][row] / (double)divisor;
    struct interval_ns during = {block->values[NODE_SAMPLE_BEGIN][row], block->values[NODE_SAMPLE_AT][row]};
    if (block->absent[NODE_SAMPLE_BEGIN][row])
        return take_total(reader, reading, during.end_ns, value);
    advance_total(reader, reading->metric, during, value);
    int64_t before_ns = reader->last_ns;
    reader->last_ns = during.end_ns;
    reading->moment_ns = during.begin_ns >= during.end_ns ? during.end_ns : TIME_UNKNOWN;
    if (during.begin_ns >= during.end_ns && before_ns != TIME_UNKNOWN && before_ns < during.end_ns)
        during.begin_ns =
            during.end_ns - before_ns < MOMENT_HOLDS_NS ? before_ns : during.end_ns - MOMENT_HOLDS_NS;
    return hand_on(reader, reading, during, value);
}

static int take_block(struct series_reader *reader, struct statement *row, struct error *error)
{
    static const int wanted[] = {NODE_SAMPLE_BEGIN, NODE_SAMPLE_AT, NODE_SAMPLE_VALUE};
    size_t length;
    const void *packed = statement_blob(row, PACKED, &length);
    int64_t id = statement_integer(row, BLOCK_ID), divisor = statement_integer(row, DIVISOR);
    if (begin_series(reader, row))
        return error_no_memory(error);
    if (stored_block_open(&reader->block, id, packed, length, error) ||
        stored_block_unpack(&reader->block, id, wanted, sizeof wanted / sizeof *wanted, error))
        return -1;
    struct node_reading reading = {.place = (enum node_place)statement_integer(row, PLACE),
                                   .device = statement_text(row, DEVICE),
                                   .metric = (enum node_metric)statement_integer(row, METRIC),
                                   .error_ns = statement_integer(row, ERROR_NS),
                                   .file = statement_text(row, PATH)};
    for (size_t i = 0; i < reader->block.count; i++)
        if (take_sample(reader, &reading, i, divisor > 0 ? divisor : 1))
            return error_no_memory(error);
    return 0;
}

int node_samples_read(const struct node_host *host, struct store *store, struct interval_ns within,
                      node_reading_taker take, void *context, struct error *error)
{
    struct series_reader reader = {.last_ns = TIME_UNKNOWN,
                                   .total_ns = TIME_UNKNOWN,
                                   .within = within,
                                   .take = take,
                                   .context = context};
    struct statement *row = prepare_for_host(host, store, schema_analysis_node_samples, error);
    int more = row && !statement_bind_integer(row, 2, within.begin_ns, error) &&
                       !statement_bind_integer(row, 3, within.end_ns, error)
                   ? 1
                   : -1;
    block_reader_init(&reader.block, &node_sample_layout);
    while (more == 1 && (more = statement_step(row, error)) == 1)
        if (take_block(&reader, row, error))
            more = -1;
    statement_free(row);
    block_reader_release(&reader.block);
    free(reader.key);
    return more;
}

int node_messages_read(const struct node_host *host, struct store *store, node_message_taker take,
                       void *context, struct error *error)
{
    struct statement *row = prepare_for_host(host, store, schema_analysis_node_events, error);
    int more = row ? 1 : -1;
    while (more == 1 && (more = statement_step(row, error)) == 1) {
        struct node_message message = {.said = {.place = (enum node_place)statement_integer(row, 0),
                                                .device = statement_text(row, 1),
                                                .code = (enum node_event_code)statement_integer(row, 2),
                                                .number = statement_integer_or(row, 3, COUNT_UNKNOWN),
                                                .at_ns = statement_integer_or(row, 4, TIME_UNKNOWN),
                                                .since_boot_ns = TIME_UNKNOWN,
                                                .error_ns = statement_integer(row, 5),
                                                .pid = statement_integer_or(row, 6, COUNT_UNKNOWN),
                                                .process = statement_text(row, 7),
                                                .text = statement_text(row, 8)},
                                       .file = statement_text(row, 9)};
        if (take(context, &message))
            more = error_no_memory(error);
    }
    statement_free(row);
    return more;
}
