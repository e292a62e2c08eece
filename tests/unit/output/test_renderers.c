#include "base/base.h"
#include "model/internal.h"
#include "model/model.h"
#include "output/output.h"
#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct column columns[] = {
    {.name = "tag", .type = CELL_TEXT, .description = "the \"phase\""},
    {.name = "size_bytes", .type = CELL_INTEGER, .unit = "bytes"},
    {.name = "transfer_us_p50", .type = CELL_REAL, .unit = "us", .decimals = 1},
    {.name = "detail", .type = CELL_JSON, .hidden = 1},
};

/* Three rows: a normal one, one of nulls, one with hostile text. */
static void fill(struct table *table)
{
    struct error error = ERROR_INIT;
    table_init(table, "report");
    assert_int_equal(table_add_columns(table, columns, 4, &error), 0);
    assert_int_equal(table_add_row(table, &error), 0);
    assert_int_equal(table_set_text(table, 0, "forward", &error), 0);
    table_set_integer(table, 1, 4194304);
    table_set_real(table, 2, 310.25);
    assert_int_equal(table_set_json(table, 3, "[1,2]", &error), 0);
    assert_int_equal(table_add_row(table, &error), 0);
    assert_int_equal(table_add_row(table, &error), 0);
    assert_int_equal(table_set_text(table, 0, "a,\"b\"\033[31m", &error), 0);
    table_set_integer(table, 1, 9223372036854775807);
    table_set_real(table, 2, NAN);
    assert_int_equal(table_add_warning(table, &error, "only %d of %d ranks", 7, 8), 0);
}

static char *render(const struct table *table, const char *format, int width)
{
    struct error error = ERROR_INIT;
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    const struct render_target target = {.stream = stream, .width = width};
    assert_non_null(renderer_find(format));
    assert_int_equal(render_table(renderer_find(format), table, &target, &error), 0);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void check(const char *format, int width, const char *expected)
{
    struct table table;
    fill(&table);
    char *text = render(&table, format, width);
    assert_string_equal(text, expected);
    free(text);
    table_release(&table);
}

static void test_json_is_the_contract(void **state)
{
    check(
        "json", 0,
        "{\"command\": \"report\",\n"
        " \"columns\": [{\"name\": \"tag\", \"unit\": null, \"description\": \"the \\\"phase\\\"\"},\n"
        "  {\"name\": \"size_bytes\", \"unit\": \"bytes\", \"description\": null},\n"
        "  {\"name\": \"transfer_us_p50\", \"unit\": \"us\", \"description\": null},\n"
        "  {\"name\": \"detail\", \"unit\": null, \"description\": null}],\n"
        " \"rows\": [\n"
        "  {\"tag\": \"forward\", \"size_bytes\": 4194304, \"transfer_us_p50\": 310.25, \"detail\": [1,2]},\n"
        "  {\"tag\": null, \"size_bytes\": null, \"transfer_us_p50\": null, \"detail\": null},\n"
        "  {\"tag\": \"a,\\\"b\\\"\\u001b[31m\", \"size_bytes\": 9223372036854775807, "
        "\"transfer_us_p50\": null, \"detail\": null}],\n"
        " \"warnings\": [\"only 7 of 8 ranks\"]}\n");
}

static void test_csv_quotes(void **state)
{
    check("csv", 0,
          "tag,size_bytes,transfer_us_p50,detail\n"
          "forward,4194304,310.25,\"[1,2]\"\n"
          ",,,\n"
          "\"a,\"\"b\"\"\\x1b[31m\",9223372036854775807,,\n");
}

static void test_markdown_escapes(void **state)
{
    check("markdown", 0,
          "| tag | size_bytes | transfer_us_p50 |\n"
          "| --- | ---: | ---: |\n"
          "| forward | 4 MiB | 310.2 |\n"
          "| - | - | - |\n"
          "| a,\"b\"\\\\x1b\\[31m | 9223372036854775807 | - |\n"
          "\n"
          "Warning: only 7 of 8 ranks\n");
}

static void test_markdown_fences(void **state)
{
    struct buffer quoted = BUFFER_INIT;
    assert_int_equal(markdown_quote(&quoted, "a\n", 2), 0);
    assert_string_equal(quoted.data, "```text\na\n```\n");
    buffer_clear(&quoted);
    assert_int_equal(markdown_quote(&quoted, "````\n", 5), 0);
    assert_string_equal(quoted.data, "`````text\n````\n`````\n");
    buffer_release(&quoted);
}

static void test_table_aligns_and_hides(void **state)
{
    check("table", 0,
          "tag                           size  transfer p50\n"
          "                             bytes            us\n"
          "forward                      4 MiB         310.2\n"
          "-                                -             -\n"
          "a,\"b\"\\x1b[31m  9223372036854775807             -\n"
          "\n"
          "Warning: only 7 of 8 ranks\n");
}

static void test_table_fits_the_terminal(void **state)
{
    struct table table;
    struct error error = ERROR_INIT;
    table_init(&table, "report");
    assert_int_equal(table_add_columns(&table, columns, 2, &error), 0);
    assert_int_equal(table_add_row(&table, &error), 0);
    assert_int_equal(table_set_text(&table, 0, "a_tag_of_more_than_twenty_letters", &error), 0);
    table_set_integer(&table, 1, 3);
    char *text = render(&table, "table", 30);
    assert_string_equal(text,
                        "tag                       size\n"
                        "                         bytes\n"
                        "a_tag_of_more_than_twe~      3\n");
    free(text);
    table_release(&table);
}

/* The part that distinguishes files of one directory is at the end; the cut is between characters. */
static void test_paths_are_cut_at_the_front(void **state)
{
    static const struct column of_files[] = {{.name = "path", .type = CELL_TEXT},
                                             {.name = "dialect", .type = CELL_TEXT}};
    struct table table;
    table_init(&table, "info");
    assert_int_equal(table_add_columns(&table, of_files, 2, NULL), 0);
    assert_int_equal(table_add_row(&table, NULL), 0);
    assert_int_equal(table_set_text(&table, 0, "/data/job/dump_18230085317_0.json", NULL), 0);
    assert_int_equal(table_set_text(&table, 1, "chrome-v5", NULL), 0);
    assert_int_equal(table_add_row(&table, NULL), 0);
    assert_int_equal(table_set_text(&table, 0,
                                    "/data/job/dump_1823\xc3\xbc"
                                    "85317_1.json",
                                    NULL),
                     0);
    assert_int_equal(table_set_text(&table, 1, "chrome-v5", NULL), 0);
    char *text = render(&table, "table", 29);
    assert_string_equal(text,
                        "path                dialect\n"
                        "~8230085317_0.json  chrome-v5\n"
                        "~1823\xc3\xbc"
                        "85317_1.json  chrome-v5\n");
    free(text);
    table_release(&table);
}

/*
 * Times are shown in the unit of the longest in their column; a value that rounds to zero is shown as zero.
 */
static void test_units_suit_the_values(void **state)
{
    static const struct column times[] = {
        {.name = "a_us", .type = CELL_REAL, .unit = "us"},
        {.name = "b_us", .type = CELL_REAL, .unit = "us"},
        {.name = "c_us", .type = CELL_REAL, .unit = "us"},
        {.name = "d_gbs", .type = CELL_REAL, .unit = "GB/s", .decimals = 2},
    };
    static const double values[2][4] = {{12.34, 1234, 2500000, 1.5}, {-0.01, -0.4, 90000, 12345.678}};
    struct table table;
    table_init(&table, "report");
    assert_int_equal(table_add_columns(&table, times, 4, NULL), 0);
    for (size_t row = 0; row < 2; row++) {
        assert_int_equal(table_add_row(&table, NULL), 0);
        for (size_t i = 0; i < 4; i++)
            table_set_real(&table, i, values[row][i]);
    }
    char *text = render(&table, "table", 0);
    assert_string_equal(text,
                        "   a      b      c         d\n"
                        "  us     ms      s      GB/s\n"
                        "12.3  1.234  2.500      1.50\n"
                        " 0.0  0.000  0.090  12345.68\n");
    free(text);
    table_release(&table);
}

/*
 * First empty columns are removed, then headings are broken into lines, then detail columns are removed and
 * named.
 */
static void test_what_there_is_no_room_for(void **state)
{
    static const struct column wide[] = {
        {.name = "first_long_name", .type = CELL_INTEGER},
        {.name = "nothing_in_it", .type = CELL_TEXT},
        {.name = "details_of_it", .type = CELL_INTEGER, .detail = 1},
        {.name = "a_time_us", .type = CELL_REAL, .unit = "us"},
    };
    struct table table;
    table_init(&table, "report");
    assert_int_equal(table_add_columns(&table, wide, 4, NULL), 0);
    assert_int_equal(table_add_row(&table, NULL), 0);
    table_set_integer(&table, 0, 1);
    table_set_integer(&table, 2, 2);
    table_set_real(&table, 3, 3);
    char *text = render(&table, "table", 60);
    assert_string_equal(text,
                        "first_long_name  nothing_in_it  details_of_it  a time\n"
                        "                                                   us\n"
                        "              1  -                          2     3.0\n");
    free(text);
    text = render(&table, "table", 40);
    assert_string_equal(text,
                        "first_long_name  details_of_it  a time\n"
                        "                                    us\n"
                        "              1              2     3.0\n");
    free(text);
    text = render(&table, "table", 22);
    assert_string_equal(text,
                        "first_\n"
                        " long_  details_     a\n"
                        "  name     of_it  time\n"
                        "                    us\n"
                        "     1         2   3.0\n");
    free(text);
    text = render(&table, "table", 14);
    assert_string_equal(
        text,
        "first_\n"
        " long_    a\n"
        "  name time\n"
        "         us\n"
        "     1  3.0\n\n"
        "Hidden columns\n  (terminal\n  too narrow):\n  details_of_it;\n  --format csv\n  shows all\n");
    free(text);
    table_release(&table);
}

static void test_empty_table_says_so(void **state)
{
    struct table table;
    table_init(&table, "stalls");
    assert_int_equal(table_add_columns(&table, columns, 1, NULL), 0);
    char *text = render(&table, "table", 0);
    assert_string_equal(text, "tag\n(no rows)\n");
    free(text);
    table_release(&table);
}

/* After the rows that determine the widths, the head is printed once and every row follows. */
static void test_long_tables_flow(void **state)
{
    enum { ROWS = 5000 };
    struct table table;
    table_init(&table, "query");
    assert_int_equal(table_add_columns(&table, columns + 1, 1, NULL), 0);
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(table_add_row(&table, NULL), 0);
        table_set_integer(&table, 0, 2 * i + 1);
    }
    char *text = render(&table, "table", 0);
    int lines = 0;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, ROWS + 2);
    assert_non_null(strstr(text, "\n 9999\n"));
    assert_ptr_equal(strstr(strstr(text, "size") + 1, "size"), NULL);
    free(text);
    table_release(&table);
}

static void test_a_full_disk_is_told(void **state)
{
    struct table table;
    fill(&table);
    for (size_t i = 0; renderer_registry[i]; i++) {
        struct error error = ERROR_INIT;
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        setvbuf(full, NULL, _IONBF, 0);
        const struct render_target target = {.stream = full};
        assert_int_equal(render_table(renderer_registry[i], &table, &target, &error), -1);
        assert_int_equal(error.depth, 1);
        assert_string_equal(error.cause[0], "cannot write output: No space left on device");
        fclose(full);
    }
    table_release(&table);
}

static void test_unknown_renderer(void **state)
{
    assert_null(renderer_find("xml"));
    size_t count = 0;
    for (; renderer_registry[count]; count++)
        assert_ptr_equal(renderer_find(renderer_name(count)), renderer_registry[count]);
    assert_null(renderer_name(count));
    assert_null(renderer_name(SIZE_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_is_the_contract),       cmocka_unit_test(test_csv_quotes),
        cmocka_unit_test(test_markdown_escapes),           cmocka_unit_test(test_markdown_fences),
        cmocka_unit_test(test_table_aligns_and_hides),     cmocka_unit_test(test_table_fits_the_terminal),
        cmocka_unit_test(test_paths_are_cut_at_the_front), cmocka_unit_test(test_units_suit_the_values),
        cmocka_unit_test(test_what_there_is_no_room_for),  cmocka_unit_test(test_empty_table_says_so),
        cmocka_unit_test(test_long_tables_flow),           cmocka_unit_test(test_a_full_disk_is_told),
        cmocka_unit_test(test_unknown_renderer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
