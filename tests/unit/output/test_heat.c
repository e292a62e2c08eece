#include "base/base.h"
#include "model/model.h"
#include "output/output.h"

#include "support/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

static void assert_has(const struct buffer *page, const char *text)
{
    if (!strstr(page->data, text))
        fail_msg("no %s in %s", text, page->data);
}

enum { MOST_RANKS = 100, MOST_STEPS = 40 };

enum { LENGTH, WAITING, OWN };

/* Values in microseconds. */
struct picture {
    double values[HTML_HEAT_LAYERS_MOST][MOST_RANKS * MOST_STEPS];
    char names[MOST_RANKS][24];
    char hosts[MOST_RANKS][24];
    int has_hosts;
    struct html_heat heat;
};

/* Colours show what is longer than a baseline step. */
static int make(struct heat_map *map, const void *context, size_t layer, int is_whole)
{
    const struct picture *picture = context;
    const struct html_heat *heat = &picture->heat;
    double usual_us = heat->usual_ns == TIME_UNKNOWN ? 0 : (double)heat->usual_ns / 1e3;
    assert_int_equal(heat_map_init(map, heat->rank_count, heat->steps, &heat_share_of_step), 0);
    map->first_step = heat->first_step;
    for (size_t i = 0; i < heat->rank_count; i++)
        map->rows[i] = (struct heat_row){
            .process = picture->names[i], .host = picture->has_hosts ? picture->hosts[i] : NULL, .ranks = 1};
    for (size_t i = 0; i < heat->rank_count * heat->steps; i++)
        map->values[i] = picture->values[layer][i] - (layer == LENGTH && !is_whole ? usual_us : 0);
    for (size_t i = 0; i < heat->mark_count; i++)
        for (int64_t step = heat->marks[i].first_step; step <= heat->marks[i].last_step; step++)
            map->marked[heat->marks[i].rank * heat->steps + (size_t)(step - heat->first_step)] = 1;
    map->unit_us = usual_us;
    map->is_usual = usual_us > 0;
    return 0;
}

/* A step takes 10 ms; no rank waits, none is late. */
static void fill(struct picture *picture, size_t ranks, size_t steps, size_t on_a_host)
{
    *picture = (struct picture){.heat = {.run = 3,
                                         .rank_count = ranks,
                                         .first_step = 2,
                                         .steps = steps,
                                         .usual_ns = 10000000,
                                         .most_cells = 1 << 20,
                                         .layers = {{"length", "Longer", &heat_share_of_step},
                                                    {"waiting", "Waiting", &heat_share_of_step},
                                                    {"own", "Own", &heat_share_of_step}},
                                         .layer_count = 3,
                                         .make = make}};
    picture->heat.context = picture;
    picture->has_hosts = on_a_host > 0;
    for (size_t i = 0; i < ranks; i++) {
        snprintf(picture->names[i], sizeof picture->names[i], "%zu", i);
        snprintf(picture->hosts[i], sizeof picture->hosts[i], "n%zu", on_a_host ? i / on_a_host : 0);
    }
    for (size_t i = 0; i < ranks * steps; i++)
        picture->values[LENGTH][i] = 10000;
}

static void a_late_rank_stands_out(void **state)
{
    struct picture *picture = malloc(sizeof *picture);
    assert_non_null(picture);
    struct buffer page = BUFFER_INIT, data = BUFFER_INIT;
    fill(picture, 4, 3, 2);
    const struct html_heat_mark mark = {.rank = 2, .first_step = 3, .last_step = 4, .text = "compute <"};
    picture->heat.marks = &mark;
    picture->heat.mark_count = 1;
    picture->values[OWN][2 * 3 + 1] = 5000; /* half a step: from 30 % on */
    picture->values[LENGTH][2 * 3 + 1] = 21000;
    picture->values[WAITING][0] = (double)NAN;
    assert_int_equal(html_add_heat(&page, &data, &picture->heat), 0);
    assert_has(&page, "<path class=\"l4\" d=\"M1 2h1v1h-1z\"/>"); /* more than one step above the baseline */
    assert_has(&page, "<path class=\"l3\" d=\"M1 2h1v1h-1z\"/>");
    assert_has(&page, "<path class=\"l0\" d=\"M1 0h2v1h-2zM0 1h3v1h-3z"); /* unknown values have no colour */
    /* Each of the three pictures frames the two steps; each also has a sample in the legend. */
    assert_int_equal(count_of(page.data, "<rect class=\"frame\" x=\"302.7\""), 3);
    assert_has(&data, "\"marks\":[[2,3,4,\"compute <\"]]");
    assert_has(&data, "\"ranks\":[\"0\",\"1\",\"2\",\"3\"],\"host\":[0,0,1,1],\"hosts\":[\"n0\",\"n1\"]");
    assert_has(&data, "\"first\":2,\"steps\":3,\"usual\":10000.000");
    assert_has(&data, "\"fold\":1");
    buffer_release(&page);
    buffer_release(&data);
    free(picture);
}

/* 100 ranks are 25 hosts in the static picture, and still 100 rows of data. */
static void many_ranks_stand_by_host(void **state)
{
    struct picture *picture = malloc(sizeof *picture);
    assert_non_null(picture);
    struct buffer page = BUFFER_INIT, data = BUFFER_INIT;
    fill(picture, 100, 40, 4);
    assert_int_equal(html_add_heat(&page, &data, &picture->heat), 0);
    assert_int_equal(count_of(page.data, "(4 ranks)"), 3 * 25);
    assert_has(&data, "\"99\"]");
    buffer_release(&page);
    buffer_release(&data);
    free(picture);
}

/* Of 100 ranks, the static picture shows the chosen ones; the data lists them and has all 100. */
static void chosen_rows_come_first(void **state)
{
    static const size_t chosen[] = {70, 3};
    static const char *const reasons[] = {"at <fault", NULL};
    struct picture *picture = malloc(sizeof *picture);
    assert_non_null(picture);
    struct buffer page = BUFFER_INIT, data = BUFFER_INIT;
    fill(picture, 100, 3, 4);
    picture->heat.chosen = chosen;
    picture->heat.reasons = reasons;
    picture->heat.chosen_count = 2;
    picture->heat.shown = OWN;
    picture->values[OWN][70 * 3 + 1] = 5000;
    assert_int_equal(html_add_heat(&page, &data, &picture->heat), 0);
    assert_has(&page, "<path class=\"l3\" d=\"M1 0h1v1h-1z\"/>");
    assert_int_equal(count_of(page.data, "<tspan>70, at &lt;fault</tspan>"), 3);
    assert_int_equal(count_of(page.data, "<tspan>3</tspan>"), 3);
    assert_int_equal(count_of(page.data, "ranks)"), 0);
    assert_has(&data, "\"chosen\":[[70,\"at <fault\"],[3,\"\"]]");
    assert_has(&data, "\"shown\":2");
    assert_has(&data, "\"99\"]");
    buffer_release(&page);
    buffer_release(&data);
    free(picture);
}

/* More cells than fit: four steps share one. */
static void steps_share_cells(void **state)
{
    struct picture *picture = malloc(sizeof *picture);
    assert_non_null(picture);
    struct buffer page = BUFFER_INIT, data = BUFFER_INIT;
    fill(picture, 10, 40, 0);
    picture->heat.most_cells = 100;
    picture->heat.usual_ns = TIME_UNKNOWN;
    assert_int_equal(html_add_heat(&page, &data, &picture->heat), 0);
    assert_has(&data, "\"fold\":4");
    assert_has(&data, "\"host\":[-1,-1,");
    assert_null(strstr(data.data, "\"usual\":"));
    assert_has(&page, "<figcaption>Waiting</figcaption>");
    assert_has(&page, "In % of the largest value");
    buffer_release(&page);
    buffer_release(&data);
    free(picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_rank_stands_out),
        cmocka_unit_test(many_ranks_stand_by_host),
        cmocka_unit_test(chosen_rows_come_first),
        cmocka_unit_test(steps_share_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
