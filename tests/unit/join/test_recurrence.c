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
    check("ABCABC"); /* twice is nothing that recurs */
    check("ABCtuln");
}

/* What a checkpoint adds now and then falls in the step that it comes in. */
static void without_a_barrier(void **state)
{
    check(" ABC ABC ABCl ABC ABC ABC ABCl ABC ABC");
    check(" ABC ABC ABCl ABC ABC ABC ABCl ABC ABC ABC ABC ABCtu ABC ABC ABCl");
    /* One alone, which leaves more than half after it. */
    check(" ABC ABC ABC ABC ABC ABC ABC ABC ABCl ABC ABC ABC ABC ABC ABC ABC ABC ABC ABC");
    check(" ttB ttB ttB ttB ttBA ttB ttB ttB ttB ttB ttB ttB");
    /* What comes as often as steps do is part of them, and has to recur with them. */
    check("uABCAuBCABuCABCuAuBCuABC");
    /* Nor is as much as an eighth of all left out. */
    check("tBCAuBCABCtBCAuBtCABCuBCAuABtCABCtuBCABCAtBCu");
    check(" ABl ABl ABln ABl ABl ABl ABln ABl ABl");
}

/* One in eight of all may be left out, and no more: five of 41, not six of 42. */
static void without_one_in_eight(void **state)
{
    check(" ABCu ABC ABC ABCu ABCu ABC ABC ABC ABCu ABC ABCu ABC");
    check("ABCuABCABCABCuABCuABCABCABCuABCABCuABCuABC");
}

/* Six of 48, in each of six steps once, at another place: it comes as often as steps do. In seven it does
 * not.
 */
static void without_what_comes_as_often_as_steps(void **state)
{
    check("AAuBBCCCAABBuCCCAABuBCCCAuABBCCCAABBCuCCAABBCCuC");
    check(" AAuBBCCC AABBuCCC AABuBCCC AABBCCC AuABBCCC AABBCuCC AABBCCuC");
}

/* Three steps would do as they are; six are asked for where something is passed over, whatever that is. */
static void six_steps_where_something_is_left_out(void **state)
{
    check(" ABC ABCu ABC ABCu ABC ABC");
    check("ABCABCuABCABCuABC");
    check(" ABC ABCu ABC ABC ABC ABC");
    check(" ABCABCu ABC ABC ABC"); /* the last three as they are */
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

/* Every third or fourth step sums up a loss: that is no longer step. */
static void a_loss_now_and_then(void **state)
{
    check(" ABCl ABC ABC ABCl ABC ABC ABCl ABC ABC ABCl ABC ABC");
    /* However the first and last of such rounds are cut. */
    check(" ABCl ABC ABCl ABC ABCl ABC ABCl ABC ABCl ABC ABCl");
    check(" ABC ABCl ABC ABCl ABC ABCl ABC ABCl ABC ABCl");
    check(" ttAn ttA ttA ttA ttAn ttA ttA ttA ttAn ttA ttA ttA");
    /* One in each step, before the others, is a part of that. */
    check(" lABC lABC lABC lABC lABC lABC lABC lABC");
    /* A norm for every four micro-batches looks the same; but nothing of those is summed up elsewhere. */
    check(" rttsrttsrttsrttsn rttsrttsrttsrttsn rttsrttsrttsrttsn rttsrttsrttsrttsn");
}

/* Buckets, all alike, are no steps; nor two kinds in turn. Steps of several kinds are, whenever they come. */
static void parts_go_together_by_time(void **state)
{
    check(" AAA| AAA| AAA| AAA| AAA");
    check(" tutu| tutu| tutu| tutu");
    check(" ABC ABC ABC| ABC ABC ABC| ABC ABC ABC| ABC ABC ABC| ABC ABC ABC");
    check(" A A A A A A A A");
}

/* Nothing but parts is left when what makes a step of them is left out. */
static void parts_are_no_steps(void **state)
{
    check(" ttttttn ttttttn ttttttn ttttttn ttttttn ttttttn");
    check("1A2A3A2A1A3A1An2A1A1A3A2An1A1A2A3A");
    check("tttttttttttttttnttttttttttttttttttttntttttttttttttttttttttttttttttnttt");
}

/* What comes between steps now and then is the end of the one before, and makes them no longer. */
static void an_evaluation(void **state)
{
    check(" ttABl ttABl ttABlttl ttABl ttABl ttABlttl ttABl ttABl ttABlttl ttABl");
    check(" ttABl ttABlttl ttABl ttABlttl ttABl ttABlttl ttABl ttABlttl");
    /* With a checkpoint and a report, each at its own pace, so that nothing recurs as it is. */
    check(" ttABn ttABn ttABnttl ttABnl ttABn ttABnttll ttABn ttABnl ttABnttl ttABn ttABn ttABnttll ttABn");
    /* Sizes that alternate make two steps one. */
    check(" 1t2tABl 3t1tABl 1t2tABl 3t1tABl 1t2tABl 3t1tABl 1t2tABl 3t1tABl");
    /* Batches differ in size; gradients are summed up in equal buckets. */
    check(" 12AAAl 31AAAl 22AAAl11l 13AAAl 32AAAl 21AAAl33l 12AAAl 11AAAl 23AAAl");
    /* Of those that share a moment the order may change, in the first step, too. */
    check(
        " tututututututuutABl tutututututututuABl tutututututututuABltutul tutututututututuABl"
        " tutututututututuABltutul tutututututututuABl tutututututututuABl tutututututututuABl");
    /* A step in eight may lack something. */
    check(" ttABl ttABl ttABlttl ttABl tABl ttABlttl ttABl ttABl ttABlttl ttABl ttABl ttABlttl");
}

/* What gathers and reduces layer by layer is not cut into layers, nor accumulation into micro-batches. */
static void no_part_has_it_all(void **state)
{
    check(" 121212AB12AB12ABn 121212AB12AB12ABn 121212AB12AB12ABn 121212AB12AB12ABn");
    check(" tu1tu1tu1ABn tu1tu1tu1ABn tu1tu1tu1ABn tu1tu1tu1ABnu tu1tu1tu1ABn tu1tu1tu1ABn tu1tu1tu1ABn");
    /* Buckets with something small between them: the calls alone would do for a step, the sizes tell. */
    check(" lAlBlCl lAlBlCl lAlBlCl lAlBlCl");
    /* A norm for each micro-batch, and one for all. */
    check(" tnutnun tnutnun tnutnun tnutnun");
    /* A small one for each micro-batch, and the gradients once in a step. */
    check(" tu1ltu1ltu1lAB tu1ltu1ltu1lAB tu1ltu1ltu1lAB tu1ltu1ltu1lAB");
}

/* What lies between two anchors has to be alike, and anchors as frequent as steps. */
static void anchors_alone_are_no_steps(void **state)
{
    check("CtlCtlCltCtlCltCltCtlCltCtlClt");
    check(" BACl ABCl ABCln ABCl ABCl ABCl ABCln ABCl ABCl ABCln ABCl ABCl ABCl ABCl ABCln ABCl");
    check(" ABl ABlt ABl ABlt ABl ABl ABlt ABl ABlt ABl ABl ABl ABlt ABl ABl ABlt ABl ABlt ABl ABl ABlt ABl");
}

/* The first step sums up in one bucket what the others do in several; what sets up a job is no step. */
static void before_the_first_alike(void **state)
{
    check(" C ABl ABl ABl ABl");
    check(" 3l3Cl ABl ABl ABln ABl ABl ABln ABl ABl ABln");
    check("3 ABl ABl ABl ABl");
    check("tt 1tAn 1tAn 1tAn 1tAn");
    check("t tuuuAn tuuuAn tuuuAn tuuuAn");
    check(" 1ttun 2ttun 3ttun 3ttun 2ttun 1ttun 1ttun 3ttun 1ttun 2ttun");
}

/* A norm in each step tells them where all that recurs is several steps, or parts of them. */
static void a_norm_in_each_step(void **state)
{
    check(" 11AA11AAm 11AA11AAml 11AA11AAm 11AA11AAml 11AA11AAm 11AA11AAml 11AA11AAm 11AA11AAml");
    check(" 11AAm 11AAmo 11AAm111o 11AAmo 11AAm 11AAmo111o 11AAm 11AAmo 11AAm111o 11AAm 11AAm111");
    /* Nothing recurs as it is, nor without what is rare or small. */
    check(
        " 111A1AAmo 111A1AAm 111A1AAm1111o 111A1AAm 111A1AAmo 111A1AAm1111oo 111A1AAm 111A1AAm"
        " 111A1AAmo1111o 111A1AAm 111A1AAm");
    /* Of a communicator that may be that of a few it does not. */
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
