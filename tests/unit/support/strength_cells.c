#include "support/strength_cells.h"
#include "diagnose/diagnose.h"
#include "diagnose/suspect.h"
#include "job/job.h"

#include "support/cmocka_all.h"

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

struct suspects find(struct strength *strength, enum finding_kind kind)
{
    struct suspects suspects = {0};
    assert_int_equal(strength_find(strength, LEAST, kind, &suspects), 0);
    strength_release(strength);
    return suspects;
}
