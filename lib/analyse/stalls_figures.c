#include "analyse/stalls_figures.h"

#include "analyse/option.h"
#include "stalls/verdict.h"
#include "stalls/waits.h"

#include <string.h>

static enum colour colour_of_verdict(const char *name)
{
    for (enum stalls_verdict i = STALLS_OK; i <= STALLS_NOT_CONFIRMED; i++)
        if (strcmp(name, stalls_verdict_name(i)) == 0)
            return stalls_is_slow(i)           ? COLOUR_ALARM
                   : i == STALLS_NOT_CONFIRMED ? COLOUR_CAUTION
                                               : COLOUR_NONE;
    return COLOUR_NONE;
}

const struct column stalls_columns[STALLS_COLUMNS] = {
    {.name = "sender", .type = CELL_INTEGER, .description = "global rank of the sender"},
    {.name = "receiver", .type = CELL_INTEGER, .description = "global rank of the receiver"},
    COMMUNICATOR_COLUMN,
    {.name = "channel", .type = CELL_INTEGER, .description = "NCCL channel; null: all channels"},
    {.name = "steps", .type = CELL_INTEGER, .description = "network steps that the sender recorded"},
    {.name = "send_wait_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "SendWait: time handed to the network, but not sent; median over network steps"},
    {.name = "send_wait_us_max",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "longest SendWait"},
    {.name = "recv_wait_us_p50",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .description = "RecvWait: time until data arrived; median over network steps"},
    {.name = "stalled_us",
     .type = CELL_REAL,
     .unit = "us",
     .description = "wait above the baseline in the steps of the verdict"},
    {.name = "first_step", .type = CELL_INTEGER, .description = "first training step of the verdict"},
    {.name = "last_step", .type = CELL_INTEGER, .description = "last training step of the verdict"},
    {.name = "verdict",
     .type = CELL_TEXT,
     .colour_of = colour_of_verdict,
     .description = "verdict of diagnose: ok, slow link, slow sender, slow receiver or paused once; without "
                    "one: not confirmed (the link was slow), no credit, no data or unknown"},
    {.name = "measured",
     .type = CELL_TEXT,
     .detail = 1,
     .description = "verdict from the waits of this link alone, with the same values"},
    {.name = "verdict_wait_us_mean",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .hidden = 1,
     .description = "mean SendWait in the steps of the verdict"},
    {.name = "usual_wait_us_mean",
     .type = CELL_REAL,
     .unit = "us",
     .decimals = 1,
     .hidden = 1,
     .description = "baseline of the mean SendWait"},
    {.name = "sender_name", .type = CELL_TEXT, .hidden = 1, .description = "name of the sender"},
    {.name = "receiver_name", .type = CELL_TEXT, .hidden = 1, .description = "name of the receiver"},
    JOB_COLUMN,
};

static void set_us(struct table *table, size_t column, double time_us)
{
    if (time_us >= 0)
        table_set_real(table, column, time_us);
}

int stalls_set_figure(struct table *table, size_t column, enum stalls_column figure,
                      const struct stalls_edge *edge, struct error *error)
{
    switch (figure) {
    case AT_STEPS:
        table_set_integer(table, column, edge->sent_steps);
        return 0;
    case AT_SEND_P50:
        set_us(table, column, stalls_median_us(&edge->send));
        return 0;
    case AT_SEND_MAX:
        set_us(table, column, edge->send.count ? (double)edge->send_wait_max_ns / 1e3 : -1);
        return 0;
    case AT_RECV_P50:
        set_us(table, column, stalls_median_us(&edge->receive));
        return 0;
    case AT_STALLED:
        if (edge->verdict != STALLS_UNKNOWN)
            table_set_real(table, column, (double)edge->stalled_ns / 1e3);
        return 0;
    case AT_MEASURED:
        return table_set_text(table, column, stalls_verdict_name(edge->measured), error);
    default:
        return table_set_text(table, column, stalls_verdict_name(edge->verdict), error);
    }
}

int stalls_has_unnumbered(const struct stalls *stalls)
{
    int unnumbered = 0;
    for (size_t i = 0; i < stalls->seat_count; i++)
        unnumbered |= stalls->seats[i].global_rank < 0;
    return unnumbered;
}
