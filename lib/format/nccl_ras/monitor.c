/*
 * Reads what `ncclras -m` prints, as text or JSON, while it watches a job: one event per change of a process.
 * Processes that are dead or unresponsive in the end are handed over. Source: NVIDIA/nccl,
 * src/ras/client_support.cc, rasClientsNotifyEvent(), since NCCL 2.29.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/internal.h"
#include "format/nccl_ras/nccl_ras.h"
#include "input/input.h"
#include "model/model.h"

#include <string.h>

static const char first_key[] = "\"timestamp\"";

/* The length of "[2026-03-02 10:15:00] ". */
enum { STAMP_BYTES = 22 };

/* The names of an event stand within its first bytes. */
enum { EVENT_BYTES = 512 };

/* An event, with the process that it is about. */
struct change {
    struct text name;
    int64_t pid;
    int64_t gpu; /* the first of several */
    struct text host;
    int64_t at_ns;
};

struct monitor {
    const struct format_sink *sink;
    struct ras_members *member_list;
    struct map processes; /* (host, pid) -> index of the member that represents the process */
    struct json json;
};

static int note(const struct monitor *monitor, const char *reason, int damage, struct text text,
                uint64_t offset, struct error *error)
{
    return monitor->sink->note(monitor->sink->context, reason, damage, offset, text.data, text.length, error);
}

/* The member that represents a process; NULL if memory is out. */
static struct ras_member *find_process(struct monitor *monitor, const struct change *change, uint64_t offset)
{
    struct ras_members *member_list = monitor->member_list;
    struct ras_member member = ras_member_of(0, 0, COUNT_UNKNOWN, offset);
    int added = 0;
    member.pid = change->pid;
    member.gpu = change->gpu;
    member.is_void = 1;
    if (ras_members_host(member_list, change->host.data, change->host.length, &member.host))
        return NULL;
    int64_t *index =
        map_put(&monitor->processes, (struct map_key){{(uint64_t)member.host, (uint64_t)member.pid}},
                (int64_t)member_list->count, &added);
    if (!index || (added && ras_members_put(member_list, &member)))
        return NULL;
    return &member_list->items[*index];
}

/* A dead process stays dead; one that did not respond may respond again. */
static void take_state(struct ras_member *member, struct text name)
{
    if (text_is(name, "PEER_DEAD"))
        member->missing = WARNING_DEAD;
    else if (member->missing != WARNING_DEAD)
        member->missing = text_is(name, "PEER_RECOVERED") || text_is(name, "PEER_CONNECTED") ? WARNING_OTHER
                                                                                             : WARNING_SILENT;
    member->is_void = member->missing == WARNING_OTHER;
}

static int take_change(struct monitor *monitor, const struct change *change, struct text text,
                       uint64_t offset, struct error *error)
{
    static const char *const states[] = {"PEER_DEAD", "PEER_UNRESPONSIVE", "PEER_RECOVERED",
                                         "PEER_CONNECTED"};
    int is_state = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        is_state |= text_is(change->name, states[i]);
    if (!is_state)
        return note(monitor, "event of RAS's monitor", 0, text, offset, error);
    if (change->pid < 0 || !change->host.length)
        return note(monitor, "event of a process that is not named", 0, text, offset, error);
    if (monitor->member_list->count >= RAS_MEMBERS_MOST)
        return note(monitor, "more ranks than a job can have", 1, text, offset, error);
    struct ras_member *member = find_process(monitor, change, offset);
    if (!member)
        return error_no_memory(error);
    take_state(member, change->name);
    monitor->member_list->at_ns = change->at_ns;
    return 0;
}

/* "[2026-03-02 10:15:00] PEER_DEAD: Process 41 on node 10.0.0.1 managing GPU 0 ..." */
static int take_line(struct monitor *monitor, struct text text, uint64_t offset, struct error *error)
{
    struct change change = {.pid = COUNT_UNKNOWN};
    const char *colon = text.length > STAMP_BYTES && text.data[0] == '['
                            ? memchr(text.data + STAMP_BYTES, ':', text.length - STAMP_BYTES)
                            : NULL;
    if (!colon || text.data[STAMP_BYTES - 2] != ']')
        return text.length == 0 ? 0 : note(monitor, "unreadable text", 1, text, offset, error);
    change.name = (struct text){text.data + STAMP_BYTES, (size_t)(colon - text.data) - STAMP_BYTES};
    change.at_ns = ras_moment_of(text.data + 1, STAMP_BYTES - 3);
    change.pid = text_leading_number(text_after(text, ": Process "));
    change.gpu = text_leading_number(text_after(text_after(text, " managing GPU"), " "));
    change.host = text_word(text_after(text, " on node "));
    return take_change(monitor, &change, text, offset, error);
}

static int64_t first_number(const struct value *list)
{
    const struct value *first = value_begin(list);
    int64_t number;
    return first != value_end(list) && json_int64(first, &number) == 0 && number >= 0 ? number
                                                                                      : COUNT_UNKNOWN;
}

static struct text text_of(const struct value *value)
{
    return value && value->kind == VALUE_TEXT ? (struct text){value->text, value->length}
                                              : (struct text){"", 0};
}

static int take_object(void *context, const char *text, size_t length, uint64_t offset, struct error *error)
{
    struct monitor *monitor = context;
    struct json *json = &monitor->json;
    enum json_status status = json_parse(json, text, length);
    if (status == JSON_NO_MEMORY)
        return error_no_memory(error);
    if (status != JSON_OK || json->root.kind != VALUE_DICTIONARY || !json_member(&json->root, "event"))
        return 0;
    const struct value *peer = json_member(&json->root, "peer");
    struct text time = text_of(json_member(&json->root, "timestamp"));
    struct change change = {.name = text_of(json_member(&json->root, "event")),
                            .pid = member_natural(json, peer, "pid", COUNT_UNKNOWN),
                            .gpu = first_number(json_member(peer, "cuda_devs")),
                            .host = text_of(json_member(peer, "host")),
                            .at_ns = ras_moment_of(time.data, time.length)};
    return take_change(monitor, &change, (struct text){text, length}, offset, error) ? -1 : 1;
}

enum ras_monitor ras_monitor_at(const char *at, const char *end)
{
    struct text text = {at, (size_t)(end - at) < EVENT_BYTES ? (size_t)(end - at) : EVENT_BYTES};
    if (text.length > STAMP_BYTES && at[0] == '[' && at[STAMP_BYTES - 2] == ']')
        return text_begins((struct text){at + STAMP_BYTES, text.length - STAMP_BYTES}, "PEER_")
                   ? RAS_MONITOR_TEXT
                   : RAS_MONITOR_NONE;
    const char *key = text.length && *at == '{' ? raw_json_skip_space(at + 1, end) : end;
    return text_begins((struct text){key, (size_t)(end - key)}, first_key) &&
                   text_contains(text, "\"event\"") && text_contains(text, "\"PEER_")
               ? RAS_MONITOR_JSON
               : RAS_MONITOR_NONE;
}

static int read_lines(struct monitor *monitor, struct input *input, struct error *error)
{
    struct input_line line;
    int more;
    while ((more = input_line(input, &line, error)) == 1)
        if (take_line(monitor, (struct text){line.text, line.length}, line.offset, error))
            return -1;
    return more;
}

int ras_monitor_read(struct ras_members *member_list, enum ras_monitor form, struct input *input,
                     const struct format_sink *sink, struct error *error)
{
    struct monitor monitor = {.sink = sink, .member_list = member_list};
    struct objects_end end = {.offset = 0};
    struct objects objects = {
        .first_key = first_key, .context = &monitor, .object = take_object, .sink = sink};
    map_init(&monitor.processes);
    json_init(&monitor.json);
    int status = form == RAS_MONITOR_TEXT ? read_lines(&monitor, input, error)
                                          : objects_read(&objects, input, &end, error);
    json_release(&monitor.json);
    map_release(&monitor.processes);
    return status || end.reading_failed ? -1 : 0;
}
