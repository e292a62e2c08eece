#include "baseline/excess_list.h"

#include "base/array.h"

#include <stdlib.h>

int excess_list_init(struct excess_list *list, size_t operations)
{
    *list = (struct excess_list){.brief = array_new(operations, sizeof *list->brief), .most = EXCESS_WRITTEN};
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

struct excess_list excess_list_part(const struct excess_list *list, size_t number, size_t parts)
{
    size_t most = list->most / parts;
    return (struct excess_list){.brief = list->brief, .base = (int32_t)(most * number), .most = most};
}

/* Of each part, how many were written out by those before it. */
static size_t *count_before(const struct excess_list *parts, size_t count, size_t *total)
{
    size_t *before = array_new(count, sizeof *before);
    *total = 0;
    for (size_t i = 0; before && i < count; i++) {
        before[i] = *total;
        *total += parts[i].count;
    }
    return before;
}

static void renumber(struct excess_list *list, size_t operations, size_t most, const size_t *before)
{
    for (size_t i = 0; i < operations; i++) {
        if (list->brief[i] < EXCESS_WRITTEN)
            continue;
        size_t number = (size_t)(list->brief[i] - EXCESS_WRITTEN);
        list->brief[i] = EXCESS_WRITTEN + (int32_t)(before[number / most] + number % most);
    }
}

void excess_list_join(struct excess_list *list, struct excess_list *parts, size_t count, size_t operations)
{
    size_t *before = count_before(parts, count, &list->count);
    int failed = !before ||
                 array_reserve((void **)&list->written, &list->capacity, list->count, sizeof *list->written);
    if (!failed)
        renumber(list, operations, list->most / count, before);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; !failed && j < parts[i].count; j++)
            list->written[before[i] + j] = parts[i].written[j];
        list->failed |= failed || parts[i].failed;
        free(parts[i].written);
    }
    free(before);
}

struct excess *excess_written(struct excess_list *list, size_t operation)
{
    int32_t brief = list->brief[operation];
    if (brief >= EXCESS_WRITTEN)
        return &list->written[brief - EXCESS_WRITTEN - list->base];
    if (list->count >= list->most ||
        array_reserve((void **)&list->written, &list->capacity, list->count + 1, sizeof *list->written)) {
        list->failed = 1;
        return NULL;
    }
    list->written[list->count] = excess_listed(list, operation);
    list->brief[operation] = EXCESS_WRITTEN + list->base + (int32_t)list->count;
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
