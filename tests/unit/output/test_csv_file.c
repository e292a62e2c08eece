#include "model/model.h"
#include "output/output.h"
#include "report/internal.h"
#include "store/store.h"

#include "support/cmocka_all.h"
#include "support/store_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct column columns[] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
static const struct view view = {.name = "some", .columns = columns, .column_count = 3};

/* The file for the rows of a statement. */
static void assert_csv(void **state, const char *sql, int64_t rows, const char *expected)
{
    struct store *store = store_file_open(state, STORE_CREATE);
    struct statement *statement = store_prepare(store, sql, NULL);
    char path[] = "/tmp/ncclprof-csv-XXXXXX", content[512] = "";
    int64_t count = -1;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    struct output *output = output_open(path, OUTPUT_PLAIN, NULL);
    assert_non_null(output);
    assert_int_equal(csv_file_write(output, &view, statement, &count, NULL), 0);
    assert_int_equal(output_close(output, NULL), 0);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_true(fread(content, 1, sizeof content - 1, file) > 0);
    fclose(file);
    close(descriptor);
    unlink(path);
    assert_int_equal(count, rows);
    assert_string_equal(content, expected);
    statement_free(statement);
    store_close(store);
}

static void test_names_alone(void **state)
{
    assert_csv(state, "SELECT 1, 2, 3 WHERE 0", 0, "a,b,c\r\n");
}

static void test_numbers_are_exact(void **state)
{
    assert_csv(state,
               "SELECT 9223372036854775807, -9223372036854775807 - 1, 0.1 UNION ALL "
               "SELECT 1795218161823000.25, 5.0, 1e300 * 1e300",
               2, "a,b,c\r\n9223372036854775807,-9223372036854775808,0.1\r\n1795218161823000.2,5,\r\n");
}

static void test_texts(void **state)
{
    assert_csv(state, "SELECT 'plain text', 'a,b', 'say \"x\"\"'", 1,
               "a,b,c\r\nplain text,\"a,b\",\"say \"\"x\"\"\"\"\"\r\n");
    assert_csv(state, "SELECT 'two' || char(13, 10) || 'lines', '', NULL", 1,
               "a,b,c\r\n\"two\r\nlines\",\"\",\r\n");
    assert_csv(state, "SELECT CAST(x'61ff62' AS TEXT), CAST(x'2cff' AS TEXT), x'6162'", 1,
               "a,b,c\r\na\xef\xbf\xbd"
               "b,\",\xef\xbf\xbd\",ab\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_alone, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_numbers_are_exact, store_file_setup, store_file_teardown),
        cmocka_unit_test_setup_teardown(test_texts, store_file_setup, store_file_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
