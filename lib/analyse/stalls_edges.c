#include "analyse/stalls_edges.h"

#include "analyse/stalls_figures.h"
#include "base/array.h"
#include "stalls/verdict.h"

#include <string.h>

/* 3: the network is to blame. 2: it was slow. 1: it waited for an end. 0: nothing to say. */
static int weight_of(const struct stalls_edge *edge)
{
    if (stalls_is_slow(edge->verdict))
        return 3;
    if (edge->verdict == STALLS_NOT_CONFIRMED)
        return 2;
    return edge->verdict != STALLS_OK && edge->verdict != STALLS_UNKNOWN;
}

static int by_trouble(const void *a, const void *b)
{
    const struct stalls_edge *left = a, *right = b;
    if (weight_of(left) != weight_of(right))
        return weight_of(right) - weight_of(left);
    if (left->stalled_ns != right->stalled_ns)
        return left->stalled_ns > right->stalled_ns ? -1 : 1;
    int order = strcmp(left->label, right->label);
    const int32_t keys[][2] = {{left->run, right->run},
                               {left->sender, right->sender},
                               {left->receiver, right->receiver},
                               {order, 0},
                               {left->communicator, right->communicator},
                               {left->channel, right->channel}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void set_us(struct table *table, size_t column, double time_us)
{
    if (time_us >= 0)
        table_set_real(table, column, time_us);
}

static int add_edge(const struct stalls *stalls, const struct stalls_edge *edge, struct table *table,
                    struct error *error)
{
    static const enum stalls_column figures[] = {AT_STEPS,   AT_SEND_P50, AT_SEND_MAX, AT_RECV_P50,
                                                 AT_STALLED, AT_VERDICT,  AT_MEASURED};
    const struct stalls_seat *sender = &stalls->seats[edge->sender];
    const struct stalls_seat *receiver = &stalls->seats[edge->receiver];
    if (table_add_row(table, error))
        return -1;
    if (sender->global_rank >= 0)
        table_set_integer(table, AT_SENDER, sender->global_rank);
    if (receiver->global_rank >= 0)
        table_set_integer(table, AT_RECEIVER, receiver->global_rank);
    if (edge->channel >= 0)
        table_set_integer(table, AT_CHANNEL, edge->channel);
    if (edge->first_step >= 0) {
        table_set_integer(table, AT_FIRST_STEP, edge->first_step);
        table_set_integer(table, AT_LAST_STEP, edge->last_step);
    }
    set_us(table, AT_WAIT_MEAN, edge->wait_mean_ns / 1e3);
    set_us(table, AT_USUAL_MEAN, edge->usual_mean_ns / 1e3);
    table_set_integer(table, AT_RUN, stalls->runs[edge->run].id);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (stalls_set_figure(table, (size_t)figures[i], figures[i], edge, error))
            return -1;
    return table_set_text(table, AT_COMMUNICATOR, edge->label, error) ||
           table_set_text(table, AT_SENDER_NAME, sender->name, error) ||
           table_set_text(table, AT_RECEIVER_NAME, receiver->name, error);
}

static int is_asked_for(const struct stalls *stalls, const struct stalls_edge *edge,
                        const struct only_edge *only)
{
    return !only->is_asked || (stalls->seats[edge->sender].global_rank == only->sender &&
                               stalls->seats[edge->receiver].global_rank == only->receiver);
}

int stalls_show_edges(struct stalls *stalls, const struct only_edge *only, struct table *table,
                      struct error *error)
{
    struct column shown[STALLS_COLUMNS];
    memcpy(shown, stalls_columns, sizeof shown);
    /* The column that says nothing makes place. */
    shown[AT_SENDER_NAME].hidden = shown[AT_RECEIVER_NAME].hidden = !stalls_has_unnumbered(stalls);
    shown[AT_CHANNEL].hidden = !stalls->by_channel;
    shown[AT_RUN].hidden = stalls->run_count < 2;
    if (table_add_columns(table, shown, STALLS_COLUMNS, error))
        return -1;
    array_sort(stalls->edges, stalls->edge_count, sizeof *stalls->edges, by_trouble);
    for (size_t i = 0; i < stalls->edge_count; i++)
        if (is_asked_for(stalls, &stalls->edges[i], only) &&
            add_edge(stalls, &stalls->edges[i], table, error))
            return -1;
    return 0;
}
