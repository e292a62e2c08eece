#include "join/steps.h"

#include "support/cmocka_all.h"
#include "support/letters.h"

static int find_three(const struct recurrence *recurrence, size_t *starts, size_t *found)
{
    return marks_find(recurrence, recurrence->sizes, 3, starts, found);
}

static int find_five(const struct recurrence *recurrence, size_t *starts, size_t *found)
{
    return marks_find(recurrence, recurrence->sizes, 5, starts, found);
}

static int find_by_calls(const struct recurrence *recurrence, size_t *starts, size_t *found)
{
    return marks_find(recurrence, recurrence->calls, 3, starts, found);
}

static void check(const char *steps)
{
    letters_check(steps, find_three);
}

/* However many micro-batches there are, and whatever comes between them. */
static void a_norm_in_each_step(void **state)
{
    check(" 11AA11AAm 11AA11AAml 11AA11AAm 11AA11AAml");
    check(" 11AAm 11AAmo 11AAm111o 11AAmo 11AAm 11AAmo111o 11AAm 11AAmo 11AAm111o 11AAm");
    /* A collective of a communicator that may not be that of all ranks shows no step. */
    check("11AAl11AAl11AAl11AAl");
    /* Operations that set up a job are no step. */
    check("Ct 11AAm 11AAm 11AAm 11AAm");
}

/* If several kinds fit, the one with the most steps is used; but there must be enough of them. */
static void of_several(void **state)
{
    check(" ABm ABmo ABm ABmo ABm ABmo");
    letters_check(" ABm ABm ABm ABm ABm", find_five);
    letters_check("ABmABmABmABm", find_five);
}

/* A norm looks the same as the loss at the end of a step: the operations before it distinguish them. */
static void in_the_middle_of_a_step(void **state)
{
    check(" Am1 Am1m Am1 Am1m Am1 Am1 Am1m");
    letters_check(" 1Am2 3Am2m 1Am1 2Am3 2Am2m 3Am1 1Am3 1Am2m 2Am2 3Am1m 1Am1", find_by_calls);
}

/* Operations at the same time may change their order, and in a longer step the rest may, too. */
static void not_quite_alike(void **state)
{
    check(" 1tAuBm 1tAuBm 1AtuBm 1tAuBm 1tuABm 1tAuBm");
    check(" 11AAm 11AAmAAA 11AAm 11AAm 11AAmA 11AAm");
    check(" 11AAm 11AA1m 11AAm 11AAm 11AAm");
    check(" 11AAm 11AAm 1A1AAAAm 11AAm 11AAm");
    /*
     * An evaluation longer than a step belongs to the end of the previous step; one of two step lengths does
     * not,
     */
    check(" 11AAm 11AAm111111 11AAm 11AAm 11AAm 11AAm 11AAm 11AAm");
    check(" 11AAm 11AAm11AA11AAm 11AAm 11AAm 11AAm 11AAm 11AAm");
    /* and the operations that do not fit are less than a third of all. */
    check(" 11AAm1m 11AAm1m 11AAm1m 11AAm1m");
    check("11AAmAAmAm11AAmAAmAm11AAmAAmAm11AAm");
}

/* Sums of activations on one communicator and a norm of all ranks: that may be a micro-batch. */
static void what_may_be_a_micro_batch(void **state)
{
    check("ttttmttttmottttmttttmottttmttttmo");
    check("rttsmrttsmorttsmrttsmorttsmrttsmo");
    /* Several of them in one period are a step, and so are sums on other communicators. */
    check(" rttsrttsm rttsrttsmo rttsrttsm rttsrttsmo rttsrttsm");
    check(" ttAm ttAmo ttAm ttAmo ttAm");
}

/* However many others come before, or occasionally. */
static void among_many_others(void **state)
{
    check("efghpqvwxyz1efghpqvwxyz 11AAm 11AAmo 11AAmefgh 11AAm 11AAmpqv 11AAmwxyz 11AAm");
}

/* Of two that are equally frequent, the one with the earlier first step is used. */
static void the_one_that_begins_sooner(void **state)
{
    check(" 1111m1A1A1Am 1111m1A1A1Am 1111m1A1A1Am 1111m1A1A1Am 1111m1A1A1Am");
}

/* More than half of a step is a step, less is not; nor are operations that came between steps before. */
static void at_the_end(void **state)
{
    check(" 11AAm 11AAm 11AAm 11AAm 11A");
    check(" 11AAm 11AAm 11AAm 11AAm11");
    check(" 1111AAm 1111AAm1111o 1111AAm 1111AAm 1111AAm1111o 1111AAm1111");
    check(" 11AAm 11AAm 11AAm 11AAmAAA");
    /* The previous step ends after its norm. */
    check(" A1m2 A1m2 A1m2 A1m2 A1m");
    check(" A1m2 A1m2 A1m2 A1m2 A1m2");
}

/* The gradients come once per step, whatever its micro-batches contain. */
static void nothing_else_comes_in_each(void **state)
{
    check("tu1mtu1mtu1mABtu1mtu1mtu1mABtu1mtu1mtu1mABtu1mtu1mtu1mAB");
    check(" tu1m tu1m tu1mAB tu1m tu1m tu1mAB tu1m tu1m");
    /* In one of sixteen it is a checkpoint, */
    check(
        " ABm ABm ABm ABm ABmt ABm ABm ABm ABm ABm ABm ABm ABm ABm ABm ABm ABm ABmt ABm ABm ABm ABm ABm ABm"
        " ABm ABm ABm ABm ABm ABm ABm ABm ABm ABm ABm ABm ABm ABmt ABm ABm ABm ABm ABm ABm ABm ABm ABm ABm"
        " ABm ABm ABm");
    /* which does not make the others micro-batches. */
    check("ABmABmABmABmABmtABmABmABmABmABmABmABmABmABmABmABmtABmABmABmABmABmABmABmABmABmABmABmtABmABm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_a_micro_batch),
        cmocka_unit_test(among_many_others),
        cmocka_unit_test(the_one_that_begins_sooner),
        cmocka_unit_test(a_norm_in_each_step),
        cmocka_unit_test(of_several),
        cmocka_unit_test(in_the_middle_of_a_step),
        cmocka_unit_test(not_quite_alike),
        cmocka_unit_test(at_the_end),
        cmocka_unit_test(nothing_else_comes_in_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
