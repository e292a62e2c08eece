#include "join/steps.h"

#include "support/cmocka_all.h"

#include <string.h>

/* Cycles of tags of which some were lost. A letter is a tag; a space: a step has to begin. */
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

/* A hole in the middle is no cycle of two halves; holes at the ends of steps join none. */
static void holes(void **state)
{
    check("fbgo fbgo fbgo fbgo fbgo fbgo fbg fbgo fbgo fbgo fbgo fbgo", 'f');
    check("fbg fbgo fbgo fbgo fbgo fbgo fbgo fbgo fbgo fbg fbgo fbgo", 'f');
    check("fbgo fbgo bgo fbgo fbgo fbgo go fbgo fbgo fbo fbgo fbgo", 'f');
}

/* Two micro-batches and more: a forward after a backward is none of the next step. */
static void micro_batches(void **state)
{
    check("fbfbgo fbfbg fbfbgo fbfbgo fbbgo fbfbgo fbfbgo fbfbgo fbfbgo fbfbo fbfbgo fbfbgo", 'f');
}

/* What others begin with counts, not what this one lost its beginning before. */
static void the_beginning_was_lost(void **state)
{
    check("bgo fbgo fbgo fbgo fbgo fbgo fbgo", 'f');
    check("bgof bgof bgof bgof bgof bgof bgo", 'b');
    check("bgof bgof bgof bgof bgof bgof bgo", 'x');
}

/* Set-up and evaluations start nothing, but what is half a cycle or more keeps the first step's number. */
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
