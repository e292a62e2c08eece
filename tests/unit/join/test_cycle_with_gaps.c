#include "join/steps.h"

#include "support/cmocka_all.h"

#include <string.h>

/* Cycles of tags, some of which were lost. A letter is a tag; a space: a step must begin there. */
static void check(const char *steps, char begin)
{
    uint64_t symbols[512] = {0};
    size_t expected[512], starts[513], count = 0, expected_count = 0;
    for (const char *at = steps; *at; at++) {
        if (*at == ' ' || at == steps)
            expected[expected_count++] = count;
        if (*at != ' ')
            symbols[count++] = (uint64_t)*at;
    }
    assert_int_equal(incomplete_cycle_starts(symbols, count, (uint64_t)begin, starts), expected_count);
    for (size_t i = 0; i < expected_count; i++)
        assert_int_equal(starts[i], expected[i]);
}

static void nothing_lost(void **state)
{
    check("fbgo fbgo fbgo fbgo", 'f');
    check("fbfbfbgo fbfbfbgo fbfbfbgo fbfbfbgo", 'f');
}

/* A gap in the middle does not split a cycle in two; gaps at the ends of steps do not join two. */
static void holes(void **state)
{
    check("fbgo fbgo fbgo fbgo fbgo fbgo fbg fbgo fbgo fbgo fbgo fbgo", 'f');
    check("fbg fbgo fbgo fbgo fbgo fbgo fbgo fbgo fbgo fbg fbgo fbgo", 'f');
    check("fbgo fbgo bgo fbgo fbgo fbgo go fbgo fbgo fbo fbgo fbgo", 'f');
}

/* Two or more micro-batches: a forward after a backward does not belong to the next step. */
static void micro_batches(void **state)
{
    check("fbfbgo fbfbg fbfbgo fbfbgo fbbgo fbfbgo fbfbgo fbfbgo fbfbgo fbfbo fbfbgo fbfbgo", 'f');
}

/* The beginning of the other cycles counts, not the tag before which this one lost its beginning. */
static void the_beginning_was_lost(void **state)
{
    check("bgo fbgo fbgo fbgo fbgo fbgo fbgo", 'f');
    check("bgof bgof bgof bgof bgof bgof bgo", 'b');
    check("bgof bgof bgof bgof bgof bgof bgo", 'x');
}

/* Setup and evaluations start no step, but half a cycle or more keeps the number of the first step. */
static void what_is_none_of_it(void **state)
{
    check("fbgo fbgo fbgoe fbgo fbgo fbgo fbgo fbgoe fbgo fbgo", 'f');
    check("ijk fbgo fbgo fbgo fbgo fbgo", 'f');
}

static void none(void **state)
{
    size_t starts[20];
    const char *texts[] = {"", "f", "fb", "fbfb", "abcdefgh", "ffffb"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t symbols[16] = {0};
        for (size_t j = 0; texts[i][j]; j++)
            symbols[j] = (uint64_t)texts[i][j];
        assert_int_equal(incomplete_cycle_starts(symbols, strlen(texts[i]), 'f', starts), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_lost),       cmocka_unit_test(holes),
        cmocka_unit_test(micro_batches),      cmocka_unit_test(the_beginning_was_lost),
        cmocka_unit_test(what_is_none_of_it), cmocka_unit_test(none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
