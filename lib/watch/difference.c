#include "watch/difference.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

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
