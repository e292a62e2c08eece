/* The processes that are not the job's, as words in a cause. */
#include "base/base.h"
#include "diagnose/finding.h"
#include "job/job.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

enum { NAMED = 3, NAME_BYTES = 40 };

struct others {
    const struct cause *cause;
    struct interval_ns within;
    size_t count;
    struct buffer names; /* of the first few */
    double bytes;        /* the most memory that they had */
    int failed;
};

static int is_on(const struct cause *cause, enum node_place place, const char *device)
{
    return place == NODE_GPU && device && cause->device && strcmp(device, cause->device) == 0;
}

static int take_process(void *context, const struct node_message *message)
{
    struct others *others = context;
    const struct node_event *said = &message->said;
    if (said->code != NODE_EVENT_OTHER_PROCESS || !is_on(others->cause, said->place, said->device) ||
        said->at_ns > others->within.end_ns)
        return 0;
    others->count++;
    if (others->count > NAMED)
        return 0;
    return buffer_printf(&others->names, "%s%.*s, process %lld", others->count > 1 ? "; " : "", NAME_BYTES,
                         said->process ? said->process : "?", (long long)said->pid);
}

static int take_memory(void *context, const struct node_reading *reading)
{
    struct others *others = context;
    if (reading->metric == NODE_OTHER_GPU_MEMORY && is_on(others->cause, reading->place, reading->device) &&
        reading->during.end_ns > others->cause->begin_ns && reading->value > others->bytes)
        others->bytes = reading->value;
    return 0;
}

int cause_find_who(struct cause *cause, const struct node_host *host, struct store *store,
                   struct interval_ns within, struct error *error)
{
    struct others others = {.cause = cause, .within = within};
    if (cause->rule->place != CAUSE_ON_GPU || !strchr(cause->rule->says, '~'))
        return 0;
    int failed = node_messages_read(host, store, take_process, &others, error) ||
                 (cause->rule->metric != NODE_OTHER_GPU_MEMORY &&
                  node_samples_read(host, store, within, take_memory, &others, error));
    struct buffer text = BUFFER_INIT;
    if (!failed && others.count)
        failed = (buffer_printf(&text, " (%s%s%s", others.count > 1 ? "one of " : "", others.names.data,
                                others.count > NAMED ? "; ..." : "") ||
                  (others.bytes > 0 && buffer_printf(&text, "; %.1f GB", others.bytes / 1e9)) ||
                  buffer_append_byte(&text, ')')) &&
                 error_no_memory(error);
    buffer_release(&others.names);
    if (failed)
        buffer_release(&text);
    else
        cause->text = text.data;
    return failed ? -1 : 0;
}
