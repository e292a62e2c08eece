#include "baseline/programmes.h"

#include "base/array.h"

#include <stdlib.h>

/* So many steps in a row make a regular stretch: fewer do not tell what is usual in it. */
enum { FEWEST_STEPS = 6 };

/* Which of them a step is as; -1: none. */
static int32_t find(const struct programmes *programmes, struct stretch stretch)
{
    for (int32_t i = 0; i < programmes->count; i++)
        if (programmes->canonical[i].signature == stretch.signature &&
            programmes->canonical[i].count == stretch.count)
            return i;
    return -1;
}

/* How many steps from that one on are as it is, none with a gap. */
static int32_t count_alike(const struct stretch *stretches, int32_t step, int32_t step_count)
{
    int32_t count = 0;
    while (step + count < step_count && stretches[step + count].count && !stretches[step + count].has_gap &&
           stretches[step + count].signature == stretches[step].signature)
        count++;
    return count;
}

static void add_stretches(struct programmes *programmes, const struct stretch *stretches, int32_t first_step,
                          int32_t step_count)
{
    for (int32_t step = first_step, alike; step < step_count; step += alike ? alike : 1) {
        alike = count_alike(stretches, step, step_count);
        if (alike >= FEWEST_STEPS && programmes->count < MOST_PROGRAMMES &&
            find(programmes, stretches[step]) < 0)
            programmes->canonical[programmes->count++] = stretches[step];
    }
}

static void tell_steps(struct programmes *programmes, const struct stretch *stretches, int32_t step_count)
{
    int32_t last = -1;
    for (int32_t step = 0; step < step_count; step++) {
        int32_t here = find(programmes, stretches[step]);
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

int programmes_find(struct programmes *programmes, const struct stretch *stretches, int32_t first_step,
                    int32_t step_count, struct stretch *scratch)
{
    *programmes = (struct programmes){.of_step = array_new((size_t)step_count, sizeof(int32_t))};
    if (!programmes->of_step)
        return -1;
    programmes->canonical[0] = stretches_canonical(stretches, first_step, step_count, scratch);
    programmes->count = programmes->canonical[0].first >= 0;
    if (programmes->count)
        add_stretches(programmes, stretches, first_step, step_count);
    tell_steps(programmes, stretches, step_count);
    return 0;
}

void programmes_release(struct programmes *programmes)
{
    free(programmes->of_step);
    *programmes = (struct programmes){.count = 0};
}
