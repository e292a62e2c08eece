#include "watch/noted.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* So many steps (periods of it) without it end a finding, and a part of all: files of ranks and communicators
 * do not grow in step. */
enum { STEPS_WITHOUT = 3, PART_WITHOUT = 20 };

void noted_release(struct noted *noted)
{
    free(noted->run);
    free(noted->kind);
    free(noted->unit);
    free(noted->phase);
    free(noted->confidence);
    free(noted->text);
}

void noted_list_release(struct noted_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        noted_release(&list->items[i]);
    free(list->items);
    *list = (struct noted_list){.items = NULL};
}

static int copy_text(char **copy, const char *text)
{
    *copy = text ? strdup(text) : NULL;
    return text && !*copy ? -1 : 0;
}

int noted_list_add(struct noted_list *list, const struct noted *noted)
{
    struct noted copy = *noted;
    copy.run = copy.kind = copy.unit = copy.phase = copy.confidence = copy.text = NULL;
    if (copy_text(&copy.run, noted->run) || copy_text(&copy.kind, noted->kind) ||
        copy_text(&copy.unit, noted->unit) || copy_text(&copy.phase, noted->phase) ||
        copy_text(&copy.confidence, noted->confidence) || copy_text(&copy.text, noted->text) ||
        array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        noted_release(&copy);
        return -1;
    }
    list->items[list->count++] = copy;
    return 0;
}

int noted_list_append(struct noted_list *list, const struct noted_list *others)
{
    size_t before = list->count;
    for (size_t i = 0; i < others->count; i++)
        if (noted_list_add(list, &others->items[i])) {
            while (list->count > before)
                noted_release(&list->items[--list->count]);
            return -1;
        }
    return 0;
}

static int is_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

/* How far apart two steps of it may be. */
static int64_t stride(const struct noted *noted)
{
    return noted->period > 1 ? noted->period : 1;
}

static int meets(const struct noted *one, const struct noted *other)
{
    if (one->first_step < 0 || other->first_step < 0)
        return 1;
    return one->first_step <= other->last_step + stride(other) &&
           other->first_step <= one->last_step + stride(one);
}

int noted_is_same(const struct noted *one, const struct noted *other)
{
    return is_text(one->run, other->run) && is_text(one->kind, other->kind) &&
           is_text(one->unit, other->unit) &&
           (!one->phase || !other->phase || is_text(one->phase, other->phase)) && meets(one, other);
}

int64_t noted_lag(const struct noted *noted)
{
    return noted->run_step - noted->last_step;
}

int noted_is_over(const struct noted *noted, int64_t least_lag)
{
    int64_t enough = STEPS_WITHOUT * stride(noted), part = noted->run_step / PART_WITHOUT;
    return noted->first_step >= 0 && !noted->stops_job &&
           noted_lag(noted) > least_lag + (part > enough ? part : enough);
}
