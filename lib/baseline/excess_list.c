#include "baseline/excess_list.h"

#include "base/array.h"

#include <stdlib.h>

int excess_list_init(struct excess_list *list, size_t operations)
{
    *list = (struct excess_list){.brief = array_new(operations, sizeof *list->brief)};
    for (size_t i = 0; list->brief && i < operations; i++)
        list->brief[i] = EXCESS_UNKNOWN;
    return list->brief ? 0 : -1;
}

void excess_list_release(struct excess_list *list)
{
    free(list->brief);
    free(list->written);
    *list = (struct excess_list){0};
}

struct excess *excess_written(struct excess_list *list, size_t operation)
{
    int32_t brief = list->brief[operation];
    if (brief >= EXCESS_WRITTEN)
        return &list->written[brief - EXCESS_WRITTEN];
    if (list->count >= EXCESS_WRITTEN ||
        array_reserve((void **)&list->written, &list->capacity, list->count + 1, sizeof *list->written)) {
        list->failed = 1;
        return NULL;
    }
    list->written[list->count] = excess_listed(list, operation);
    list->brief[operation] = EXCESS_WRITTEN + (int32_t)list->count;
    return &list->written[list->count++];
}

static int is_brief(const struct excess *excess)
{
    return excess->excess_ns == 0 &&
           (excess->beyond_ns == TIME_UNKNOWN ||
            (excess->beyond_ns > EXCESS_UNKNOWN && excess->beyond_ns < EXCESS_WRITTEN));
}

void excess_put(struct excess_list *list, size_t operation, struct excess excess)
{
    if (list->brief[operation] < EXCESS_WRITTEN && is_brief(&excess)) {
        list->brief[operation] =
            excess.beyond_ns == TIME_UNKNOWN ? EXCESS_UNKNOWN : (int32_t)excess.beyond_ns;
        return;
    }
    struct excess *written = excess_written(list, operation);
    if (written)
        *written = excess;
}
