#include "stalls/usual.h"

#include "base/array.h"
#include "base/statistics.h"

static int by_place(const void *a, const void *b)
{
    const struct stalls_cell *left = a, *right = b;
    const int32_t keys[][2] = {{left->received, right->received},
                               {left->edge, right->edge},
                               {left->place, right->place},
                               {left->step, right->step}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static int by_step(const void *a, const void *b)
{
    const struct stalls_cell *left = a, *right = b;
    const int32_t keys[][2] = {
        {left->received, right->received}, {left->edge, right->edge}, {left->step, right->step}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

const struct stalls_run *judge_run(const struct judge *judge, const struct stalls_cell *cell)
{
    return &judge->stalls->runs[judge->stalls->edges[cell->edge].run];
}

/*
 * The usual of a wait is the lower quartile over training steps: a fault may last for most of them. Waiting
 * for the GPU is the exception: it is short when the host is late, so that the middle is what is usual.
 */
static double part_of(enum stalls_wait wait)
{
    return wait == STALLS_GPU ? 0.5 : 0.25;
}

static int add_usual(struct judge *judge, const struct stalls_cell *cells, size_t count, int32_t first_step)
{
    size_t seen = 0;
    double operations = 0, busy_ns = 0;
    if (array_reserve((void **)&judge->usuals, &judge->usual_capacity, judge->usual_count + 1,
                      sizeof *judge->usuals))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (cells[i].step >= first_step && cells[i].steps) {
            judge->list[seen++] = cells[i].wait_ns / cells[i].steps;
            operations += (double)cells[i].operations;
            busy_ns += (double)cells[i].busy_ns[STALLS_NETWORK];
        }
    if (seen >= LEAST_STEPS)
        judge->usuals[judge->usual_count++] =
            (struct usual_wait){.edge = cells->edge,
                                .place = cells->place,
                                .wait_ns = (double)median_of(judge->list, seen),
                                .busy_ns = busy_ns / (double)seen,
                                .operations = operations / (double)seen};
    return 0;
}

/* The same edge and kind of operation, by training step: fills in what is usual. */
static int learn_usual(struct judge *judge, struct stalls_cell *cells, size_t count)
{
    int32_t first_step = judge_run(judge, cells)->first_step;
    for (int wait = 0; wait < STALLS_WAITS; wait++) {
        size_t seen = 0;
        for (size_t i = 0; i < count; i++)
            if (cells[i].step >= first_step && cells[i].operations)
                judge->list[seen++] = cells[i].busy_ns[wait] / cells[i].operations;
        int64_t usual = seen ? quantile_of(judge->list, seen, part_of((enum stalls_wait)wait)) : 0;
        for (size_t i = 0; i < count; i++)
            cells[i].usual_ns[wait] = usual * cells[i].operations;
    }
    size_t seen = 0;
    for (size_t i = 0; i < count; i++)
        if (cells[i].step >= first_step && cells[i].steps)
            judge->list[seen++] = cells[i].wait_ns / cells[i].steps;
    int64_t usual = seen ? quantile_of(judge->list, seen, 0.25) : 0;
    for (size_t i = 0; i < count; i++)
        cells[i].usual_wait_ns = usual * cells[i].steps;
    return cells->received ? 0 : add_usual(judge, cells, count, first_step);
}

static int learn(struct judge *judge)
{
    struct stalls *stalls = judge->stalls;
    array_sort(stalls->cells, stalls->cell_count, sizeof *stalls->cells, by_place);
    for (size_t i = 0, next; i < stalls->cell_count; i = next) {
        const struct stalls_cell *cell = &stalls->cells[i];
        for (next = i;
             next < stalls->cell_count && stalls->cells[next].edge == cell->edge &&
             stalls->cells[next].place == cell->place && stalls->cells[next].received == cell->received;
             next++)
            ;
        if (learn_usual(judge, &stalls->cells[i], next - i))
            return -1;
    }
    return 0;
}

static void add_cell(struct stalls_cell *to, const struct stalls_cell *from)
{
    to->operations += from->operations;
    to->steps += from->steps;
    to->wait_ns += from->wait_ns;
    to->usual_wait_ns += from->usual_wait_ns;
    for (int wait = 0; wait < STALLS_WAITS; wait++) {
        to->busy_ns[wait] += from->busy_ns[wait];
        to->usual_ns[wait] += from->usual_ns[wait];
    }
    if (from->standstill_ns > to->standstill_ns)
        to->standstill_ns = from->standstill_ns;
}

/* One cell an edge and training step from here on, whatever the operation; an edge's own stand together. */
static void merge_places(struct judge *judge)
{
    struct stalls *stalls = judge->stalls;
    size_t kept = 0;
    array_sort(stalls->cells, stalls->cell_count, sizeof *stalls->cells, by_step);
    for (size_t i = 0; i < stalls->cell_count; i++)
        if (kept && !by_step(&stalls->cells[kept - 1], &stalls->cells[i]))
            add_cell(&stalls->cells[kept - 1], &stalls->cells[i]);
        else
            stalls->cells[kept++] = stalls->cells[i];
    stalls->cell_count = kept;
    size_t at = 0;
    for (size_t edge = 0; edge <= stalls->edge_count; edge++) {
        while (at < kept && !stalls->cells[at].received && stalls->cells[at].edge < (int32_t)edge)
            at++;
        judge->first[edge] = at;
    }
}

int judge_learn_usual(struct judge *judge)
{
    if (learn(judge))
        return -1;
    merge_places(judge);
    return 0;
}
