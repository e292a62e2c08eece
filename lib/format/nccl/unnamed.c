#include "format/nccl/unnamed.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>

void unnamed_init(struct unnamed_list *list)
{
    *list = (struct unnamed_list){.items = NULL};
    map_init(&list->by_address);
}

void unnamed_release(struct unnamed_list *list)
{
    map_release(&list->by_address);
    free(list->items);
}

static struct unnamed *of_address(struct unnamed_list *list, const struct said *said, uint64_t address)
{
    int added;
    if (array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return NULL;
    int64_t *number = map_put(&list->by_address, (struct map_key){{(uint64_t)said->speaker, address}},
                              (int64_t)list->count, &added);
    if (!number)
        return NULL;
    if (added)
        list->items[list->count++] = (struct unnamed){
            .speaker = said->speaker, .ranks = COUNT_UNKNOWN, .device = said->device, .offset = said->offset};
    return &list->items[*number];
}

int unnamed_take_init(struct unnamed_list *list, const struct said *said, const struct message_init *init)
{
    struct unnamed *unnamed = of_address(list, said, init->communicator);
    if (!unnamed)
        return -1;
    unnamed->is_old = 1;
    unnamed->ranks = init->ranks;
    unnamed->device = init->device == COUNT_UNKNOWN ? unnamed->device : init->device;
    return 0;
}

int unnamed_take_call(struct unnamed_list *list, const struct said *said, const struct message_call *call)
{
    struct unnamed *unnamed = of_address(list, said, call->communicator);
    if (!unnamed)
        return -1;
    unnamed->ranks = unnamed->ranks == COUNT_UNKNOWN ? call->ranks : unnamed->ranks;
    unnamed->calls[call->function]++;
    return unnamed->is_old;
}

/* lib/analyse/log_notes.c reads it. */
static void name(const struct unnamed *unnamed, enum function function, char *what, size_t bytes)
{
    char ranks[48] = "", device[48] = "";
    if (unnamed->ranks != COUNT_UNKNOWN)
        snprintf(ranks, sizeof ranks, " on communicators of %lld ranks", (long long)unnamed->ranks);
    if (unnamed->device >= 0)
        snprintf(device, sizeof device, ", device %lld", (long long)unnamed->device);
    snprintf(what, bytes, "%s%s%s: %s", function_name(function), ranks, device,
             unnamed->is_old ? "NCCL below 2.18 names no communicator in its Init line"
                             : "the Init line is not in this log");
}

static int tell_calls(const struct unnamed *unnamed, enum function function, const struct speakers *speakers,
                      const struct format_sink *sink, struct error *error)
{
    char what[192];
    const struct speaker *speaker = &speakers->items[unnamed->speaker];
    struct event event = {.kind = EVENT_LOSS,
                          .origin = {.host = intern_text(&speakers->hosts, speaker->host),
                                     .pid = speaker->pid,
                                     .rank = COUNT_UNKNOWN,
                                     .offset = unnamed->offset},
                          .loss = {.events = unnamed->calls[function], .what = what}};
    name(unnamed, function, what, sizeof what);
    return sink->event(sink->context, &event, error);
}

int unnamed_tell(const struct unnamed_list *list, const struct speakers *speakers,
                 const struct format_sink *sink, struct error *error)
{
    for (size_t i = 0; i < list->count; i++)
        for (enum function function = 0; function < FUNCTION_COUNT; function++)
            if (list->items[i].calls[function] &&
                tell_calls(&list->items[i], function, speakers, sink, error))
                return -1;
    return 0;
}
