/*
 * Reads the tables of an nsys export: NCCL's calls with their payloads, its kernels with their launches, and
 * the members of its communicators.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/nsys/nsys.h"
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

/* Limit on the payload layouts, above the number that any program registers. */
enum { LAYOUTS_MOST = 1 << 16 };

enum { HEAD_BYTES = 32, SCHEMA_AT = 8 };

static const struct {
    const char *name;
    size_t bytes;
} fields[NSYS_FIELDS] = {
    [NSYS_COMMUNICATOR] = {"NCCL communicator ID", 8},
    [NSYS_BYTES] = {"Message size [bytes]", 8},
    [NSYS_ROOT] = {"Root", 4},
    [NSYS_PEER] = {"Peer rank", 4},
    [NSYS_RANKS] = {"No. of ranks", 4},
    [NSYS_RANK] = {"Rank", 4},
    [NSYS_DEVICE] = {"CUDA device", 4},
    [NSYS_FUNCTION] = {"Collective", 4},
    [NSYS_ALGORITHM] = {"Algorithm", 4},
    [NSYS_PROTOCOL] = {"Protocol", 4},
    [NSYS_CHANNELS] = {"No. of channels", 4},
};

static void nsys_layouts_release(struct nsys_layouts *layouts)
{
    free(layouts->items);
}

static int find_field(const struct foreign_value *name, enum nsys_field *field)
{
    for (int i = 0; i < NSYS_FIELDS && name->kind == FOREIGN_TEXT; i++)
        if (strcmp(name->bytes, fields[i].name) == 0) {
            *field = (enum nsys_field)i;
            return 1;
        }
    return 0;
}

/*
 * Reads the export's list of layouts; without one, `layouts` stays empty. Returns -1 with an error if it
 * cannot be read.
 */
static int nsys_layouts_read(struct nsys_layouts *layouts, const struct foreign_tables *tables,
                             struct error *error)
{
    static const char *const columns[] = {"domainId", "schemaId", "name", "offset"};
    struct foreign_value row[4];
    int more = tables->open(tables->context, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns, 4, error);
    while (more == 1 && (more = tables->next(tables->context, row, error)) == 1) {
        struct nsys_layout layout = {.domain = row[0].integer, .schema = row[1].integer};
        if (!find_field(&row[2], &layout.field) || row[3].integer < 0 ||
            row[3].integer > FOREIGN_COLUMNS * 64 || layouts->count == LAYOUTS_MOST)
            continue;
        layout.offset = (size_t)row[3].integer;
        layouts->has_protocol |= layout.field == NSYS_PROTOCOL;
        if (array_reserve((void **)&layouts->items, &layouts->capacity, layouts->count + 1, sizeof layout))
            return error_no_memory(error);
        layouts->items[layouts->count++] = layout;
    }
    return more;
}

static uint64_t number_at(const char *at, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i-- > 0;)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

void nsys_payload_take(const struct nsys_layouts *layouts, const struct foreign_value *blob,
                       struct nsys_payload *payload)
{
    *payload = (struct nsys_payload){{0}, {0}};
    if (blob->kind != FOREIGN_BLOB || blob->length < HEAD_BYTES)
        return;
    int64_t domain = (int64_t)number_at(blob->bytes, 4);
    int64_t schema = (int64_t)number_at(blob->bytes + SCHEMA_AT, 4);
    for (size_t i = 0; i < layouts->count; i++) {
        const struct nsys_layout *layout = &layouts->items[i];
        size_t bytes = fields[layout->field].bytes, at = HEAD_BYTES + layout->offset;
        if (layout->domain != domain || layout->schema != schema || at + bytes > blob->length)
            continue;
        uint64_t number = number_at(blob->bytes + at, bytes);
        payload->is_there[layout->field] = 1;
        payload->value[layout->field] = bytes == 4 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number;
    }
}

/*
 * What is read of an export: NCCL's calls (NVTX ranges), its kernels with their launches, and the members of
 * its communicators. Times are nanoseconds since the recording began. Memory holds one record for each of
 * these; all other rows are skipped one by one. Tables and columns: NVIDIA's schema reference for Nsight
 * Systems 2026.4.
 */

/* Limit on the records of each kind; a note is made if there are more. */
enum { NSYS_MOST = 1 << 24 };

void nsys_profile_init(struct nsys_profile *profile, const struct foreign_tables *tables,
                       const struct format_sink *sink)
{
    *profile = (struct nsys_profile){.sink = sink, .tables = tables};
    intern_init(&profile->texts);
    map_init(&profile->text_of);
    map_init(&profile->kernel_of);
    map_init(&profile->threads);
    map_init(&profile->uuid_of);
}

void nsys_profile_release(struct nsys_profile *profile)
{
    nsys_layouts_release(&profile->layouts);
    intern_release(&profile->texts);
    map_release(&profile->text_of);
    map_release(&profile->kernel_of);
    map_release(&profile->threads);
    map_release(&profile->uuid_of);
    buffer_release(&profile->host);
    free(profile->calls);
    free(profile->kernels);
    free(profile->tasks);
    free(profile->ranges);
    free(profile->member_list);
}

static int is_known(const struct foreign_value *value)
{
    return value->kind == FOREIGN_INTEGER;
}

static int64_t integer_or(const struct foreign_value *value, int64_t otherwise)
{
    return is_known(value) ? value->integer : otherwise;
}

/* Times beyond this are refused: no recording is so long, and sums of two would overflow. */
static int64_t moment_of(const struct foreign_value *value)
{
    return is_known(value) && value->integer >= 0 && value->integer < INT64_MAX / 4 ? value->integer
                                                                                    : TIME_UNKNOWN;
}

static int begin_table(const struct nsys_profile *profile, const char *table, const char *const *columns,
                       size_t count, struct error *error)
{
    return profile->tables->open(profile->tables->context, table, columns, count, error);
}

static int next_row(const struct nsys_profile *profile, struct foreign_value *row, struct error *error)
{
    return profile->tables->next(profile->tables->context, row, error);
}

/* A profile of Python has millions of texts: only NCCL's and descriptions of calls are kept here. */
static int read_texts(struct nsys_profile *profile, struct error *error)
{
    static const char *const columns[] = {"id", "value"};
    struct foreign_value row[2];
    int more = begin_table(profile, "StringIds", columns, 2, error);
    while (more == 1 && (more = next_row(profile, row, error)) == 1) {
        if (!is_known(&row[0]) || row[1].kind != FOREIGN_TEXT ||
            (strncmp(row[1].bytes, "nccl", 4) != 0 &&
             !call_line_is_candidate((struct text){row[1].bytes, row[1].length})))
            continue;
        int64_t text = intern_put(&profile->texts, row[1].bytes, row[1].length);
        if (text < 0 || !map_put(&profile->text_of, (struct map_key){{(uint64_t)row[0].integer}}, text, NULL))
            return error_no_memory(error);
    }
    return more;
}

static const char *text_of(const struct nsys_profile *profile, const struct foreign_value *number)
{
    const int64_t *text =
        is_known(number) ? map_get(&profile->text_of, (struct map_key){{(uint64_t)number->integer}}) : NULL;
    return text ? intern_text(&profile->texts, *text) : NULL;
}

static int read_start(struct nsys_profile *profile, struct error *error)
{
    static const char *const columns[] = {"utcEpochNs"};
    struct foreign_value row[1];
    int more = begin_table(profile, "TARGET_INFO_SESSION_START_TIME", columns, 1, error);
    if (more == 1 && (more = next_row(profile, row, error)) == 1)
        profile->epoch_ns = moment_of(&row[0]) == TIME_UNKNOWN ? 0 : row[0].integer;
    return more < 0 ? -1 : 0;
}

static int read_host(struct nsys_profile *profile, struct error *error)
{
    static const char *const columns[] = {"name", "value"};
    struct foreign_value row[2];
    int more = begin_table(profile, "TARGET_INFO_SYSTEM_ENV", columns, 2, error);
    while (more == 1 && (more = next_row(profile, row, error)) == 1) {
        int is_name = row[0].kind == FOREIGN_TEXT && strcmp(row[0].bytes, "Hostname") == 0;
        if (!is_name || row[1].kind != FOREIGN_TEXT || profile->host.length)
            continue;
        if (buffer_append(&profile->host, row[1].bytes, strlen(row[1].bytes)))
            return error_no_memory(error);
    }
    return more;
}

static int read_devices(struct nsys_profile *profile, struct error *error)
{
    static const char *const columns[] = {"cudaId", "pid", "uuid"};
    struct foreign_value row[3];
    int more = begin_table(profile, "TARGET_INFO_CUDA_DEVICE", columns, 3, error);
    while (more == 1 && (more = next_row(profile, row, error)) == 1) {
        if (!is_known(&row[0]) || !is_known(&row[1]) || row[2].kind != FOREIGN_TEXT)
            continue;
        struct map_key key = {{(uint64_t)row[1].integer, (uint64_t)row[0].integer}};
        int64_t text = intern_put(&profile->texts, row[2].bytes, row[2].length);
        if (text < 0 || !map_put(&profile->uuid_of, key, text, NULL))
            return error_no_memory(error);
    }
    return more;
}

static int is_full(struct nsys_profile *profile, size_t count)
{
    profile->is_full |= count >= NSYS_MOST;
    return count >= NSYS_MOST;
}

static int add_member(struct nsys_profile *profile, int64_t thread, const struct nsys_payload *payload)
{
    struct nsys_member member = {.process = nsys_process_of(thread),
                                 .communicator_hash = (uint64_t)payload->value[NSYS_COMMUNICATOR],
                                 .rank = payload->value[NSYS_RANK],
                                 .size = payload->is_there[NSYS_RANKS] && payload->value[NSYS_RANKS] > 0
                                             ? payload->value[NSYS_RANKS]
                                             : 0,
                                 .device = payload->is_there[NSYS_DEVICE] && payload->value[NSYS_DEVICE] >= 0
                                               ? payload->value[NSYS_DEVICE]
                                               : COUNT_UNKNOWN};
    if (!member.communicator_hash || !payload->is_there[NSYS_RANK] || member.rank < 0 ||
        is_full(profile, profile->member_list_count))
        return 0;
    if (array_reserve((void **)&profile->member_list, &profile->member_capacity,
                      profile->member_list_count + 1, sizeof *profile->member_list))
        return -1;
    profile->member_list[profile->member_list_count++] = member;
    return 0;
}

static int64_t natural(const struct nsys_payload *payload, enum nsys_field field)
{
    return payload->is_there[field] && payload->value[field] >= 0 ? payload->value[field] : COUNT_UNKNOWN;
}

static int add_call(struct nsys_profile *profile, const struct nsys_call *call)
{
    if (is_full(profile, profile->call_count))
        return 0;
    if (array_reserve((void **)&profile->calls, &profile->call_capacity, profile->call_count + 1,
                      sizeof *profile->calls))
        return -1;
    profile->calls[profile->call_count++] = *call;
    return 0;
}

enum {
    RANGE_BEGIN,
    RANGE_END,
    RANGE_TYPE,
    RANGE_TEXT,
    RANGE_TEXT_NUMBER,
    RANGE_DOMAIN,
    RANGE_THREAD,
    RANGE_BLOB,
    RANGE_COLUMNS
};

/* Takes a call of NCCL's API. Its other ranges ("ncclGroupEnd") move no data. */
static int take_call(struct nsys_profile *profile, const struct nsys_row *row, const char *name,
                     const struct nsys_payload *payload)
{
    enum function function = function_from_text(name, strlen(name));
    if (!map_put(&profile->threads, (struct map_key){{(uint64_t)row->thread}}, 1, NULL))
        return -1;
    if (function <= FUNCTION_OTHER)
        return strncmp(name, "ncclComm", 8) == 0 ? add_member(profile, row->thread, payload) : 0;
    struct nsys_call call = {.thread = row->thread,
                             .api = row->at,
                             .function = function,
                             .communicator_hash = payload->is_there[NSYS_COMMUNICATOR]
                                                      ? (uint64_t)payload->value[NSYS_COMMUNICATOR]
                                                      : 0,
                             .bytes = natural(payload, NSYS_BYTES),
                             .root = natural(payload, NSYS_ROOT),
                             .peer = natural(payload, NSYS_PEER),
                             .first_kernel = -1,
                             .last_kernel = -1,
                             .task = -1,
                             .row = row->row};
    return add_call(profile, &call);
}

/* NCCL's number as one of ours; 0 (unknown) if it is beyond those of NCCL 2.30. */
static int from_number(int64_t number, const int *known, size_t count)
{
    return number >= 0 && (size_t)number < count ? known[number] : 0;
}

static int add_task(struct nsys_profile *profile, const struct nsys_row *row,
                    const struct nsys_payload *payload)
{
    static const int functions[] = {FUNCTION_BROADCAST, FUNCTION_REDUCE, FUNCTION_ALL_GATHER,
                                    FUNCTION_REDUCE_SCATTER, FUNCTION_ALL_REDUCE};
    static const int algorithms[] = {ALGORITHM_TREE,
                                     ALGORITHM_RING,
                                     ALGORITHM_COLLNET_DIRECT,
                                     ALGORITHM_COLLNET_CHAIN,
                                     ALGORITHM_NVLS,
                                     ALGORITHM_NVLS_TREE,
                                     ALGORITHM_PAT};
    static const int protocols[] = {PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_SIMPLE};
    const int64_t *value = payload->value;
    struct nsys_task task = {
        .thread = row->thread,
        .begin_ns = row->at.begin_ns,
        .communicator_hash = (uint64_t)value[NSYS_COMMUNICATOR],
        .function = (enum function)(
            payload->is_there[NSYS_FUNCTION]
                ? from_number(value[NSYS_FUNCTION], functions, sizeof functions / sizeof *functions)
                : 0),
        .bytes = natural(payload, NSYS_BYTES),
        .algorithm = (enum algorithm)(
            payload->is_there[NSYS_ALGORITHM]
                ? from_number(value[NSYS_ALGORITHM], algorithms, sizeof algorithms / sizeof *algorithms)
                : 0),
        .protocol =
            (enum protocol)from_number(value[NSYS_PROTOCOL], protocols, sizeof protocols / sizeof *protocols),
        .channel_count = natural(payload, NSYS_CHANNELS)};
    if (is_full(profile, profile->task_count))
        return 0;
    if (array_reserve((void **)&profile->tasks, &profile->task_capacity, profile->task_count + 1,
                      sizeof *profile->tasks))
        return -1;
    profile->tasks[profile->task_count++] = task;
    return 0;
}

static struct nsys_row row_of(const struct foreign_value *row, const char *known_text, uint64_t at)
{
    return (struct nsys_row){.thread = row[RANGE_THREAD].integer,
                             .at = {moment_of(&row[RANGE_BEGIN]), moment_of(&row[RANGE_END])},
                             .type = integer_or(&row[RANGE_TYPE], COUNT_UNKNOWN),
                             .domain = integer_or(&row[RANGE_DOMAIN], 0),
                             .text =
                                 row[RANGE_TEXT].kind == FOREIGN_TEXT ? row[RANGE_TEXT].bytes : known_text,
                             .number = integer_or(&row[RANGE_TEXT_NUMBER], COUNT_UNKNOWN),
                             .row = at};
}

/* Takes a row of NVTX_EVENTS: a call, a task or a range of the program. */
static int take_row(struct nsys_profile *profile, struct call_reader *calls,
                    const struct foreign_value *values, const struct nsys_row *row, struct error *error)
{
    struct nsys_payload payload;
    int is_call = row->text && strncmp(row->text, "nccl", 4) == 0;
    if (is_call || profile->layouts.has_protocol)
        nsys_payload_take(&profile->layouts, &values[RANGE_BLOB], &payload);
    if (profile->layouts.has_protocol && payload.is_there[NSYS_PROTOCOL])
        return add_task(profile, row, &payload) ? error_no_memory(error) : 0;
    if (is_call)
        return take_call(profile, row, row->text, &payload) ? error_no_memory(error) : 0;
    return nsys_take_range(profile, calls, row, error);
}

static int read_ranges(struct nsys_profile *profile, struct error *error)
{
    static const char *const columns[RANGE_COLUMNS] = {"start",  "end",      "eventType", "text",
                                                       "textId", "domainId", "globalTid", "binaryData"};
    struct foreign_value values[RANGE_COLUMNS];
    struct call_reader calls;
    uint64_t at = 0;
    call_reader_init(&calls, 0);
    int more = begin_table(profile, "NVTX_EVENTS", columns, RANGE_COLUMNS, error);
    for (; more == 1 && (more = next_row(profile, values, error)) == 1; at++) {
        struct nsys_row row = row_of(values, text_of(profile, &values[RANGE_TEXT_NUMBER]), at);
        if (is_known(&values[RANGE_THREAD]) && row.at.begin_ns != TIME_UNKNOWN &&
            take_row(profile, &calls, values, &row, error))
            more = -1;
    }
    call_reader_release(&calls);
    return more;
}

enum {
    KERNEL_BEGIN,
    KERNEL_END,
    KERNEL_DEVICE,
    KERNEL_STREAM,
    KERNEL_CORRELATION,
    KERNEL_PROCESS,
    KERNEL_NAME,
    KERNEL_FULL_NAME,
    KERNEL_GRAPH,
    KERNEL_COLUMNS
};

static void take_name(const char *name, struct nsys_kernel *kernel)
{
    static const char mark[] = "DevKernel_";
    const char *rest = strstr(name, mark);
    kernel->is_symmetric = strncmp(name, "ncclSym", 7) == 0;
    if (kernel->is_symmetric && rest)
        kernel->algorithm =
            algorithm_from_symmetric_kernel(rest + sizeof mark - 1, strlen(rest + sizeof mark - 1));
}

static int add_kernel(struct nsys_profile *profile, const struct foreign_value *row, const char *name)
{
    struct nsys_kernel kernel = {.process = nsys_process_of(integer_or(&row[KERNEL_PROCESS], 0)),
                                 .correlation = integer_or(&row[KERNEL_CORRELATION], -1),
                                 .device = {moment_of(&row[KERNEL_BEGIN]), moment_of(&row[KERNEL_END])},
                                 .launch = {TIME_UNKNOWN, TIME_UNKNOWN},
                                 .thread = -1,
                                 .number = integer_or(&row[KERNEL_DEVICE], COUNT_UNKNOWN),
                                 .stream = integer_or(&row[KERNEL_STREAM], 0),
                                 .has_graph = integer_or(&row[KERNEL_GRAPH], 0) != 0};
    struct map_key key = {{(uint64_t)kernel.process, (uint64_t)kernel.correlation}};
    if (kernel.device.begin_ns == TIME_UNKNOWN || kernel.device.end_ns < kernel.device.begin_ns ||
        is_full(profile, profile->kernel_count))
        return 0;
    take_name(name, &kernel);
    if (array_reserve((void **)&profile->kernels, &profile->kernel_capacity, profile->kernel_count + 1,
                      sizeof *profile->kernels) ||
        (kernel.correlation >= 0 && !kernel.has_graph &&
         !map_put(&profile->kernel_of, key, (int64_t)profile->kernel_count, NULL)))
        return -1;
    profile->kernels[profile->kernel_count++] = kernel;
    return 0;
}

static int read_kernels(struct nsys_profile *profile, struct error *error)
{
    static const char *const columns[KERNEL_COLUMNS] = {"start",         "end",           "deviceId",
                                                        "streamId",      "correlationId", "globalPid",
                                                        "demangledName", "mangledName",   "graphId"};
    struct foreign_value row[KERNEL_COLUMNS];
    int more = begin_table(profile, "CUPTI_ACTIVITY_KIND_KERNEL", columns, KERNEL_COLUMNS, error);
    while (more == 1 && (more = next_row(profile, row, error)) == 1) {
        const char *name = text_of(profile, &row[KERNEL_NAME]);
        if (!name)
            name = text_of(profile, &row[KERNEL_FULL_NAME]);
        if (name && (strstr(name, "Kernel") || strstr(name, "kernel")) && add_kernel(profile, row, name))
            return error_no_memory(error);
    }
    return more;
}

/* Reads the launches of NCCL's kernels among all CUDA calls of the program. */
static int read_launches(struct nsys_profile *profile, struct error *error)
{
    static const char *const columns[] = {"start", "end", "globalTid", "correlationId"};
    struct foreign_value row[4];
    int more = begin_table(profile, "CUPTI_ACTIVITY_KIND_RUNTIME", columns, 4, error);
    while (more == 1 && (more = next_row(profile, row, error)) == 1) {
        if (!is_known(&row[2]) || !is_known(&row[3]) || moment_of(&row[0]) == TIME_UNKNOWN)
            continue;
        struct map_key key = {{(uint64_t)nsys_process_of(row[2].integer), (uint64_t)row[3].integer}};
        const int64_t *at = map_get(&profile->kernel_of, key);
        if (!at || profile->kernels[*at].thread >= 0)
            continue;
        profile->kernels[*at].thread = row[2].integer;
        profile->kernels[*at].launch = (struct interval_ns){row[0].integer, moment_of(&row[1])};
    }
    return more;
}

int nsys_profile_read(struct nsys_profile *profile, struct error *error)
{
    return nsys_layouts_read(&profile->layouts, profile->tables, error) || read_texts(profile, error) ||
                   read_start(profile, error) || read_host(profile, error) || read_devices(profile, error) ||
                   read_ranges(profile, error) || read_kernels(profile, error) ||
                   read_launches(profile, error) || nsys_read_range_texts(profile, error)
               ? -1
               : 0;
}
