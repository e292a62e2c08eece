#include "support/strength_cells.h"
#include "diagnose/diagnose.h"
#include "diagnose/suspect.h"
#include "job/job.h"

#include "support/cmocka_all.h"

#include <stdlib.h>

struct strength start(size_t rank_count)
{
    static struct job job; /* the cells refer to it */
    struct baseline baseline = {.step_count = STEPS, .first_step = FIRST};
    struct strength strength;
    job = (struct job){.rank_count = rank_count};
    assert_int_equal(strength_init(&strength, &job, &baseline), 0);
    return strength;
}

void put(struct strength *strength, int rank, int step, int64_t excess_ns)
{
    strength->excess_ns[rank * STEPS + step] = excess_ns;
}

struct suspects find(struct strength *strength)
{
    struct suspects suspects = {0};
    size_t cells = strength->samples ? 0 : strength->rank_count * STEPS;
    if (!strength->samples)
        strength->samples = calloc(cells, sizeof *strength->samples);
    assert_non_null(strength->samples);
    for (size_t i = 0; i < cells; i++)
        if (strength->excess_ns[i] > 0 && i % STEPS > FIRST)
            strength->samples[strength->sample_count++] =
                (struct sample){strength->excess_ns[i], (int32_t)(i / STEPS), (int32_t)(i % STEPS)};
    assert_int_equal(strength_find(strength, LEAST, &suspects), 0);
    strength_release(strength);
    return suspects;
}
