#include "base/base.h"
#include "diagnose/baseline.h"
#include "diagnose/diagnose.h"
#include "diagnose/place_distance.h"
#include "diagnose/score.h"

#include "support/cmocka_all.h"

/* The distance of each unit from the other ranks, as computed from a list of these. */

enum { RANKS = 40, STEPS = 4, UNIT = 5, UNITS = RANKS / UNIT };

static int64_t own[RANKS * STEPS];

/* Few different times, so that some are equal; some ranks have none. The same in all steps. */
static void play(unsigned seed, unsigned most)
{
    for (int rank = 0; rank < RANKS; rank++) {
        seed = seed * 1103515245 + 12345;
        for (int step = 0; step < STEPS; step++)
            own[rank * STEPS + step] =
                (seed >> 20) % 9 == 0 ? TIME_UNKNOWN : 100000 + 1000 * (int64_t)((seed >> 8) % most);
    }
}

static struct distance expected(int unit)
{
    int64_t mine[UNIT], others[RANKS];
    size_t mine_count = 0, count = 0;
    for (int rank = 0; rank < RANKS; rank++)
        if (own[rank * STEPS] != TIME_UNKNOWN && rank / UNIT == unit)
            mine[mine_count++] = own[rank * STEPS];
        else if (own[rank * STEPS] != TIME_UNKNOWN)
            others[count++] = own[rank * STEPS];
    if (mine_count * 4 < (size_t)UNIT * 3 || count < OTHERS_TO_COMPARE)
        return (struct distance){0, 0};
    int64_t middle = quantile_of(others, count, 0.5), spread = spread_above(others, count, middle);
    int64_t least = scale(middle, LEAST_LEVEL_SIGMA) + 1;
    return (struct distance){middle, (double)(quantile_of(mine, mine_count, 0.25) - middle) /
                                         (double)(spread > least ? spread : least)};
}

static void as_from_a_list_of_the_others(void **state)
{
    static const unsigned char explained[RANKS * STEPS];
    int32_t ranks[RANKS], first[UNITS + 1];
    for (int32_t rank = 0; rank < RANKS; rank++)
        ranks[rank] = rank;
    for (int32_t unit = 0; unit <= UNITS; unit++)
        first[unit] = unit * UNIT;
    struct baseline baseline = {.first_step = 0};
    const struct role role = {.ranks = ranks, .rank_count = RANKS};
    const struct place_times times = {.ranks = RANKS, .steps = STEPS, .place = ranks, .own = own};
    const struct place_matrix_source source = {.baseline = &baseline, .explained = explained};
    const struct partition partition = {.kind = UNIT_HOST};
    const struct place_matrix matrix = {
        .units = UNITS, .partition = &partition, .times = &times, .first = first, .member = ranks};
    struct usual_times usual;
    assert_int_equal(usual_times_init(&usual, &times), 0);
    for (unsigned seed = 1; seed <= 200; seed++) {
        play(seed, seed % 3 ? 1000 : 4);
        usual_times_measure(&usual, &source, &times, &role);
        for (int unit = 0; unit < UNITS; unit++) {
            struct distance distance = place_matrix_distance(&matrix, &usual, (size_t)unit);
            struct distance wanted = expected(unit);
            assert_int_equal(distance.others_ns, wanted.others_ns);
            assert_true(distance.spreads == wanted.spreads);
        }
    }
    usual_times_release(&usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_from_a_list_of_the_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
