#include "join/steps.h"

#include "support/cmocka_all.h"
#include "support/letters.h"

#include <string.h>

static void check(const char *steps)
{
    letters_check(steps, stretches_find);
}

/* One stretch of steps, as stretches_find finds it. */
static void one_stretch(void **state)
{
    check(" ABl ABl ABl ABl");
    check(" ttABl ttABl ttABlttl ttABl ttABl ttABlttl ttABl ttABl ttABlttl ttABl");
    check("ABCtuln");
    check(" AAA| AAA| AAA| AAA| AAA");
    check("tttttttttttttttnttttttttttttttttttttntttttttttttttttttttttttttttttnttt");
}

/* Micro-batches ramp up. The begins and ends of the steps at the border show to which stretch they belong. */
static void batches_that_ramp_up(void **state)
{
    check(" tAB tAB tAB tAB tAB tAB ttAB ttAB ttAB ttAB ttAB ttAB ttAB ttAB");
    check(" tAB tAB tAB tAB tAB tAB ttAB ttAB ttAB ttAB ttAB ttAB ttttAB ttttAB ttttAB ttttAB ttttAB ttttAB");
}

/* The later steps may begin as the earlier ones did, or end as they did. */
static void borders(void **state)
{
    check(" tA tA tA tA tA tA tAB tAB tAB tAB tAB tAB tAB");
    check(" tA tA tA tA tA tA ttA ttA ttA ttA ttA ttA ttA");
}

static void sizes_that_grow(void **state)
{
    check(" 1A 1A 1A 1A 1A 1A 2A 2A 2A 2A 2A 2A 3A 3A 3A 3A 3A 3A");
}

/* Too few steps for a stretch belong to what comes after them. */
static void too_few_for_a_stretch(void **state)
{
    check("rsrsrs BCu BCu BCu BCu BCu BCu BCu BCu BCu BCu");
}

/* An evaluation has only calls that the steps before it have, too; after micro-batches come the gradients. */
static void several_steps_in_a_cycle(void **state)
{
    check(" 1tuA 1tuA 1tuA 1tuA1t 1tuA 1tuA 1tuA 1tuA1t 1tuA 1tuA 1tuA 1tuA1t");
    check(" 1tu1tu1tu1tuAB 1tu1tu1tu1tuAB 1tu1tu1tu1tuAB");
}

static void of_symbols(const char *steps)
{
    uint64_t symbols[128];
    size_t expected[128], starts[128], count = 0, wanted = 0, found;
    for (; *steps; steps++) {
        assert_true(count < 128);
        if (*steps == ' ')
            expected[wanted++] = count;
        else
            symbols[count++] = (uint64_t)*steps;
    }
    assert_int_equal(stretches_of_symbols(symbols, count, starts, &found), 0);
    assert_int_equal(found, wanted);
    assert_memory_equal(starts, expected, wanted * sizeof *starts);
}

static void tags(void **state)
{
    of_symbols(" fbo fbo fbo fbo fbo fbo fbfbo fbfbo fbfbo fbfbo fbfbo fbfbo");
    of_symbols(" fbo fbo fbo fbo fbo fbo");
    of_symbols("fbofbxofb");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stretch),
        cmocka_unit_test(batches_that_ramp_up),
        cmocka_unit_test(borders),
        cmocka_unit_test(sizes_that_grow),
        cmocka_unit_test(too_few_for_a_stretch),
        cmocka_unit_test(several_steps_in_a_cycle),
        cmocka_unit_test(tags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
