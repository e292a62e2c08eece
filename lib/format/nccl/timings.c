#include "format/nccl/timings.h"

#include <string.h>

static const char *const part_words[START_PARTS] = {
    [START_KERNELS] = "kernels",         [START_ALLOCATION] = "alloc", [START_BOOTSTRAP] = "bootstrap",
    [START_ALLGATHERS] = "allgathers",   [START_TOPOLOGY] = "topo",    [START_GRAPHS] = "graphs",
    [START_CONNECTIONS] = "connections", [START_REST] = "rest",
};

/* " - ncclCommInitRank: rank ..." */
static struct text function_in(struct text behind)
{
    static const char dash[] = " - ";
    if (!text_begins(behind, dash))
        return (struct text){NULL, 0};
    struct text name = {behind.data + (sizeof dash - 1), behind.length - (sizeof dash - 1)};
    const char *colon = memchr(name.data, ':', name.length);
    name.length = colon ? (size_t)(colon - name.data) : 0;
    return name;
}

int timings_read(struct text message, struct timings *timings)
{
    static const char mark[] = "Init timings";
    if (!text_begins(message, mark))
        return 0;
    struct text behind = text_after(message, mark), list = text_after(behind, "(");
    *timings = (struct timings){.function = function_in(behind),
                                .total_ns = text_seconds_ns(text_value(behind, "total"))};
    for (int i = 0; i < START_PARTS; i++)
        timings->parts_ns[i] = text_seconds_ns(text_value(list, part_words[i]));
    return text_number(behind, "rank", &timings->rank) == 0 &&
           text_number(behind, "nranks", &timings->ranks) == 0 && timings->total_ns != TIME_UNKNOWN;
}

int timings_read_bootstrap(struct text message, int64_t *total_ns)
{
    static const char mark[] = "Bootstrap timings ";
    if (!text_begins(message, mark))
        return 0;
    *total_ns = text_seconds_ns(text_value(message, "total"));
    return *total_ns != TIME_UNKNOWN;
}
