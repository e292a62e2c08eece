#include "join/steps.h"

#include "support/cmocka_all.h"
#include "support/letters.h"

static void check(const char *steps)
{
    letters_check(steps, recurrence_find);
}

static void as_they_are(void **state)
{
    check(" ABl ABl ABl ABl");
    check(" ttAn ttAn ttAn");
    check("ABCABC"); /* twice is not recurring */
    check("ABCtuln");
}

/* The operations that a checkpoint sometimes adds belong to the step in which they occur. */
static void without_a_barrier(void **state)
{
    check(" ABC ABC ABCl ABC ABC ABC ABCl ABC ABC");
    check(" ABC ABC ABCl ABC ABC ABC ABCl ABC ABC ABC ABC ABCtu ABC ABC ABCl");
    /* A single one, which leaves more than half after it. */
    check(" ABC ABC ABC ABC ABC ABC ABC ABC ABCl ABC ABC ABC ABC ABC ABC ABC ABC ABC ABC");
    check(" ttB ttB ttB ttB ttBA ttB ttB ttB ttB ttB ttB ttB");
    /* An operation that is as frequent as steps is part of them, and must recur with them. */
    check("uABCAuBCABuCABCuAuBCuABC");
    /* Nor may as much as an eighth of all be left out. */
    check("tBCAuBCABCtBCAuBtCABCuBCAuABtCABCtuBCABCAtBCu");
    check(" ABl ABl ABln ABl ABl ABl ABln ABl ABl");
}

/* At most one in eight of all may be left out: five of 41, not six of 42. */
static void without_one_in_eight(void **state)
{
    check(" ABCu ABC ABC ABCu ABCu ABC ABC ABC ABCu ABC ABCu ABC");
    check("ABCuABCABCABCuABCuABCABCABCuABCABCuABCuABC");
}

/*
 * Six of 48, once in each of six steps, at different places: that is as often as steps. In seven it is not.
 */
static void without_what_comes_as_often_as_steps(void **state)
{
    check("AAuBBCCCAABBuCCCAABuBCCCAuABBCCCAABBCuCCAABBCCuC");
    check(" AAuBBCCC AABBuCCC AABuBCCC AABBCCC AuABBCCC AABBCuCC AABBCCuC");
}

/*
 * Three steps are enough if they are identical; six are required if something is skipped, whatever that is.
 */
static void six_steps_where_something_is_left_out(void **state)
{
    check(" ABC ABCu ABC ABCu ABC ABC");
    check("ABCABCuABCABCuABC");
    check(" ABC ABCu ABC ABC ABC ABC");
    check(" ABCABCu ABC ABC ABC"); /* the last three are identical */
    check(" ABCl ABCll ABCl ABCl ABCll ABCl");
    check("ABClABCllABClABCllABCl");
    check(" 1AB 2AB 3AB 1AB 3AB 3AB");
    check("1AB2AB3AB1AB3AB");
    check(" 1ABl 2ABl 3ABll 1ABl 3ABll 2ABl");
    check("1ABl2ABl3ABll1ABl3ABll");
}

/* A loss in each step, and a barrier that looks the same in some. */
static void without_what_is_small(void **state)
{
    check(" ABCl ABCl ABCll ABCl ABCl ABCl ABCll ABCl");
    check(" 1ABl 2ABl 3ABll 2ABl 1ABl 1ABl 2ABll 3ABl");
    check(" ttBuBn ttBuBn ttBuBnn ttBuBn ttBuBn ttBuBn ttBuBnn ttBuBn");
}

/* Batches of different sizes; the calls recur. */
static void without_sizes(void **state)
{
    check(" 1AB 2AB 3AB 1AB 3AB 3AB 2AB 1AB 2AB");
    check(" 1AB 2AB 3ABn 1AB 3AB 3AB 2AB 1ABn 2AB 2AB 1AB 3AB");
}

/* Every third or fourth step sums up a loss: the distance of losses is no longer a step. */
static void a_loss_now_and_then(void **state)
{
    check(" ABCl ABC ABC ABCl ABC ABC ABCl ABC ABC ABCl ABC ABC");
    /* However the first and last of such rounds are cut off. */
    check(" ABCl ABC ABCl ABC ABCl ABC ABCl ABC ABCl ABC ABCl");
    check(" ABC ABCl ABC ABCl ABC ABCl ABC ABCl ABC ABCl");
    check(" ttAn ttA ttA ttA ttAn ttA ttA ttA ttAn ttA ttA ttA");
    /* One in each step, before the others, is a part of it. */
    check(" lABC lABC lABC lABC lABC lABC lABC lABC");
    /* A norm for every four micro-batches looks the same; but nothing of those is summed up elsewhere. */
    check(" rttsrttsrttsrttsn rttsrttsrttsrttsn rttsrttsrttsrttsn rttsrttsrttsrttsn");
}

/* Identical buckets are no steps; nor are two kinds in turn. Steps of several kinds are, in any order. */
static void parts_go_together_by_time(void **state)
{
    check(" AAA| AAA| AAA| AAA| AAA");
    check(" tutu| tutu| tutu| tutu");
    check(" ABC ABC ABC| ABC ABC ABC| ABC ABC ABC| ABC ABC ABC| ABC ABC ABC");
    check(" A A A A A A A A");
}

/* If the operations that make up a step are left out, only parts remain. */
static void parts_are_no_steps(void **state)
{
    check(" ttttttn ttttttn ttttttn ttttttn ttttttn ttttttn");
    check("1A2A3A2A1A3A1An2A1A1A3A2An1A1A2A3A");
    check("tttttttttttttttnttttttttttttttttttttntttttttttttttttttttttttttttttnttt");
}

/*
 * Operations that occasionally come between steps belong to the end of the previous one, and do not make the
 * steps longer.
 */
static void an_evaluation(void **state)
{
    check(" ttABl ttABl ttABlttl ttABl ttABl ttABlttl ttABl ttABl ttABlttl ttABl");
    check(" ttABl ttABlttl ttABl ttABlttl ttABl ttABlttl ttABl ttABlttl");
    /* With a checkpoint and a report, each with its own period, so that nothing recurs exactly. */
    check(" ttABn ttABn ttABnttl ttABnl ttABn ttABnttll ttABn ttABnl ttABnttl ttABn ttABn ttABnttll ttABn");
    /* Alternating sizes make one step of two. */
    check(" 1t2tABl 3t1tABl 1t2tABl 3t1tABl 1t2tABl 3t1tABl 1t2tABl 3t1tABl");
    /* Batches differ in size; gradients are summed up in equal buckets. */
    check(" 12AAAl 31AAAl 22AAAl11l 13AAAl 32AAAl 21AAAl33l 12AAAl 11AAAl 23AAAl");
    /* Operations at the same time may change their order, also in the first step. */
    check(
        " tututututututuutABl tutututututututuABl tutututututututuABltutul tutututututututuABl"
        " tutututututututuABltutul tutututututututuABl tutututututututuABl tutututututututuABl");
    /* One step in eight may lack something. */
    check(" ttABl ttABl ttABlttl ttABl tABl ttABlttl ttABl ttABl ttABlttl ttABl ttABl ttABlttl");
}

/* Gathering and reducing layer by layer is not split into layers, nor accumulation into micro-batches. */
static void no_part_has_it_all(void **state)
{
    check(" 121212AB12AB12ABn 121212AB12AB12ABn 121212AB12AB12ABn 121212AB12AB12ABn");
    check(" tu1tu1tu1ABn tu1tu1tu1ABn tu1tu1tu1ABn tu1tu1tu1ABnu tu1tu1tu1ABn tu1tu1tu1ABn tu1tu1tu1ABn");
    /*
     * Buckets with something small between them: the calls alone would look like a step, the sizes show that
     * they are none.
     */
    check(" lAlBlCl lAlBlCl lAlBlCl lAlBlCl");
    /* A norm for each micro-batch, and one for all. */
    check(" tnutnun tnutnun tnutnun tnutnun");
    /* A small one for each micro-batch, and the gradients once per step. */
    check(" tu1ltu1ltu1lAB tu1ltu1ltu1lAB tu1ltu1ltu1lAB tu1ltu1ltu1lAB");
}

/* The operations between two anchors must be alike, and anchors as frequent as steps. */
static void anchors_alone_are_no_steps(void **state)
{
    check("CtlCtlCltCtlCltCltCtlCltCtlClt");
    check(" BACl ABCl ABCln ABCl ABCl ABCl ABCln ABCl ABCl ABCln ABCl ABCl ABCl ABCl ABCln ABCl");
    check(" ABl ABlt ABl ABlt ABl ABl ABlt ABl ABlt ABl ABl ABl ABlt ABl ABl ABlt ABl ABlt ABl ABl ABlt ABl");
}

/* The first step sums up in one bucket what the others do in several; setup is no step. */
static void before_the_first_alike(void **state)
{
    check(" C ABl ABl ABl ABl");
    check(" 3l3Cl ABl ABl ABln ABl ABl ABln ABl ABl ABln");
    check("3 ABl ABl ABl ABl");
    check("tt 1tAn 1tAn 1tAn 1tAn");
    check("t tuuuAn tuuuAn tuuuAn tuuuAn");
    check(" 1ttun 2ttun 3ttun 3ttun 2ttun 1ttun 1ttun 3ttun 1ttun 2ttun");
}

/* A norm in each step marks the steps if everything that recurs is several steps, or parts of them. */
static void a_norm_in_each_step(void **state)
{
    check(" 11AA11AAm 11AA11AAml 11AA11AAm 11AA11AAml 11AA11AAm 11AA11AAml 11AA11AAm 11AA11AAml");
    check(" 11AAm 11AAmo 11AAm111o 11AAmo 11AAm 11AAmo111o 11AAm 11AAmo 11AAm111o 11AAm 11AAm111");
    /* Nothing recurs exactly, nor without the rare or small operations. */
    check(
        " 111A1AAmo 111A1AAm 111A1AAm1111o 111A1AAm 111A1AAmo 111A1AAm1111oo 111A1AAm 111A1AAm"
        " 111A1AAmo1111o 111A1AAm 111A1AAm");
    /* A collective of a communicator that may have only a few ranks does not. */
    check(" 11AA 11AAn 11AA 11AAnl 11AA 11AAn 11AA 11AAnl 11AA 11AAn 11AA 11AAnl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_they_are),
        cmocka_unit_test(without_a_barrier),
        cmocka_unit_test(without_one_in_eight),
        cmocka_unit_test(without_what_comes_as_often_as_steps),
        cmocka_unit_test(six_steps_where_something_is_left_out),
        cmocka_unit_test(without_what_is_small),
        cmocka_unit_test(without_sizes),
        cmocka_unit_test(a_loss_now_and_then),
        cmocka_unit_test(parts_go_together_by_time),
        cmocka_unit_test(parts_are_no_steps),
        cmocka_unit_test(an_evaluation),
        cmocka_unit_test(no_part_has_it_all),
        cmocka_unit_test(anchors_alone_are_no_steps),
        cmocka_unit_test(before_the_first_alike),
        cmocka_unit_test(a_norm_in_each_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
