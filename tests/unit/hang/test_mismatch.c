#include "support/cmocka_all.h"
#include "support/played.h"

/* With another size than most; of two halves, the one that did not use it before. */
static void who_called_with_another_size(void **state)
{
    check("r|r!", "r|r*!", "r|r!", "r|r!", "mismatch 1 high 1 < ");
    check("r|r|r!", "r|r|r*!", "r|r|r*!", "r|r|r!", "mismatch 1 medium 2 < mismatch 2 medium 2 < ");
    /* What ranks 1 and 2 did before is unknown. */
    check("r|r|r!", ".r|.r|r*!", ".r|.r|r*!", "r|r|r!", "mismatch 0/1/2/3 low 2 < ");
    /* So is what ranks 0 and 3 did, which may not have used theirs either. */
    check("r?|r?|r!", "r|r|r*!", "r|r|r*!", "r?|r?|r!", "mismatch 0/1/2/3 low 2 < ");
    /* A rank that sends less than the others expect finishes, and so does a rank that needs less. */
    check("r|r*!", "r|r", "r|r*!", "r|r*!", "mismatch 1 high 1 < ");
    check("r|r*!", "r|r", "r|r*", "r|r*!", "mismatch 1 high 1 < ");
    /* The call that blocks a rank is reported, not earlier ones that finished. */
    check("r|r|r!", "r|r*|r*!", "r|r|r!", "r|r|r!", "mismatch 1 high 2 < ");
    /* It finished; calls after the first mismatch are not reported. */
    check("r|r|r", "r|r*|r*", "r|r|r", "r|r|r", "mismatch 1 low 1 < ");
}

/* A size that cannot be read is not a different size, and does not count for the majority. */
static void sizes_that_are_not_known(void **state)
{
    check("r|r!", "r|r?!", "r|r!", "r|r!", "");
    check("r|r?!", "r|r?!", "r|r?!", "r|r?!", "");
    check("r|r!", "r|r?!", "r|r?!", "r|r*!", "mismatch 0/3 low 1 < ");
    check("r|r!", "r|r?!", "r|r!", "r|r*!", "mismatch 3 high 1 < ");
}

static void who_called_with_another_root_or_datatype(void **state)
{
    check("r|b!", "r|b#!", "r|b!", "r|b!", "mismatch 1 high 1 < ");
    check("r|r!", "r|r!", "r|r+!", "r|r!", "mismatch 2 high 1 < ");
    check("r|r", "r|r", "r|r+", "r|r", "mismatch 2 low 1 < ");
    check("P|P!", "", "", "P|P+!", "mismatch 0/3 low 1 < ");
}

/* Two collectives of a communicator, one after the other, in another order than most. */
static void who_called_in_another_order(void **state)
{
    check("rg|rg", "rg|gr", "rg|rg", "rg|rg", "mismatch 1 low 1 < ");
    check("rg|r!g!", "rg|g!r!", "rg|r!g!", "rg|r!g!", "mismatch 1 high 1 < ");
    check("rg|gr!", "rg|r!g", "rg|r!g", "rg|r!g", "mismatch 0 high 1 < ");
    check("rg|r!g!", "rg|r!g!", "rg|g!r!", "rg|g!r!", "mismatch 0/1/2/3 low 1 < ");
    /* On communicators that share no stream, every rank may have its own order. */
    check("rP|Pr", "r|r", "r|r", "rP|rP", "");
}

/* Of two halves, the one that departs from the order of its earlier steps, if the other one does not. */
static void who_is_not_used_to_its_order(void **state)
{
    check("rg|rg|r!g!", "rg|rg|r!g!", "rg|rg|g!r!", "rg|rg|g!r!",
          "mismatch 2 medium 2 < mismatch 3 medium 2 < ");
    check("rg|rg|g!r!", "rg|rg|g!r!", "rg|rg|r!g!", "rg|rg|r!g!",
          "mismatch 0 medium 2 < mismatch 1 medium 2 < ");
    /* It finished, so only the rank is reported. */
    check("rg|rg|rg", "rg|rg|rg", "rg|rg|gr", "rg|rg|gr", "mismatch 2 low 2 < mismatch 3 low 2 < ");
    /* Each half used its order before; for one it is unknown; each half has a rank that did not use it. */
    check("rg|rg|r!g!", "rg|rg|r!g!", "gr|gr|g!r!", "gr|gr|g!r!", "mismatch 0/1/2/3 low 2 < ");
    check("rg|rg|r!g!", "rg|rg|r!g!", ".r.g|.r.g|g!r!", ".r.g|.r.g|g!r!", "mismatch 0/1/2/3 low 2 < ");
    check("rg|rg|r!g!", "gr|gr|r!g!", "rg|rg|g!r!", "rg|rg|g!r!", "mismatch 0/1/2/3 low 2 < ");
    check("rg|rg|g!r!", "rg|rg|g!r!", "rg|rg|r!g!", "gr|gr|r!g!", "mismatch 0/1/2/3 low 2 < ");
}

/* A mismatch in the step in which a rank is blocked later may be the cause; one in another step finished. */
static void what_disagreed_before_in_the_step(void **state)
{
    check("r|rg!", "r|r*g!", "r|rg!", "r|rg!", "mismatch 1 high 1 < ");
    check("r|r|g!", "r|r*|g!", "r|r|g!", "r|r|g!", "mismatch 1 low 1 < ");
    check("rP|rP!", "r|r*", "r|r", "rP|rP!", "mismatch 1 low 1 < ");
}

/* What finished, in order of time; every operation lasts until this long after the next one began. */
static void play_finished(struct played *played, int64_t overlap_ns)
{
    play(played, (const char *const[]){"rg|rg", "rg|gr", "rg|rg", "rg|rg"});
    played->job.finished_only = 1;
    for (size_t i = 0; i < played->job.operation_count; i++)
        played->operations[i].end_ns += overlap_ns;
}

/* One must be over when the other begins. */
static void orders_of_what_finished(void **state)
{
    struct played played;
    play_finished(&played, 0);
    check_found(&played, "mismatch 1 low 1 < ");
    play_finished(&played, 1);
    check_found(&played, "");
    play_finished(&played, 0);
    for (size_t i = 0; i < played.job.operation_count; i++)
        played.operations[i].start_ns = TIME_UNKNOWN;
    check_found(&played, "");
    play_finished(&played, 0);
    for (size_t i = 0; i < played.job.operation_count; i++)
        played.operations[i].end_ns = TIME_UNKNOWN;
    check_found(&played, "");
}

static int32_t *member_of(struct played *played, int32_t instance, int32_t rank)
{
    int32_t *at = &played->members[played->instances[instance].first_member];
    while (played->operations[*at].rank != rank)
        at++;
    return at;
}

/* The numbers of two operations of a rank are exchanged, as if the clock of a record is off. */
static void exchange_numbers(struct played *played, int32_t one, int32_t other)
{
    struct job_operation *first = &played->operations[one], *second = &played->operations[other];
    int32_t instance = first->instance;
    *member_of(played, first->instance, first->rank) = other;
    *member_of(played, second->instance, second->rank) = one;
    first->instance = second->instance;
    second->instance = instance;
}

/* A record after a later one of its sequence has a wrong time, so it shows no order. */
static void orders_by_a_time_that_is_off(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"rg|rg|rg", "rg|rg|gr", "rg|rg|rg", "rg|rg|rg"});
    played.job.finished_only = 1;
    check_found(&played, "mismatch 1 low 2 < ");
    play(&played, (const char *const[]){"rg|rg|rg", "rg|g|rgr", "rg|rg|rg", "rg|rg|rg"});
    played.job.finished_only = 1;
    int32_t first = (int32_t)played.ranks[1].first;
    exchange_numbers(&played, first + 3, first + 5);
    check_found(&played, "");
}

/* Operations of one call have no order; the order of lost ones is unknown. */
static void orders_that_say_nothing(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"rg|rg", "rg|gr", "rg|rg", "rg|rg"});
    for (size_t i = 0; i < played.job.rank_count; i++)
        played.operations[played.ranks[i].first + 3].group = (int32_t)played.ranks[i].first + 2;
    check_found(&played, "");
    check("rg|.r.g", "rg|gr", ".r.g|rg", ".r.g|rg", "mismatch 1 low 1 < ");
}

/* Without its hash, a communicator may be two. */
static void sizes_of_what_may_be_two(void **state)
{
    struct played played;
    play(&played, (const char *const[]){"r|r!", "r|r*!", "r|r!", "r|r!"});
    played.communicators[0].hash = 0;
    check_found(&played, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_called_with_another_size),
        cmocka_unit_test(who_called_with_another_root_or_datatype),
        cmocka_unit_test(who_called_in_another_order),
        cmocka_unit_test(who_is_not_used_to_its_order),
        cmocka_unit_test(what_disagreed_before_in_the_step),
        cmocka_unit_test(orders_of_what_finished),
        cmocka_unit_test(orders_by_a_time_that_is_off),
        cmocka_unit_test(orders_that_say_nothing),
        cmocka_unit_test(sizes_that_are_not_known),
        cmocka_unit_test(sizes_of_what_may_be_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
