#include "diagnose/baseline.h"
#include "model/model.h"

#include "support/cmocka_all.h"

/* Values by rank and step that depend on a quantity: 300 + 2 per unit, unless given otherwise. */

enum { RANKS = 4, STEPS = 16, CELLS = RANKS * STEPS, FIRST_STEP = 1, BASE = 300, EACH = 2, USUAL = 1000 };

/* Different for all ranks, equal for none; the median of each rank is 1000. */
static int64_t with(int rank, int step)
{
    int64_t apart = (step * 7 + rank * 5) % (STEPS - 1) - (STEPS - 2) / 2;
    return step < FIRST_STEP ? 9999 : USUAL + 20 * apart;
}

static int64_t value_of(int64_t by)
{
    return BASE + EACH * by;
}

struct cells {
    struct explained explained;
    int64_t value[CELLS];
};

static void cells_init(struct cells *cells)
{
    assert_int_equal(explained_init(&cells->explained, RANKS, STEPS), 0);
    for (int cell = 0; cell < CELLS; cell++) {
        cells->explained.by[cell] = with(cell / STEPS, cell % STEPS);
        cells->value[cell] = value_of(cells->explained.by[cell]);
    }
}

static void remove_and_release(struct cells *cells)
{
    explained_remove(&cells->explained, cells->value, RANKS, FIRST_STEP, STEPS);
    explained_release(&cells->explained);
}

static void what_goes_with_data_is_taken_away(void **state)
{
    struct cells cells;
    cells_init(&cells);
    remove_and_release(&cells);
    for (int cell = 0; cell < CELLS; cell++)
        if (cell % STEPS >= FIRST_STEP)
            assert_int_equal(cells.value[cell], value_of(USUAL));
}

/* A rank that has 60 % more in four steps, and one that is slower by 700 in five. */
static void what_does_not_stays(void **state)
{
    struct cells cells;
    cells_init(&cells);
    for (int step = 4; step < 8; step++) {
        cells.explained.by[STEPS + step] += 600;
        cells.value[STEPS + step] = value_of(cells.explained.by[STEPS + step]);
    }
    for (int step = 6; step < 11; step++)
        cells.value[3 * STEPS + step] += 700;
    remove_and_release(&cells);
    for (int cell = 0; cell < CELLS; cell++) {
        int rank = cell / STEPS, step = cell % STEPS, is_slow = rank == 3 && step >= 6 && step < 11;
        if (step >= FIRST_STEP)
            assert_int_equal(cells.value[cell], value_of(USUAL) + (is_slow ? 700 : 0));
    }
}

/*
 * That a rank always receives more does not explain that it is always slower, beyond the dependence that
 * other ranks show.
 */
static void always_more_and_always_slower(void **state)
{
    struct cells cells;
    cells_init(&cells);
    for (int cell = 0; cell < CELLS; cell++) {
        cells.explained.by[cell] = cell / STEPS == 2 ? USUAL + 100 : USUAL;
        cells.value[cell] = cell / STEPS == 2 ? 3000 : 2000;
    }
    remove_and_release(&cells);
    for (int cell = 0; cell < CELLS; cell++)
        assert_int_equal(cells.value[cell], cell / STEPS == 2 ? 3000 : 2000);
}

/*
 * A value of 100 at 1000 that grew by one with each unit would grow tenfold with twice as much: it is at most
 * doubled.
 */
static void in_proportion_at_most(void **state)
{
    struct cells cells;
    cells_init(&cells);
    for (int cell = 0; cell < CELLS; cell++)
        cells.value[cell] = 100 + (cells.explained.by[cell] - USUAL);
    int64_t by = cells.explained.by[5];
    remove_and_release(&cells);
    assert_int_not_equal(by, USUAL);
    assert_int_equal(cells.value[5], 100 + (by - USUAL) - (by - USUAL) / 10);
}

static void nothing_where_it_says_nothing(void **state)
{
    struct cells cells;
    cells_init(&cells);
    for (int cell = 0; cell < CELLS; cell++)
        cells.value[cell] = 5000 - cells.explained.by[cell];
    cells.explained.by[3] = TIME_UNKNOWN;
    cells.value[4] = TIME_UNKNOWN;
    int64_t by = cells.explained.by[7];
    remove_and_release(&cells);
    assert_int_equal(cells.value[7], 5000 - by);
    assert_int_equal(cells.value[4], TIME_UNKNOWN);
    cells_init(&cells);
    cells.explained.by[3] = TIME_UNKNOWN;
    int64_t value = cells.value[3], warm_up = cells.value[0];
    remove_and_release(&cells);
    assert_int_equal(cells.value[3], value);
    assert_int_equal(cells.value[0], warm_up);
    assert_int_equal(cells.value[7], value_of(USUAL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_with_data_is_taken_away), cmocka_unit_test(what_does_not_stays),
        cmocka_unit_test(always_more_and_always_slower),     cmocka_unit_test(in_proportion_at_most),
        cmocka_unit_test(nothing_where_it_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
