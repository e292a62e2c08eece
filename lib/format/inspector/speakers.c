/*
 * The source processes of an Inspector file: which communicator of which process a line belongs to, and the
 * losses that their markers count.
 */
#include "base/base.h"
#include "format/format.h"
#include "format/inspector/inspector.h"
#include "format/internal.h"
#include "model/model.h"

#include <stdlib.h>

void inspector_source_processes_init(struct inspector_source_processes *source_processes)
{
    *source_processes = (struct inspector_source_processes){.items = NULL};
    map_init(&source_processes->numbers);
    intern_init(&source_processes->texts);
}

void inspector_source_processes_release(struct inspector_source_processes *source_processes)
{
    free(source_processes->items);
    map_release(&source_processes->numbers);
    intern_release(&source_processes->texts);
}

/* Returns -1 for no text, -2 if memory is out. */
static int64_t keep_text(struct inspector_source_processes *source_processes, struct scan_text text)
{
    if (text.length == 0)
        return -1;
    int64_t number = intern_put(&source_processes->texts, text.text, text.length);
    return number < 0 ? -2 : number;
}

static const char *kept_text(const struct inspector_source_processes *source_processes, int64_t number)
{
    return number < 0 ? NULL : intern_text(&source_processes->texts, number);
}

static int add_source_process(struct inspector_source_processes *source_processes,
                              const struct inspector_identity *identity, int64_t host)
{
    int64_t name = keep_text(source_processes, identity->communicator_name);
    int64_t version = keep_text(source_processes, identity->version);
    int64_t revision = keep_text(source_processes, identity->revision);
    if (name < -1 || version < -1 || revision < -1 ||
        array_reserve((void **)&source_processes->items, &source_processes->capacity,
                      source_processes->count + 1, sizeof *source_processes->items))
        return -1;
    struct inspector_source_process *source_process = &source_processes->items[source_processes->count++];
    *source_process =
        (struct inspector_source_process){.host = host, .version = version, .revision = revision};
    source_process->origin = (struct origin){
        .host = kept_text(source_processes, host),
        .pid = identity->pid,
        .communicator_hash = identity->communicator_hash,
        .rank = identity->rank,
        .communicator_name = kept_text(source_processes, name),
        .communicator_size = identity->communicator_size,
        .node_count = identity->node_count,
    };
    return 0;
}

int64_t inspector_source_process(struct inspector_source_processes *source_processes,
                                 const struct inspector_identity *identity)
{
    int64_t host = keep_text(source_processes, identity->host);
    if (host < -1)
        return -1;
    int added;
    const struct map_key key = {
        {identity->communicator_hash, (uint64_t)identity->rank, (uint64_t)identity->pid, (uint64_t)host}};
    const int64_t *number =
        map_put(&source_processes->numbers, key, (int64_t)source_processes->count, &added);
    if (!number)
        return -1;
    int64_t found = *number;
    return added && add_source_process(source_processes, identity, host) ? -1 : found;
}

static struct scan_text as_text(const char *text)
{
    return (struct scan_text){text, text ? strlen(text) : 0};
}

struct inspector_identity inspector_identity_of(const struct inspector_source_processes *source_processes,
                                                int64_t number)
{
    const struct inspector_source_process *source_process = &source_processes->items[number];
    return (struct inspector_identity){
        .communicator_hash = source_process->origin.communicator_hash,
        .communicator_name = as_text(source_process->origin.communicator_name),
        .rank = source_process->origin.rank,
        .communicator_size = source_process->origin.communicator_size,
        .node_count = source_process->origin.node_count,
        .version = as_text(kept_text(source_processes, source_process->version)),
        .revision = as_text(kept_text(source_processes, source_process->revision)),
        .host = as_text(source_process->origin.host),
        .pid = source_process->origin.pid,
    };
}

static const char *const meanings[INSPECTOR_DROPS] = {
    [DROP_COLLECTIVE] = "collectives overwritten before they were written",
    [DROP_PAIR] = "point-to-point operations overwritten before they were written",
    [DROP_PROXY_RECORD] = "proxy records overwritten before they were written",
    [DROP_PROXY_OPERATION] = "proxy operations dropped for lack of space",
    [DROP_FOREIGN_PROXY] = "proxy operations for other processes (PXN), which Inspector does not record",
};

static int emit_loss(const struct inspector_source_process *source_process, enum inspector_drop drop,
                     const struct format_sink *sink, uint64_t offset, struct error *error)
{
    struct event event = {.kind = EVENT_LOSS, .origin = source_process->origin};
    event.origin.offset = offset;
    if (drop == DROP_FOREIGN_PROXY)
        event.origin.communicator_hash = 0;
    event.loss =
        (struct loss){.events = source_process->dropped[drop], .what = meanings[drop], .is_total = 1};
    return sink->event(sink->context, &event, error);
}

/* The total; if only the increase is given, that added to the total before. */
static int64_t total_of(const struct inspector_stats *stats, int i, int64_t before)
{
    int64_t total = stats->dropped[i].total;
    int64_t since = stats->dropped[i].since;
    if (total != COUNT_UNKNOWN)
        return total > since ? total : since;
    return since <= 0 ? before : before > INT64_MAX - since ? INT64_MAX : before + since;
}

int inspector_source_process_count(struct inspector_source_processes *source_processes, int64_t number,
                                   const struct inspector_stats *stats, const struct format_sink *sink,
                                   uint64_t offset, struct error *error)
{
    struct inspector_source_process *source_process = &source_processes->items[number];
    int contradicts = 0;
    for (int i = 0; i < INSPECTOR_DROPS; i++) {
        int64_t before = source_process->dropped[i];
        int64_t total = total_of(stats, i, before);
        contradicts |=
            stats->dropped[i].total != COUNT_UNKNOWN && stats->dropped[i].since > stats->dropped[i].total;
        if (total <= before)
            continue;
        source_process->dropped[i] = total;
        if (emit_loss(source_process, (enum inspector_drop)i, sink, offset, error))
            return -1;
    }
    source_process->dumps++;
    source_process->traces_proxies |= stats->traces_proxies;
    return contradicts ? sink->note(sink->context, "drop counts that contradict each other", 0, offset, NULL,
                                    0, error)
                       : 0;
}
