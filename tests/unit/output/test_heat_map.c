#include "base/base.h"
#include "model/model.h"
#include "output/internal.h"
#include "output/output.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct column columns[] = {
    {.name = "process", .type = CELL_TEXT},
    {.name = "step", .type = CELL_INTEGER},
    {.name = "host", .type = CELL_TEXT},
    {.name = "run", .type = CELL_INTEGER},
    {.name = "duration_us", .type = CELL_REAL},
    {.name = "longer_us", .type = CELL_REAL},
    {.name = "finding", .type = CELL_TEXT},
    {.name = "own_us", .type = CELL_REAL, .description = "Late by itself"},
};

enum { AT_PROCESS, AT_STEP, AT_HOST, AT_RUN, AT_DURATION, AT_LONGER, AT_FINDING, AT_OWN, COLUMNS };

enum { USUAL_US = 1000, RUN = 1 };

static void begin(struct table *table)
{
    table_init(table, "steps");
    assert_int_equal(table_add_columns(table, columns, COLUMNS, NULL), 0);
}

/* A row; a step takes USUAL_US. `own_us` below 0: unknown. */
static void add(struct table *table, const char *process, const char *host, int64_t step, double own_us,
                const char *finding)
{
    assert_int_equal(table_add_row(table, NULL), 0);
    assert_int_equal(table_set_text(table, AT_PROCESS, process, NULL), 0);
    if (host)
        assert_int_equal(table_set_text(table, AT_HOST, host, NULL), 0);
    if (finding)
        assert_int_equal(table_set_text(table, AT_FINDING, finding, NULL), 0);
    table_set_integer(table, AT_STEP, step);
    table_set_integer(table, AT_RUN, RUN);
    table_set_real(table, AT_DURATION, USUAL_US + 50);
    table_set_real(table, AT_LONGER, 50);
    if (own_us >= 0)
        table_set_real(table, AT_OWN, own_us);
}

static const char *const own[] = {"own_us"};

static void make(struct heat_maps *maps, const struct table *table, size_t most_rows)
{
    assert_int_equal(heat_maps_init(maps, table, own, 1, most_rows, NULL), 0);
}

static void check_text(struct heat_maps *maps, size_t width, int utf8, const char *expected)
{
    struct buffer text = BUFFER_INIT;
    assert_int_equal(heat_maps_text(maps, width, utf8, &text), 0);
    assert_string_equal(text.data, expected);
    buffer_release(&text);
}

/* The share from which a level is reached, and values without a level. */
static void test_levels(void **state)
{
    const struct heat_map map = {.scale = &heat_share_of_step, .unit_us = 1000};
    static const struct {
        double value;
        int level;
    } levels[] = {{0, 0},     {-5, 0},  {29.9, 0}, {30, 1},   {99, 1},  {100, 2},
                  {299.9, 2}, {300, 3}, {999, 3},  {1000, 4}, {1e9, 4}, {(double)NAN, HEAT_UNKNOWN}};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        assert_int_equal(heat_map_level(&map, levels[i].value), levels[i].level);
    const struct heat_map nothing = {.scale = &heat_share_of_step, .unit_us = 0};
    assert_int_equal(heat_map_level(&nothing, 0), 0);
}

/* Marked cells side by side; and the number of ends that share one of at most three places. */
static void test_spans_and_places(void **state)
{
    struct heat_map map;
    struct heat_span span = {0};
    assert_int_equal(heat_map_init(&map, 2, 5, &heat_times_baseline), 0);
    map.marked[5] = map.marked[6] = map.marked[9] = 1;
    assert_false(heat_map_next_marked(&map, 0, &span));
    span = (struct heat_span){0};
    assert_true(heat_map_next_marked(&map, 1, &span));
    assert_int_equal(span.first, 0);
    assert_int_equal(span.end, 2);
    assert_true(heat_map_next_marked(&map, 1, &span));
    assert_int_equal(span.first, 4);
    assert_int_equal(span.end, 5);
    assert_false(heat_map_next_marked(&map, 1, &span));
    heat_map_release(&map);
    static const size_t together[] = {1, 1, 1, 1, 2, 2, 2, 3};
    for (size_t i = 0; i < sizeof together / sizeof *together; i++)
        assert_int_equal(heat_map_together(i, 3), together[i]);
}

static void test_a_character_for_each_level(void **state)
{
    struct table table;
    struct heat_maps maps;
    begin(&table);
    static const double values[] = {-1, 0, 30, 100, 300, 1000};
    for (int64_t i = 0; i < 6; i++)
        add(&table, "0", NULL, i, values[i], NULL);
    for (int64_t i = 0; i < 6; i++)
        add(&table, "1", NULL, i, 0, i == 2 || i == 3 ? "compute" : NULL);
    make(&maps, &table, 9);
    check_text(&maps, 80, 0,
               "Late by itself, by rank and step\n"
               "in % of the baseline step (1 ms):  . below 3  : 3  + 10  # 30  @ 100 and more\n"
               "rank  step 0\n"
               "   0   .:+#@\n"
               "   1  ......  < compute, steps 2-3\n");
    check_text(&maps, 80, 1,
               "Late by itself, by rank and step\n"
               "in % of the baseline step (1 ms):  \xc2\xb7 below 3  \xe2\x96\x91 3  \xe2\x96\x92 10  "
               "\xe2\x96\x93 30  "
               "\xe2\x96\x88 100 and more\n"
               "rank  step 0\n"
               "   0   \xc2\xb7\xe2\x96\x91\xe2\x96\x92\xe2\x96\x93\xe2\x96\x88\n"
               "   1  \xc2\xb7\xc2\xb7\xc2\xb7\xc2\xb7\xc2\xb7\xc2\xb7  < compute, steps 2-3\n");
    heat_maps_release(&maps);
    table_release(&table);
}

/* The text for a rank is below its row if the row has no space. */
static void test_steps_are_folded_to_the_width(void **state)
{
    struct table table;
    struct heat_maps maps;
    begin(&table);
    for (int64_t i = 0; i < 100; i++)
        add(&table, "0", NULL, 5 + i, i == 50 ? 1000 : i == 99 ? -1 : 0, i == 50 ? "host" : NULL);
    make(&maps, &table, 9);
    /* 34 columns of 3 steps; step 55 is in column 16. The last column has a single step, which is unknown. */
    check_text(&maps, 40, 0,
               "Late by itself, by rank and step; one\ncolumn per 3 steps: their largest value\n"
               "in % of the baseline step (1 ms):  .\nbelow 3  : 3  + 10  # 30  @ 100 and more\n"
               "rank  step 5    35        65        95\n"
               "   0  ................@................ \n"
               "      < host, step 55\n");
    heat_maps_release(&maps);
    table_release(&table);
}

static void check_row(const struct heat_map *map, size_t row, const char *label, const char *mark,
                      const char *levels)
{
    struct buffer text = BUFFER_INIT;
    assert_int_equal(heat_row_label(map, &map->rows[row], &text), 0);
    assert_string_equal(text.data, label);
    buffer_clear(&text);
    assert_int_equal(buffer_append_text(&text, ""), 0);
    assert_int_equal(heat_row_mark(&map->rows[row], &text), 0);
    assert_string_equal(text.data, mark);
    buffer_release(&text);
    assert_int_equal(map->columns, strlen(levels));
    for (size_t i = 0; levels[i]; i++)
        assert_int_equal(heat_map_level(map, heat_map_value(map, row, i)),
                         levels[i] == ' ' ? HEAT_UNKNOWN : levels[i] - '0');
}

/* Six ranks on two hosts, alternating. */
static void test_ranks_of_a_host_are_one_row(void **state)
{
    struct table table;
    struct heat_maps maps;
    char name[8];
    begin(&table);
    for (int rank = 0; rank < 6; rank++)
        for (int64_t step = 0; step < 2; step++) {
            snprintf(name, sizeof name, "%d", rank);
            add(&table, name, rank % 2 ? "odd" : "even", step, rank == 3 ? 500 : -1,
                rank == 3 ? "compute" : NULL);
        }
    make(&maps, &table, 5);
    assert_int_equal(maps.count, 1);
    assert_int_equal(maps.maps[0].row_count, 2);
    check_row(&maps.maps[0], 0, "even (3 ranks)", "", "  ");
    check_row(&maps.maps[0], 1, "odd (3 ranks)", "rank 3: compute, steps 0-1", "33");
    heat_maps_release(&maps);
    table_release(&table);
}

/* Also if there are too many hosts, or one is unknown. */
static void check_neighbours(const char *const hosts[5])
{
    struct table table;
    struct heat_maps maps;
    char name[8];
    begin(&table);
    for (int rank = 0; rank < 5; rank++) {
        snprintf(name, sizeof name, "%d", rank);
        add(&table, name, hosts[rank], 7, rank ? 100 : 30, rank == 2 ? "host" : rank == 3 ? "network" : NULL);
    }
    make(&maps, &table, 3);
    assert_int_equal(maps.maps[0].row_count, 3);
    check_row(&maps.maps[0], 0, "0-1", "", "2");
    check_row(&maps.maps[0], 1, "2-3", "rank 2: host, step 7, and more", "2");
    check_row(&maps.maps[0], 2, "4", "", "2");
    heat_maps_release(&maps);
    table_release(&table);
}

static void test_neighbours_are_one_row(void **state)
{
    check_neighbours((const char *const[]){NULL, NULL, NULL, NULL, NULL});
    check_neighbours((const char *const[]){"a", "b", "c", "d", "e"});
    check_neighbours((const char *const[]){"a", "a", "a", NULL, "a"});
}

/* Without step times, values are compared with the largest one. */
static void test_no_usual_step(void **state)
{
    struct table table;
    struct heat_maps maps;
    begin(&table);
    for (int64_t step = 0; step < 2; step++) {
        add(&table, "node1:77", NULL, step, step ? 80 : 8, NULL);
        table.cells[(size_t)step * COLUMNS + AT_LONGER].type = CELL_NULL;
    }
    make(&maps, &table, 3);
    check_text(&maps, 80, 0,
               "Late by itself, by rank and step\n"
               "in % of the largest value (0.08 ms):  . below 3  : 3  + 10  # 30  @ 100 and more\n"
               "    rank  step 0\n"
               "node1:77  +@\n");
    heat_maps_release(&maps);
    table_release(&table);
}

/* Ranks without numbers: two with the same name have a row each. */
static void test_two_ranks_of_one_name(void **state)
{
    struct table table;
    struct heat_maps maps;
    begin(&table);
    for (int rank = 0; rank < 3; rank++)
        for (int64_t step = 0; step < 2; step++)
            add(&table, rank == 2 ? "b:1" : "a:1", NULL, step, rank == 1 ? 1000 : 0, NULL);
    make(&maps, &table, 9);
    assert_int_equal(maps.maps[0].row_count, 3);
    check_row(&maps.maps[0], 0, "a:1", "", "00");
    check_row(&maps.maps[0], 1, "a:1", "", "44");
    check_row(&maps.maps[0], 2, "b:1", "", "00");
    heat_maps_release(&maps);
    table_release(&table);
}

static void test_nothing(void **state)
{
    struct table table;
    struct heat_maps maps;
    struct buffer text = BUFFER_INIT, svg = BUFFER_INIT;
    begin(&table);
    make(&maps, &table, 3);
    assert_int_equal(maps.count, 0);
    assert_int_equal(heat_maps_text(&maps, 80, 0, &text), 0);
    assert_int_equal(text.length, 0);
    assert_int_equal(heat_maps_svg(&maps, &svg), 0);
    assert_non_null(strstr(svg.data, "</svg>"));
    heat_maps_release(&maps);
    buffer_release(&text);
    buffer_release(&svg);
    table_release(&table);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* A colour for each level, nothing for unknown values, a frame around a finding. Names are hostile. */
static void test_svg(void **state)
{
    struct table table;
    struct heat_maps maps;
    struct buffer svg = BUFFER_INIT;
    begin(&table);
    static const double values[] = {-1, 0, 30, 100, 300, 1000};
    for (int64_t i = 0; i < 6; i++)
        add(&table, "<a&\"\x1b>", NULL, i, values[i], i == 1 || i == 2 || i == 4 ? "compute" : NULL);
    make(&maps, &table, 9);
    assert_int_equal(heat_maps_svg(&maps, &svg), 0);
    assert_int_equal(count_of(svg.data, "</title></rect>"), 5);
    static const char *const colours[] = {"#f1f1ee", "#fbd9a0", "#f5a14b", "#d9521d", "#7f1408"};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(count_of(svg.data, colours[i]), 2); /* of which one is the legend's */
    assert_int_equal(count_of(svg.data, "stroke-width=\"2\""), 2);
    assert_non_null(
        strstr(svg.data, "rank &lt;a&amp;&quot;\\x1b&gt;, step 4: 0.3 ms, 30 % of the baseline step"));
    assert_non_null(strstr(svg.data, "compute, 3 steps from 1 to 4"));
    heat_maps_release(&maps);
    buffer_release(&svg);
    table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_spans_and_places),
        cmocka_unit_test(test_a_character_for_each_level),
        cmocka_unit_test(test_steps_are_folded_to_the_width),
        cmocka_unit_test(test_ranks_of_a_host_are_one_row),
        cmocka_unit_test(test_neighbours_are_one_row),
        cmocka_unit_test(test_no_usual_step),
        cmocka_unit_test(test_two_ranks_of_one_name),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_svg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
