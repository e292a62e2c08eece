#include "steps/step_history.h"

#include "base/array.h"
#include "base/sort.h"
#include "base/statistics.h"
#include "model/event.h"

#include <stdlib.h>

/* Of the others, so many are left out at either end. */
static const double TAIL = 0.1;

static int64_t *unknown_times(size_t count)
{
    int64_t *list = array_new(count + 1, sizeof *list);
    for (size_t i = 0; list && i < count; i++)
        list[i] = TIME_UNKNOWN;
    return list;
}

int step_history_init(struct step_history *history, int32_t first_step, int32_t end_step)
{
    int32_t steps = end_step > first_step ? end_step - first_step : 0;
    *history = (struct step_history){.first_step = first_step,
                                     .steps = steps,
                                     .mine_ns = unknown_times((size_t)steps),
                                     .peers_ns = unknown_times((size_t)steps),
                                     .low_ns = unknown_times((size_t)steps),
                                     .high_ns = unknown_times((size_t)steps)};
    return history->mine_ns && history->peers_ns && history->low_ns && history->high_ns ? 0 : -1;
}

void step_history_release(struct step_history *history)
{
    free(history->mine_ns);
    free(history->peers_ns);
    free(history->low_ns);
    free(history->high_ns);
    *history = (struct step_history){.steps = 0};
}

void step_history_set(struct step_history *history, int32_t step, int64_t *mine, size_t mine_count,
                      int64_t *peers, size_t peer_count)
{
    int32_t at = step - history->first_step;
    history->mine_ns[at] = median_of(mine, mine_count);
    if (!peer_count)
        return;
    sort_integers(peers, peer_count);
    size_t cut = (size_t)(TAIL * (double)(peer_count - 1));
    history->peers_ns[at] = peers[(peer_count - 1) / 2];
    history->low_ns[at] = peers[cut];
    history->high_ns[at] = peers[peer_count - 1 - cut];
}

int32_t step_history_known(const struct step_history *history)
{
    int32_t known = 0;
    for (int32_t i = 0; i < history->steps; i++)
        known += history->mine_ns[i] != TIME_UNKNOWN;
    return known;
}
