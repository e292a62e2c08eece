/* Words in lines of logs. */
#include "format/internal.h"
#include "support/cmocka_all.h"
#include "support/random.h"

#include <string.h>

/* Texts of three letters, in which parts of a mark are frequent, and texts of any length. */
static void finds_what_memmem_finds(void **state)
{
    static const char *const marks[] = {" a", "a b", " NCCL ", "bb", "aab", " ", "b", "  ", "a "};
    char text[1200];
    for (int round = 0; round < 20000; round++) {
        size_t length = (size_t)(random_number() % (round % 100 ? 24 : sizeof text));
        for (size_t i = 0; i < length; i++)
            text[i] = " ab"[random_number() % 3];
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            assert_ptr_equal(text_find(text, length, marks[i], strlen(marks[i])),
                             memmem(text, length, marks[i], strlen(marks[i])));
    }
}

static void assert_value(const char *line, const char *key, const char *expected)
{
    struct text value = text_value((struct text){line, strlen(line)}, key);
    assert_int_equal(value.length, strlen(expected));
    if (*expected)
        assert_memory_equal(value.data, expected, value.length);
    else
        assert_true(!value.data || value.length == 0);
}

static void finds_values_of_whole_keys(void **state)
{
    assert_value("rank 3 nranks 8", "rank", "3");
    assert_value("nranks 8 rank 3", "rank", "3");
    assert_value("comm 0x5 rank  3", "rank", "");
    assert_value("xrank 8 rankx 2 rank(3", "rank", "");
    assert_value("a (rank 12) b", "rank", "");
    assert_value("busId 1b000, rank 12, ", "busId", "1b000");
    assert_value("rank", "rank", "");
    assert_value("rank ", "rank", "");
    assert_value(" rank rank 4", "rank", "rank");
    assert_value("", "rank", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_memmem_finds),
        cmocka_unit_test(finds_values_of_whole_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
