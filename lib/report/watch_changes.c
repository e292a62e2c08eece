#include "base/base.h"
#include "report/report.h"
#include "report/watch.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So many steps (periods of it) without it end a finding, and a part of all: files of ranks and communicators
 * do not grow in step. */
enum { STEPS_WITHOUT = 3, PART_WITHOUT = 20 };

static void noted_release(struct noted *noted)
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

/* By how many steps its last one is behind the run's newest: some always are, that not all ranks have
 * written. */
static int64_t noted_lag(const struct noted *noted)
{
    return noted->run_step - noted->last_step;
}

/*
 * Whether the run has gone on without it: it is further behind than it was at the least, `least_lag`, by as
 * many steps as show that, three periods of it and a twentieth of all.
 */
static int noted_is_over(const struct noted *noted, int64_t least_lag)
{
    int64_t enough = STEPS_WITHOUT * stride(noted), part = noted->run_step / PART_WITHOUT;
    return noted->first_step >= 0 && !noted->stops_job &&
           noted_lag(noted) > least_lag + (part > enough ? part : enough);
}

/* A finding that goes on costs more with each step: it is told again each time that it has cost so many times
 * as much. */
enum { TOLD_AGAIN_TIMES = 2 };

/* Who hears of changes. */
struct hearing {
    change_listener *listener; /* NULL: nobody */
    void *context;
};

const char *change_name(enum change change)
{
    static const char *const names[] = {[CHANGE_NEW] = "new",
                                        [CHANGE_CHANGED] = "changed",
                                        [CHANGE_OVER] = "over",
                                        [CHANGE_WITHDRAWN] = "withdrawn"};
    return names[change];
}

void difference_release(struct difference *difference)
{
    for (size_t i = 0; i < difference->count; i++)
        noted_release(&difference->told[i].noted);
    free(difference->told);
    noted_list_release(&difference->waiting);
    *difference = (struct difference){.told = NULL};
}

static int tell(const struct hearing *hearing, enum change change, const struct noted *noted,
                struct error *error)
{
    return hearing->listener ? hearing->listener(hearing->context, change, noted, error) : 0;
}

static int add(struct difference *difference, const struct noted *noted, const struct hearing *hearing,
               struct error *error)
{
    struct noted_list copy = {.items = NULL};
    if (array_reserve((void **)&difference->told, &difference->capacity, difference->count + 1,
                      sizeof *difference->told) ||
        noted_list_add(&copy, noted))
        return error_no_memory(error);
    struct told_noted *added = &difference->told[difference->count++];
    *added = (struct told_noted){.noted = copy.items[0], .lost_ns = noted->lost_ns, .lag = noted_lag(noted)};
    free(copy.items);
    /* Of what is known already nobody has to hear that it was over before. */
    added->is_over = !hearing->listener && noted_is_over(noted, 0);
    if (added->is_over)
        added->lag = 0;
    return tell(hearing, CHANGE_NEW, noted, error);
}

static const struct noted *find(const struct noted_list *list, const struct noted *wanted,
                                const uint8_t *taken)
{
    for (size_t i = 0; i < list->count; i++)
        if (!(taken && taken[i]) && noted_is_same(&list->items[i], wanted))
            return &list->items[i];
    return NULL;
}

/* The latest state takes the place of the one before. */
static int renew(struct told_noted *told, const struct noted *noted, struct error *error)
{
    struct noted_list copy = {.items = NULL};
    if (noted_list_add(&copy, noted))
        return error_no_memory(error);
    noted_release(&told->noted);
    told->noted = copy.items[0];
    told->is_absent = 0;
    free(copy.items);
    return 0;
}

/* Whether it is to be told of again, and as what. */
static int has_changed(const struct told_noted *told, const struct noted *noted, enum change *change)
{
    int is_over = noted_is_over(noted, told->lag);
    *change = is_over && !told->is_over ? CHANGE_OVER : CHANGE_CHANGED;
    return is_over != told->is_over || strcmp(told->noted.confidence, noted->confidence) != 0 ||
           (told->lost_ns > 0 && noted->lost_ns / TOLD_AGAIN_TIMES >= told->lost_ns);
}

static int follow(struct told_noted *told, const struct noted *noted, const struct hearing *hearing,
                  struct error *error)
{
    enum change change;
    /* Fewer steps could be told apart than before: that says less, and nothing new. */
    if (noted->run_step < told->noted.run_step) {
        told->is_absent = 0;
        return 0;
    }
    int is_told = has_changed(told, noted, &change), is_over = noted_is_over(noted, told->lag);
    if (renew(told, noted, error))
        return -1;
    if (noted_lag(noted) < told->lag)
        told->lag = noted_lag(noted);
    if (!is_told)
        return 0;
    told->lost_ns = noted->lost_ns;
    told->is_over = is_over;
    return tell(hearing, change, noted, error);
}

static int withdraw(struct difference *difference, size_t at, const struct hearing *hearing,
                    struct error *error)
{
    struct noted noted = difference->told[at].noted;
    memmove(&difference->told[at], &difference->told[at + 1],
            (--difference->count - at) * sizeof *difference->told);
    int failed = tell(hearing, CHANGE_WITHDRAWN, &noted, error);
    noted_release(&noted);
    return failed;
}

/* What was told of, against what there is now; which of these that was goes into `taken`. */
static int follow_all(struct difference *difference, const struct noted_list *now, uint8_t *taken,
                      const struct hearing *hearing, struct error *error)
{
    for (size_t i = 0; i < difference->count;) {
        const struct noted *noted = find(now, &difference->told[i].noted, taken);
        if (!noted && difference->told[i].is_absent) {
            if (withdraw(difference, i, hearing, error))
                return -1;
            continue;
        }
        if (!noted) {
            difference->told[i++].is_absent = 1;
            continue;
        }
        taken[noted - now->items] = 1;
        if (follow(&difference->told[i++], noted, hearing, error))
            return -1;
    }
    return 0;
}

static int is_doubtful(const struct noted *noted)
{
    return noted->stops_job || strcmp(noted->confidence, "high") != 0;
}

static int add_rest(struct difference *difference, const struct noted_list *now, const uint8_t *taken,
                    const struct hearing *hearing, struct error *error)
{
    struct noted_list waiting = {.items = NULL};
    int failed = 0;
    for (size_t i = 0; !failed && i < now->count; i++) {
        const struct noted *noted = &now->items[i];
        int waits = is_doubtful(noted) && hearing->listener && !find(&difference->waiting, noted, NULL);
        if (taken[i])
            continue;
        if (waits)
            failed = noted_list_add(&waiting, noted) ? error_no_memory(error) : 0;
        else
            failed = add(difference, noted, hearing, error);
    }
    noted_list_release(&difference->waiting);
    difference->waiting = waiting;
    return failed;
}

static int update(struct difference *difference, const struct noted_list *now, const struct hearing *hearing,
                  struct error *error)
{
    uint8_t *taken = array_new(now->count + 1, sizeof *taken);
    if (!taken)
        return error_no_memory(error);
    int failed = follow_all(difference, now, taken, hearing, error) ||
                 add_rest(difference, now, taken, hearing, error);
    free(taken);
    return failed ? -1 : 0;
}

int difference_begin(struct difference *difference, const struct noted_list *now)
{
    const struct hearing nobody = {.listener = NULL};
    *difference = (struct difference){.told = NULL};
    return update(difference, now, &nobody, NULL);
}

int difference_update(struct difference *difference, const struct noted_list *now, change_listener *listener,
                      void *context, struct error *error)
{
    const struct hearing hearing = {listener, context};
    return update(difference, now, &hearing, error);
}

int difference_settle(struct difference *difference, change_listener *listener, void *context,
                      struct error *error)
{
    const struct hearing hearing = {listener, context};
    struct noted_list waiting = difference->waiting;
    int failed = 0;
    difference->waiting = (struct noted_list){.items = NULL};
    for (size_t i = 0; !failed && i < difference->count;)
        if (difference->told[i].is_absent)
            failed = withdraw(difference, i, &hearing, error);
        else
            i++;
    for (size_t i = 0; !failed && i < waiting.count; i++)
        failed = add(difference, &waiting.items[i], &hearing, error);
    noted_list_release(&waiting);
    return failed ? -1 : 0;
}

enum { SECOND_NS = 1000 * 1000 * 1000 };

/* "2026-11-25T10:12:04Z" */
static int append_time(struct buffer *line, int64_t at_ns)
{
    char text[32];
    struct tm utc;
    time_t seconds = (time_t)(at_ns / SECOND_NS);
    if (!gmtime_r(&seconds, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return buffer_append_text(line, "-");
    return buffer_append_text(line, text);
}

static int append_escaped(struct buffer *line, const char *text)
{
    return escape_terminal(line, text, strlen(text));
}

int change_line_text(enum change change, const struct noted *noted, int64_t at_ns, int names_run,
                     struct buffer *line)
{
    return append_time(line, at_ns) ||
                   buffer_printf(line, " %s: ", change == CHANGE_OVER ? "ended" : change_name(change)) ||
                   (names_run && noted->run &&
                    (append_escaped(line, noted->run) || buffer_append_text(line, ": "))) ||
                   buffer_printf(line, "%s (%s confidence): ", noted->kind, noted->confidence) ||
                   append_escaped(line, noted->text) || buffer_append_byte(line, '\n')
               ? -1
               : 0;
}

static int append_step(struct buffer *line, const char *name, int64_t step)
{
    return step < 0 ? text_json_key(line, name) || buffer_append_text(line, "null")
                    : text_json_integer(line, name, step);
}

int change_line_json(enum change change, const struct noted *noted, int64_t at_ns, struct buffer *line)
{
    struct buffer time = BUFFER_INIT;
    int failed =
        append_time(&time, at_ns) || buffer_append_byte(line, '{') ||
        text_json_string(line, "time", time.data) || text_json_string(line, "change", change_name(change)) ||
        text_json_string(line, "run", noted->run) || text_json_string(line, "kind", noted->kind) ||
        text_json_string(line, "unit", noted->unit) || text_json_string(line, "tag", noted->phase) ||
        text_json_string(line, "confidence", noted->confidence) ||
        append_step(line, "first_step", noted->first_step) ||
        append_step(line, "last_step", noted->last_step) || text_json_key(line, "lost_us") ||
        buffer_printf(line, "%.3f", (double)noted->lost_ns / 1e3) || text_json_key(line, "stopped") ||
        buffer_append_text(line, noted->stops_job ? "true" : "false") ||
        text_json_string(line, "text", noted->text) || buffer_append_text(line, "}\n");
    buffer_release(&time);
    return failed ? -1 : 0;
}
