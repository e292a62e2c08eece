#include "analyse/stalls_matrix.h"

#include "base/array.h"
#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

static int by_sender(const void *a, const void *b)
{
    const struct stalls_edge *left = a, *right = b;
    if (left->sender != right->sender)
        return left->sender < right->sender ? -1 : 1;
    return (left->receiver > right->receiver) - (left->receiver < right->receiver);
}

static int by_rank(const void *a, const void *b)
{
    const struct stalls_seat *left = *(struct stalls_seat *const *)a,
                             *right = *(struct stalls_seat *const *)b;
    if (left->global_rank != right->global_rank)
        return (uint64_t)left->global_rank < (uint64_t)right->global_rank ? -1
                                                                          : 1; /* those without one last */
    return strcmp(left->name, right->name);
}

/* Of every edge, those of one rank side by side, whatever their runs. */
static void list_receivers(const struct stalls *stalls, const struct stalls_seat **list)
{
    for (size_t i = 0; i < stalls->edge_count; i++)
        list[i] = &stalls->seats[stalls->edges[i].receiver];
    array_sort(list, stalls->edge_count, sizeof *list, by_rank);
}

static int add_receiver(const struct stalls_seat *seat, const struct column *figure, struct table *table,
                        struct error *error)
{
    struct buffer name = BUFFER_INIT;
    struct column column = *figure;
    column.hidden = 0;
    column.name = buffer_append_text(&name, "to_") || buffer_append_text(&name, seat->name)
                      ? NULL
                      : table_keep_text(table, name.data);
    buffer_release(&name);
    return column.name ? table_add_column(table, column, error) : error_no_memory(error);
}

/* A column for every rank that is a receiver, which runs share: each row has its own. */
static int add_receivers(const struct stalls *stalls, const struct column *figure, size_t *column_of,
                         struct table *table, struct error *error)
{
    const struct stalls_seat **list = array_new(stalls->edge_count + 1, sizeof *list);
    int failed = list ? 0 : error_no_memory(error);
    if (!failed)
        list_receivers(stalls, list);
    for (size_t i = 0; !failed && i < stalls->edge_count; i++) {
        if (!i || by_rank(&list[i - 1], &list[i]))
            failed = add_receiver(list[i], figure, table, error);
        column_of[list[i] - stalls->seats] = table->column_count - 1;
    }
    free(list);
    return failed;
}

static int fill_matrix(struct stalls *stalls, enum stalls_column figure, const size_t *column_of,
                       struct table *table, struct error *error)
{
    for (size_t i = 0; i < stalls->edge_count; i++) {
        const struct stalls_edge *edge = &stalls->edges[i];
        if (!i || edge->sender != stalls->edges[i - 1].sender) {
            const struct stalls_seat *sender = &stalls->seats[edge->sender];
            if (table_add_row(table, error) || table_set_text(table, 1, sender->name, error))
                return -1;
            if (sender->global_rank >= 0)
                table_set_integer(table, 0, sender->global_rank);
            table_set_integer(table, 2, stalls->runs[edge->run].id);
        }
        if (stalls_set_figure(table, column_of[edge->receiver], figure, edge, error))
            return -1;
    }
    return 0;
}

/* Cells of a matrix: 2048 ranks, each with each. Hostile traces name any number of peers. */
enum { MOST_CELLS = 1 << 22 };

/* Edges are in order of their senders. */
static int check_matrix(const struct stalls *stalls, const struct table *table, struct error *error)
{
    size_t senders = 0, receivers = table->column_count;
    for (size_t i = 0; i < stalls->edge_count; i++)
        senders += !i || stalls->edges[i].sender != stalls->edges[i - 1].sender;
    if (senders * receivers <= MOST_CELLS)
        return 0;
    return error_set(
        error, "%zu senders and %zu columns are too many for a matrix; without --matrix, each link is a row",
        senders, receivers);
}

int stalls_show_matrix(struct stalls *stalls, enum stalls_column figure, struct table *table,
                       struct error *error)
{
    const struct column heads[] = {
        {.name = "sender", .type = CELL_INTEGER, .description = "global rank of the sender"},
        {.name = "sender_name",
         .type = CELL_TEXT,
         .hidden = !stalls_has_unnumbered(stalls),
         .description = "name of the sender, if its global rank is unknown"},
        {.name = "run", .type = CELL_INTEGER, .hidden = stalls->run_count < 2, .description = "job"},
    };
    size_t *column_of = array_new(stalls->seat_count + 1, sizeof *column_of);
    if (!column_of)
        return error_no_memory(error);
    array_sort(stalls->edges, stalls->edge_count, sizeof *stalls->edges, by_sender);
    int failed = table_add_columns(table, heads, sizeof heads / sizeof *heads, error) ||
                 add_receivers(stalls, &stalls_columns[figure], column_of, table, error) ||
                 check_matrix(stalls, table, error) || fill_matrix(stalls, figure, column_of, table, error);
    free(column_of);
    return failed ? -1 : 0;
}
