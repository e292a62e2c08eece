#include "base/base.h"
#include "model/model.h"
#include "output/html.h"
#include "output/internal.h"
#include "output/output.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check(struct buffer *page, const char *expected)
{
    assert_string_equal(page->data ? page->data : "", expected);
    buffer_release(page);
}

static void texts_are_escaped(void **state)
{
    struct buffer page = BUFFER_INIT, text = BUFFER_INIT;
    assert_int_equal(html_element(&page, "p class=\"x\"", "<b>\"&\x1b"), 0);
    check(&page, "<p class=\"x\">&lt;b&gt;&quot;&amp;\\x1b</p>\n");
    assert_int_equal(buffer_append_text(&text, "a<"), 0);
    assert_int_equal(html_put(&page, "tspan", &text), 0);
    assert_int_equal(text.length, 0);
    check(&page, "<tspan>a&lt;</tspan>\n");
    assert_int_equal(html_attribute(&page, "aria-label", "\" onclick=\"x"), 0);
    check(&page, " aria-label=\"&quot; onclick=&quot;x\"");
    assert_int_equal(html_lines(&page, "p", "one\n    two <\n\n"), 0);
    check(&page, "<p>one</p>\n<p>two &lt;</p>\n");
    buffer_release(&text);
}

/* Each value reads back within half a step of its scale, as page.js reads it. */
static double read_back(const struct html_scale *scale, unsigned char byte)
{
    return byte == 0   ? (double)NAN
           : byte == 1 ? 0
                       : scale->least * pow(scale->most / scale->least, (byte - 2) / 253.0);
}

static void values_read_back(void **state)
{
    const double values[] = {(double)NAN, 0, -5, 0.9, 1, 3.7, 1000, 54321.5, 90000};
    enum { COUNT = sizeof values / sizeof *values };
    struct html_scale scale = html_scale_of(values, COUNT);
    /* 0.9 is less than a hundred thousandth of the largest value. */
    assert_true(scale.least == 1 && scale.most == 90000);
    for (size_t i = 0; i < COUNT; i++) {
        unsigned char byte = html_scale_byte(&scale, values[i]);
        if (isnan(values[i]))
            assert_int_equal(byte, 0);
        else if (values[i] < 1)
            assert_int_equal(byte, 1);
        else
            assert_true(fabs(read_back(&scale, byte) / values[i] - 1) < log(90000.0) / 253 / 2 * 1.03);
    }
    const double same[] = {5, 5, 0};
    scale = html_scale_of(same, 3);
    assert_true(fabs(read_back(&scale, html_scale_byte(&scale, 5)) - 5) < 1e-9);
}

/* Two rows: bytes 0 255 255, then the same except for the last; zeros are counted. */
static void cells_are_differences(void **state)
{
    const double values[] = {(double)NAN, 7, 7, (double)NAN, 7, 0};
    const struct html_scale scale = html_scale_of(values, 6);
    struct buffer data = BUFFER_INIT;
    /* 0 x1, 255, 255; 0 x2, 1 - 255 = 2: 00 01 ff ff 00 02 02. */
    assert_int_equal(html_add_cells(&data, values, 2, 3, &scale), 0);
    check(&data, "AAH//wACAg==");
    double *many = calloc(600, sizeof *many);
    assert_non_null(many);
    for (size_t i = 0; i < 600; i++)
        many[i] = (double)NAN;
    /* 600 zeros: 00 ff 00 ff 00 5a. */
    assert_int_equal(html_add_cells(&data, many, 2, 300, &scale), 0);
    check(&data, "AP8A/wBa");
    free(many);
}

/* Two columns with the row's own level, one with the last level, one unknown. */
static void cells_that_touch_are_one_piece(void **state)
{
    struct buffer page = BUFFER_INIT;
    struct heat_map map;
    assert_int_equal(heat_map_init(&map, 2, 4, &heat_share_of_step), 0);
    map.unit_us = 100;
    for (size_t row = 0; row < 2; row++) {
        map.values[4 * row] = map.values[4 * row + 1] = row ? 5 : 0;
        map.values[4 * row + 2] = 100;
    }
    assert_int_equal(html_add_levels(&page, &map), 0);
    heat_map_release(&map);
    check(&page,
          "<path class=\"l0\" d=\"M0 0h2v1h-2z\"/>\n<path class=\"l1\" d=\"M0 1h2v1h-2z\"/>\n"
          "<path class=\"l2\" d=\"\"/>\n<path class=\"l3\" d=\"\"/>\n"
          "<path class=\"l4\" d=\"M2 0h1v1h-1zM2 1h1v1h-1z\"/>\n");
}

static void assert_has(const struct buffer *page, const char *text)
{
    if (!strstr(page->data, text))
        fail_msg("no %s in %s", text, page->data);
}

static size_t count_of(const struct buffer *page, const char *text)
{
    size_t count = 0;
    for (const char *at = page->data; (at = strstr(at, text)); at++)
        count++;
    return count;
}

static void a_table_with_bars(void **state)
{
    static const struct column columns[] = {
        {.name = "tag", .type = CELL_TEXT, .description = "a \"phase\""},
        {.name = "transfer_us_p50", .type = CELL_REAL, .unit = "us", .decimals = 1},
        {.name = "nothing", .type = CELL_INTEGER},
        {.name = "operations", .type = CELL_INTEGER, .detail = 1},
        {.name = "run", .type = CELL_INTEGER, .hidden = 1},
    };
    struct error error = ERROR_INIT;
    struct table table;
    table_init(&table, "report");
    assert_int_equal(table_add_columns(&table, columns, 5, &error), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(table_add_row(&table, &error), 0);
        assert_int_equal(table_set_text(&table, 0, i ? "<i>" : "forward", &error), 0);
        table_set_real(&table, 1, 1000 * (i + 1));
        table_set_integer(&table, 3, 77);
        table_set_integer(&table, 4, 88);
    }
    const struct html_table how = {
        .caption = "By <tag>", .bars = "transfer_us_p50", .most_rows = 2, .rest_command = "ncclprof report"};
    struct buffer page = BUFFER_INIT;
    assert_int_equal(html_add_table(&page, &table, &how), 0);
    assert_has(&page, "<caption>By &lt;tag&gt;</caption>");
    assert_has(&page, "<th scope=\"col\" title=\"a &quot;phase&quot;\">tag</th>");
    assert_has(&page, "<th scope=\"col\" class=\"number\">transfer p50 <span class=\"unit\">ms</span></th>");
    assert_has(&page, "<td>&lt;i&gt;</td>");
    assert_has(&page,
               "2.000<svg class=\"bar\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" "
               "aria-hidden=\"true\"><rect width=\"66.7\"");
    assert_has(&page, "The first 2 of 3 rows. For all rows: <code>ncclprof report</code>");
    assert_int_equal(count_of(&page, "<tr>"), 3);
    assert_null(strstr(page.data, "77"));
    assert_null(strstr(page.data, "88"));
    assert_null(strstr(page.data, "nothing"));
    buffer_release(&page);
    table_release(&table);
}

/* A change beyond noise is highlighted; an interval is drawn between -20 and 20 %, 80 pixels to either side.
 */
static void a_table_with_intervals(void **state)
{
    static const struct column columns[] = {{.name = "key", .type = CELL_TEXT},
                                            {.name = "low", .type = CELL_REAL, .unit = "%"},
                                            {.name = "change", .type = CELL_REAL},
                                            {.name = "high", .type = CELL_REAL},
                                            {.name = "significant", .type = CELL_INTEGER}};
    static const double values[][3] = {{5, 10, 20}, {-20, 0, 10}};
    struct error error = ERROR_INIT;
    struct table table;
    table_init(&table, "compare");
    assert_int_equal(table_add_columns(&table, columns, 5, &error), 0);
    for (int row = 0; row < 3; row++) {
        assert_int_equal(table_add_row(&table, &error), 0);
        assert_int_equal(table_set_text(&table, 0, "k", &error), 0);
        for (size_t i = 0; row < 2 && i < 3; i++)
            table_set_real(&table, i + 1, values[row][i]);
        table_set_integer(&table, 4, row == 0);
    }
    struct html_table how = {.caption = "c",
                             .marks = "significant",
                             .low = "low",
                             .middle = "change",
                             .high = "high",
                             .most_rows = 9,
                             .rest_command = "x"};
    struct buffer page = BUFFER_INIT;
    assert_int_equal(html_add_table(&page, &table, &how), 0);
    assert_int_equal(count_of(&page, "<tr class=\"stands\"><td>k</td>"), 1);
    assert_int_equal(count_of(&page, "<tr class="), 1);
    assert_has(&page, "x=\"100.0\" y=\"3\" width=\"60.0\" height=\"6\"/><circle class=\"mine\" cx=\"120.0\"");
    assert_has(&page, "x=\"0.0\" y=\"3\" width=\"120.0\" height=\"6\"/><circle class=\"mine\" cx=\"80.0\"");
    assert_int_equal(count_of(&page, "<td></td>"), 1);
    buffer_clear(&page);
    /* Without such columns there is nothing to draw. */
    how.low = "lowest";
    assert_int_equal(html_add_table(&page, &table, &how), 0);
    assert_int_equal(count_of(&page, "interval"), 0);
    buffer_release(&page);
    table_release(&table);
}

/* Two ticks of 2 ms; dots at 0, 1 and 4 ms, the last of which stands out. */
static void a_chart(void **state)
{
    const int64_t mine[] = {0, TIME_UNKNOWN, 1000000, 4000000}, peers[] = {500000, 500000, 500000, 500000};
    const unsigned char marked[] = {0, 0, 0, 1};
    struct html_chart chart = {.title = "Gap <x>",
                               .mine_name = "rank 1",
                               .peers_name = "peers",
                               .mine_ns = mine,
                               .peers_ns = peers,
                               .low_ns = peers,
                               .high_ns = peers,
                               .marked = marked,
                               .marked_name = "found",
                               .first_step = 5,
                               .steps = 4};
    struct buffer page = BUFFER_INIT;
    assert_int_equal(html_add_chart(&page, &chart), 0);
    assert_has(&page, "<figcaption>Gap &lt;x&gt;</figcaption>");
    assert_has(&page, "<title>step 8: 4.00 ms; peers 500 us</title>");
    assert_has(&page, ">4 ms</tspan>");
    assert_has(&page, "<circle class=\"mine out\"");
    assert_int_equal(count_of(&page, "<title>"), 3);
    assert_int_equal(count_of(&page, "class=\"marked\" x="), 1);
    buffer_release(&page);
    const int64_t none[] = {TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN, TIME_UNKNOWN};
    chart.mine_ns = none;
    assert_int_equal(html_add_chart(&page, &chart), 0);
    assert_int_equal(page.length, 0);
}

/*
 * If there are more steps than dots, a dot shows the largest value of several; axes end even with the largest
 * possible times.
 */
static void a_chart_of_many_steps(void **state)
{
    enum { STEPS = 1000 };
    int64_t *mine = calloc(STEPS, sizeof *mine);
    assert_non_null(mine);
    mine[500] = INT64_MAX;
    struct html_chart chart = {.title = "t", .mine_name = "m", .mine_ns = mine, .steps = STEPS};
    struct buffer page = BUFFER_INIT;
    assert_int_equal(html_add_chart(&page, &chart), 0);
    assert_has(&page, "<title>steps 498 to 500: 9223372037 s</title>");
    assert_int_equal(count_of(&page, "<title>"), 334);
    assert_true(count_of(&page, "class=\"grid\"") <= 6);
    /* The last one, at the top, is above what 64 bits hold. */
    assert_has(&page, "class=\"grid\" d=\"M62 14.0H708\"");
    assert_has(&page, ">1e+10 s</tspan>");
    buffer_release(&page);
    free(mine);
}

/* One step of ten seconds among steps of ten milliseconds: the axis shows these, and an arrow the other one.
 */
static void a_chart_with_one_long_step(void **state)
{
    enum { STEPS = 12, LONG = 7 };
    static const int64_t MS = 1000000;
    int64_t mine[STEPS];
    const unsigned char marked[STEPS] = {[LONG] = 1};
    for (int i = 0; i < STEPS; i++)
        mine[i] = i == LONG ? 10000 * MS : (10 + i % 2) * MS;
    struct html_chart chart = {.title = "t",
                               .mine_name = "m",
                               .mine_ns = mine,
                               .marked = marked,
                               .marked_name = "f",
                               .steps = STEPS};
    struct buffer page = BUFFER_INIT;
    assert_int_equal(html_add_chart(&page, &chart), 0);
    assert_has(&page, ">15 ms</tspan>");
    assert_int_equal(count_of(&page, "class=\"arrow out\""), 1);
    assert_has(&page, "<tspan>10.0 s</tspan>");
    assert_has(&page, "<title>step 7: 10.0 s</title>");
    buffer_clear(&page);
    /* Three long steps are part of what the chart shows. */
    mine[0] = mine[1] = 9000 * MS;
    assert_int_equal(html_add_chart(&page, &chart), 0);
    assert_has(&page, ">10 s</tspan>");
    assert_int_equal(count_of(&page, "class=\"arrow"), 0);
    buffer_clear(&page);
    /* A step that is three times as long fits. */
    mine[0] = mine[1] = 10 * MS;
    mine[LONG] = 30 * MS;
    assert_int_equal(html_add_chart(&page, &chart), 0);
    assert_has(&page, ">30 ms</tspan>");
    assert_int_equal(count_of(&page, "class=\"arrow"), 0);
    buffer_release(&page);
}

static void lanes_on_one_clock(void **state)
{
    struct html_lane_bar bars[] = {
        {.begin_ns = 1000, .end_ns = 5000, .waiting_ns = 1000, .slow_ns = 300, .name = 0, .group = 1},
        {.begin_ns = 6000, .end_ns = 11000, .name = 0, .group = -1, .is_open = 1}};
    const struct html_lane lanes[] = {
        {.name = "0<", .reason = "at <fault", .is_accused = 1, .bars = bars, .count = 2},
        {.name = "1", .missing = "no clock"}};
    struct intern texts;
    intern_init(&texts);
    assert_int_equal(intern_put(&texts, "AllReduce", 9), 0);
    assert_int_equal(intern_put(&texts, "a\"b", 3), 1);
    const struct html_lanes of = {.id = "lanes-1-2",
                                  .title = "Step 2",
                                  .lanes = lanes,
                                  .count = 2,
                                  .texts = &texts,
                                  .begin_ns = 1000,
                                  .end_ns = 11000};
    struct buffer page = BUFFER_INIT, data = BUFFER_INIT;
    assert_int_equal(html_add_lanes(&page, &data, &of), 0);
    /*
     * 640 pixels are 10 us: the first bar waits for 1 us and moves data for 3; the other is unfinished in the
     * last half.
     */
    assert_has(&page, "<path class=\"moving\" d=\"M64.0 21h192.0v14h-192.0z\"/>");
    assert_has(&page, "<path class=\"waiting\" d=\"M0.0 21h64.0v14h-64.0z\"/>");
    assert_has(&page, "<path class=\"open\" d=\"M320.0 21h320.0v14h-320.0z\"/>");
    assert_has(&page, "<path class=\"slow\" d=\"M64.0 31h192.0v4h-192.0z\"/>");
    assert_has(&page, "class=\"accused\">0&lt;, at &lt;fault</text>");
    assert_has(&page, "no clock");
    assert_string_equal(data.data,
                        "{\"id\":\"lanes-1-2\",\"title\":\"Step 2\",\"length\":10.0,\"texts\":[\"AllReduce\","
                        "\"a\\\"b\"],\"lanes\":[{\"name\":\"0<\",\"reason\":\"at "
                        "<fault\",\"accused\":1,\"missing\":null,\"bars\":[0,40,10,0,"
                        "1,0,3,50,50,0,0,-1,1,0]},{\"name\":\"1\",\"reason\":null,\"accused\":0,\"missing\":"
                        "\"no clock\",\"bars\":[]}]}");
    buffer_release(&page);
    buffer_release(&data);
    intern_release(&texts);
}

/* With a median of 10 us: 1.5, 4 and 8 times that. */
static void a_matrix(void **state)
{
    static const char *const ends[] = {"0", "1", "2<"};
    struct html_edge edges[] = {
        {.sender = 2, .receiver = 0, .wait_us = 80, .is_blamed = 1, .verdict = "slow link"},
        {.sender = 0, .receiver = 1, .wait_us = 10, .verdict = "ok"},
        {.sender = 1, .receiver = 2, .wait_us = 10, .verdict = "ok"},
        {.sender = 1, .receiver = 0, .wait_us = -1, .verdict = "unknown"},
        {.sender = 0, .receiver = 2, .wait_us = 40, .verdict = "ok"}};
    struct html_matrix matrix = {
        .caption = "Waits <", .ends = ends, .end_count = 3, .edges = edges, .edge_count = 5};
    struct buffer page = BUFFER_INIT;
    assert_int_equal(html_add_matrix(&page, &matrix), 0);
    assert_has(&page, "<path class=\"l0\" d=\"M1 0h1v1h-1zM2 1h1v1h-1z\"/>");
    assert_has(&page, "<path class=\"l3\" d=\"M2 0h1v1h-1z\"/>");
    assert_has(&page, "<path class=\"l4\" d=\"M0 2h1v1h-1z\"/>");
    assert_has(&page, "<title>2&lt; to 0: 80.0 us, slow link</title>");
    assert_has(&page, "<title>1 to 0: wait unknown, unknown</title>");
    assert_int_equal(count_of(&page, "<rect class=\"frame\" x=\"64\" y=\"74\""), 1);
    assert_has(&page, "<figcaption>Waits &lt;</figcaption>");
    buffer_release(&page);
    /* Relative to its own baseline, the shortest wait is the only one that stands out. */
    for (int i = 0; i < 5; i++)
        edges[i].usual_us = i == 1 ? 1 : edges[i].wait_us;
    matrix.is_relative = 1;
    assert_int_equal(html_add_matrix(&page, &matrix), 0);
    assert_has(&page, "<path class=\"l4\" d=\"M1 0h1v1h-1z\"/>");
    assert_has(&page, "<path class=\"l3\" d=\"\"/>");
    assert_has(&page, "<path class=\"l0\" d=\"M2 0h1v1h-1zM2 1h1v1h-1zM0 2h1v1h-1z\"/>");
    assert_has(&page, "<title>0 to 1: 10.0 us, baseline 1.00 us, ok</title>");
    buffer_release(&page);
}

/* 300 ends: three by three share a cell, which shows the worst of them. */
static void a_large_matrix(void **state)
{
    enum { ENDS = 300 };
    const char *ends[ENDS];
    for (int i = 0; i < ENDS; i++)
        ends[i] = i == 299 ? "last" : "x";
    const struct html_edge edges[] = {{.sender = 0, .receiver = 299, .wait_us = 10, .verdict = "first"},
                                      {.sender = 2, .receiver = 297, .wait_us = 30, .verdict = "worst"},
                                      {.sender = 1, .receiver = 298, .wait_us = 20, .verdict = "middle"},
                                      {.sender = 3, .receiver = 0, .wait_us = 10, .verdict = "other"}};
    struct html_matrix matrix = {
        .caption = "Waits", .ends = ends, .end_count = ENDS, .edges = edges, .edge_count = 4};
    struct buffer page = BUFFER_INIT;
    assert_int_equal(html_add_matrix(&page, &matrix), 0);
    assert_has(&page, "each cell stands for 3 by 3 of them");
    assert_has(&page, "viewBox=\"0 0 100 100\"");
    assert_has(&page, "<path class=\"l2\" d=\"M99 0h1v1h-1z\"/>"); /* three times the median */
    assert_int_equal(count_of(&page, "<title>"), 2);
    assert_has(&page, "worst</title>");
    buffer_release(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(values_read_back),
        cmocka_unit_test(cells_are_differences),
        cmocka_unit_test(cells_that_touch_are_one_piece),
        cmocka_unit_test(a_table_with_bars),
        cmocka_unit_test(a_table_with_intervals),
        cmocka_unit_test(a_chart),
        cmocka_unit_test(a_chart_of_many_steps),
        cmocka_unit_test(a_chart_with_one_long_step),
        cmocka_unit_test(lanes_on_one_clock),
        cmocka_unit_test(a_matrix),
        cmocka_unit_test(a_large_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
