#include "support/cmocka_all.h"

#include "store/store.h"

#include <stdlib.h>

static void check(const char *node, const char *path, const char *whole)
{
    char *made = node_path_of(node, path);
    assert_non_null(made);
    assert_string_equal(made, whole);
    free(made);
}

static void test_of(void **state)
{
    check("node7", "/local/a", "node7:/local/a");
    check("", "/local/a", "/local/a");
    check("node7", "-", "-");
    check("node7", "node3:/local/a", "node3:/local/a");
}

static void test_plain(void **state)
{
    assert_string_equal(node_path_plain("node7:/local/a"), "/local/a");
    assert_string_equal(node_path_plain("/local/a:/b"), "/local/a:/b");
    assert_string_equal(node_path_plain(":/a"), ":/a");
    assert_string_equal(node_path_plain("-7"), "-7");
    assert_string_equal(node_path_plain(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_of), cmocka_unit_test(test_plain)};
    return cmocka_run_group_tests_name("node_path", tests, NULL, NULL);
}
