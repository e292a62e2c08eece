#include "base/base.h"
#include "model/model.h"
#include "store/store.h"

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char fixture[] = "fixtures/nsys/node0.sqlite";

static struct foreign *open_fixture(void)
{
    struct error error = ERROR_INIT;
    struct foreign *foreign = foreign_open(fixture, NULL, NULL, &error);
    assert_non_null(foreign);
    return foreign;
}

/* Columns in the requested order; a missing one is NULL. */
static void rows_of_a_table(void **state)
{
    static const char *const columns[] = {"VALUE", "no such", "id"};
    struct error error = ERROR_INIT;
    struct foreign *foreign = open_fixture();
    const struct foreign_tables *tables = foreign_tables(foreign);
    struct foreign_value row[3];
    int rows = 0;
    assert_int_equal(tables->open(tables->context, "StringIds", columns, 3, &error), 1);
    while (tables->next(tables->context, row, &error) == 1) {
        assert_int_equal(row[0].kind, FOREIGN_TEXT);
        assert_int_equal(row[0].length, strlen(row[0].bytes));
        assert_int_equal(row[1].kind, FOREIGN_NULL);
        assert_int_equal(row[2].integer, ++rows);
    }
    assert_int_equal(error.depth, 0);
    assert_true(rows > 5);
    assert_int_equal(tables->next(tables->context, row, &error), 0);
    foreign_close(foreign);
}

static void no_such_table(void **state)
{
    static const char *const columns[] = {"a"};
    struct error error = ERROR_INIT;
    struct foreign *foreign = open_fixture();
    const struct foreign_tables *tables = foreign_tables(foreign);
    struct foreign_value row[1];
    assert_int_equal(tables->open(tables->context, "NO_SUCH", columns, 1, &error), 0);
    assert_int_equal(tables->open(tables->context, "sqlite_schema", columns, 1, &error), 0);
    assert_int_equal(tables->next(tables->context, row, &error), 0);
    foreign_close(foreign);
}

static void what_is_no_database(void **state)
{
    static const char *const columns[] = {"a"};
    struct error error = ERROR_INIT;
    assert_null(foreign_open("/", NULL, NULL, &error));
    assert_int_equal(error.depth, 1);
    error_clear(&error);
    struct foreign *foreign = foreign_open("fixtures/nsys/node0.sql", NULL, NULL, &error);
    int is = 0;
    if (foreign) {
        const struct foreign_tables *tables = foreign_tables(foreign);
        is = tables->open(tables->context, "StringIds", columns, 1, &error);
    }
    assert_true(!foreign || is == -1);
    assert_true(error.depth > 0);
    error_clear(&error);
    foreign_close(foreign);
}

/* Arbitrary bytes in a path belong to the path, not to a URI. */
static void a_path_with_signs_of_uris(void **state)
{
    struct error error = ERROR_INIT;
    char directory[] = "/tmp/ncclprof-unit-XXXXXX", path[128], bytes[65536];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/a?mode=rwc&%%41#b.sqlite", directory);
    FILE *from = fopen(fixture, "rb"), *to = fopen(path, "wb");
    assert_non_null(from);
    assert_non_null(to);
    size_t length = fread(bytes, 1, sizeof bytes, from);
    assert_int_equal(fwrite(bytes, 1, length, to), length);
    assert_int_equal(fclose(from) | fclose(to), 0);
    struct foreign *foreign = foreign_open(path, NULL, NULL, &error);
    assert_non_null(foreign);
    foreign_close(foreign);
    unlink(path);
    rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_table),
        cmocka_unit_test(no_such_table),
        cmocka_unit_test(what_is_no_database),
        cmocka_unit_test(a_path_with_signs_of_uris),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
