#include "base/base.h"

#include "support/cmocka_all.h"

#include <string.h>

/* Each sequence is a text of different capital letters; `listed` is the order in which they are listed
 * before. */
static void check_order(const char *const *sequences, const char *listed, const char *expected)
{
    struct follows follows;
    int32_t list[32];
    size_t count = strlen(listed);
    follows_init(&follows);
    for (; *sequences; sequences++)
        for (const char *at = *sequences; at[0] && at[1]; at++)
            assert_int_equal(follows_add(&follows, at[0] - 'A', at[1] - 'A'), 0);
    for (size_t i = 0; i < count; i++)
        list[i] = listed[i] - 'A';
    assert_int_equal(follows_sort(&follows, list, count), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list[i], expected[i] - 'A');
    follows_release(&follows);
}

#define SEQUENCES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void each_sequence_lacks_an_item(void **state)
{
    check_order(SEQUENCES("BCDE", "ACDE", "ABDE", "ABCE", "ABCD"), "BCDEA", "ABCDE");
    check_order(SEQUENCES("ACE", "ABD", "BCD", "DE"), "ACEBD", "ABCDE");
}

/* What no sequence shows stays as it was listed. */
static void open_order_stays(void **state)
{
    check_order(SEQUENCES("ACD", "ABD"), "ACBD", "ACBD");
    check_order(SEQUENCES("ACD", "ABD"), "ABCD", "ABCD");
}

static void the_majority_decides(void **state)
{
    check_order(SEQUENCES("ABC", "ACB", "ABC"), "ACB", "ABC");
    /* A beyond the end of one sequence closes a circle, which is opened where the fewest disagree. */
    check_order(SEQUENCES("BCDA", "ABCD", "ABCD", "ABCD"), "BCDA", "ABCD");
}

static void check_begins(const int64_t *begins, const int64_t *expected, size_t count, int64_t growth)
{
    int64_t found[16];
    memcpy(found, begins, count * sizeof *found);
    assert_int_equal(even_begins(found, count), growth);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(found[i], expected[i]);
}

#define CHECK_BEGINS(growth, expected, ...)                                 \
    check_begins((const int64_t[]){__VA_ARGS__}, (const int64_t[])expected, \
                 sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), growth)
#define LIST(...)   \
    {               \
        __VA_ARGS__ \
    }

static void the_first_of_a_part_was_lost(void **state)
{
    CHECK_BEGINS(10, LIST(3, 13, 23, 33, 43, 53), 3, 13, 25, 33, 43, 53);
    CHECK_BEGINS(10, LIST(3, 13, 23, 33, 43, 53), 4, 13, 23, 33, 43, 56);
    CHECK_BEGINS(10, LIST(3, 13, 23, 33, 43, 53, 63), 4, 13, 24, 33, 43, 53, 63);
    CHECK_BEGINS(10, LIST(3, 13, 23, 33, 43, 53), 3, 13, -1, 33, 43, -1);
    CHECK_BEGINS(3, LIST(0, 3, 6, 9), 0, 3, 7, 9);
}

/* From the third part on, each begins later: more came between. */
static void a_lasting_change_is_no_loss(void **state)
{
    CHECK_BEGINS(10, LIST(3, 13, 27, 37, 47, 57), 3, 13, 27, 37, 47, 57);
    CHECK_BEGINS(4, LIST(0, 4, 7, 11), 0, 4, 7, 11);
}

static void uneven_numbers_stay(void **state)
{
    CHECK_BEGINS(0, LIST(3, 5, 20, 21, 40, 100), 3, 5, 20, 21, 40, 100);
    CHECK_BEGINS(0, LIST(7, -1, -1), 7, -1, -1);
    CHECK_BEGINS(0, LIST(0, INT64_MAX, 5), 0, INT64_MAX, 5);
    CHECK_BEGINS(0, LIST(0, INT64_MAX / 20, INT64_MAX / 17), 0, INT64_MAX / 20, INT64_MAX / 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sequence_lacks_an_item), cmocka_unit_test(open_order_stays),
        cmocka_unit_test(the_majority_decides),        cmocka_unit_test(the_first_of_a_part_was_lost),
        cmocka_unit_test(a_lasting_change_is_no_loss), cmocka_unit_test(uneven_numbers_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
