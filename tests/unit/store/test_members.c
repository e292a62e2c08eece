#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

/* The list that is read, written as in the store; "" if it is no list. */
static void assert_members(const char *text, const char *found)
{
    char written[64] = "";
    int64_t *ranks;
    size_t count;
    assert_int_equal(members_read(text, &ranks, &count), 0);
    for (size_t i = 0, at = 0; i < count; i++)
        at += (size_t)snprintf(written + at, sizeof written - at, "%c%lld%s", i ? ',' : '[',
                               (long long)ranks[i], i + 1 == count ? "]" : "");
    assert_string_equal(written, found);
    free(ranks);
}

static void lists_keep_their_order(void **state)
{
    assert_members("[0]", "[0]");
    assert_members("[0,4,8]", "[0,4,8]");
    assert_members("[7,2147483646,3]", "[7,2147483646,3]");
}

/* Somebody may have edited the store: a value that is no list of different ranks counts as none. */
static void all_else_is_none(void **state)
{
    static const char *const texts[] = {"",
                                        "[]",
                                        "[,]",
                                        "[1",
                                        "1]",
                                        "[1,]",
                                        "[1 ,2]",
                                        "[-1]",
                                        "[1,1]",
                                        "[5,3,5]",
                                        "[1]]",
                                        "[2147483647]",
                                        "[99999999999999999999]",
                                        "[1,x]",
                                        "null"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_members(texts[i], "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_keep_their_order),
        cmocka_unit_test(all_else_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
