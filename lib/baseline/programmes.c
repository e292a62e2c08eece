#include "baseline/programmes.h"

#include "base/array.h"

#include <stdlib.h>

/* So many steps in a row make a regular stretch: fewer do not tell what is usual in it. */
enum { FEWEST_STEPS = 6 };

static int is_as(const struct stretch *stretch, const struct stretch *other)
{
    return stretch->signature == other->signature && stretch->count == other->count;
}

/* Which of them a step under a load is as; -1: none. */
static int32_t find(const struct programmes *programmes, struct stretch stretch, int32_t load)
{
    for (int32_t i = 0; i < programmes->count; i++)
        if (programmes->load[i] == load && is_as(&programmes->canonical[i], &stretch))
            return i;
    return -1;
}

/* How many steps from that one on are as it is, none with a gap. */
static int32_t count_alike(const struct stretch *stretches, const int32_t *loads, int32_t step,
                           int32_t step_count)
{
    int32_t count = 0;
    while (step + count < step_count && stretches[step + count].count && !stretches[step + count].has_gap &&
           loads[step + count] == loads[step] && is_as(&stretches[step + count], &stretches[step]))
        count++;
    return count;
}

/* The load that most steps are under which are as most of all are. */
static int32_t main_load(const struct stretch *stretches, const struct stretch *canonical,
                         const int32_t *loads, int32_t first_step, int32_t step_count)
{
    int32_t best = 0, most = 0;
    for (int32_t step = first_step, end, here; step < step_count; step = end) {
        for (end = step, here = 0; end < step_count && loads[end] == loads[step]; end++)
            here += is_as(&stretches[end], canonical);
        if (here > most) {
            most = here;
            best = loads[step];
        }
    }
    return best;
}

static void add_stretches(struct programmes *programmes, const struct stretch *stretches,
                          const int32_t *loads, int32_t first_step, int32_t step_count)
{
    for (int32_t step = first_step, alike; step < step_count; step += alike ? alike : 1) {
        alike = count_alike(stretches, loads, step, step_count);
        if (alike < FEWEST_STEPS || programmes->count == MOST_PROGRAMMES ||
            find(programmes, stretches[step], loads[step]) >= 0)
            continue;
        programmes->load[programmes->count] = loads[step];
        programmes->canonical[programmes->count++] = stretches[step];
    }
}

static void tell_steps(struct programmes *programmes, const struct stretch *stretches, const int32_t *loads,
                       int32_t step_count)
{
    int32_t last = -1;
    for (int32_t step = 0; step < step_count; step++) {
        int32_t here = find(programmes, stretches[step], loads[step]);
        last = here >= 0 ? here : last;
        programmes->of_step[step] = last;
    }
    last = 0;
    for (int32_t step = step_count; step-- > 0;) {
        last = programmes->of_step[step] >= 0 ? programmes->of_step[step] : last;
        programmes->of_step[step] = last;
        programmes->first_step[last] = step;
    }
}

int programmes_find(struct programmes *programmes, const struct stretch *stretches, const int32_t *loads,
                    int32_t first_step, int32_t step_count, struct stretch *scratch)
{
    *programmes = (struct programmes){.of_step = array_new((size_t)step_count, sizeof(int32_t))};
    if (!programmes->of_step)
        return -1;
    struct stretch canonical = stretches_canonical(stretches, first_step, step_count, scratch);
    programmes->count = canonical.first >= 0;
    programmes->canonical[0] = canonical;
    programmes->load[0] = main_load(stretches, &canonical, loads, first_step, step_count);
    if (programmes->count)
        add_stretches(programmes, stretches, loads, first_step, step_count);
    tell_steps(programmes, stretches, loads, step_count);
    return 0;
}

void programmes_release(struct programmes *programmes)
{
    free(programmes->of_step);
    *programmes = (struct programmes){.count = 0};
}
