#include "support/strength_cells.h"

#include "support/cmocka_all.h"

void start(struct strength *strength)
{
    struct job job = {.rank_count = RANKS};
    struct baseline baseline = {.step_count = STEPS, .first_step = FIRST};
    assert_int_equal(strength_init(strength, &job, &baseline), 0);
}

void put(struct strength *strength, int rank, int step, int64_t excess_ns)
{
    strength->excess_ns[rank * STEPS + step] = excess_ns;
}

void find(struct strength *strength, struct suspects *suspects)
{
    assert_int_equal(strength_find(strength, LEAST, FINDING_COMPUTE, suspects), 0);
    strength_release(strength);
}
