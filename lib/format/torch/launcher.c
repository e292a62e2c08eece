#include "format/torch/launcher.h"

#include "model/event.h"

#include <string.h>

enum { RANK_DIGITS_MOST = 7 };

/* The number behind a mark and blanks; COUNT_UNKNOWN. */
static int64_t number_after(struct text line, const char *mark)
{
    struct text behind = text_after(line, mark);
    size_t at = 0, digits = 0;
    int64_t number = 0;
    while (at < behind.length && behind.data[at] == ' ')
        at++;
    for (; at < behind.length && behind.data[at] >= '0' && behind.data[at] <= '9'; at++, digits++)
        number = digits < RANK_DIGITS_MOST ? number * 10 + (behind.data[at] - '0') : number;
    return digits && digits <= RANK_DIGITS_MOST ? number : COUNT_UNKNOWN;
}

static int holds_any(struct text line, const char *const *marks)
{
    for (; *marks; marks++)
        if (text_holds(line, *marks))
            return 1;
    return 0;
}

/* By a signal that no other rank's fault sends. */
static int is_ended(struct text line)
{
    static const char *const marks[] = {": Killed",  "(Killed)",      "Segmentation fault",
                                        "Bus error", "Out Of Memory", "Illegal instruction",
                                        NULL};
    return holds_any(line, marks);
}

/* "exitcode  : -9": killed, bus error, segmentation fault. */
static int is_ended_by_code(struct text line)
{
    int64_t signal = number_after(line, ": -");
    return signal == 4 || signal == 7 || signal == 9 || signal == 11;
}

int64_t launcher_ended_rank(struct launcher_state *state, struct text line)
{
    int64_t rank = COUNT_UNKNOWN;
    if (text_holds(line, "srun: error: "))
        return is_ended(line) ? number_after(line, ": task ") : COUNT_UNKNOWN;
    if (text_holds(line, "noticed that process rank "))
        return is_ended(line) ? number_after(line, "noticed that process rank ") : COUNT_UNKNOWN;
    if (text_holds(line, "(local_rank: ") && text_holds(line, "rank ")) {
        state->rank = number_after(line, " :");
        return COUNT_UNKNOWN;
    }
    if (text_holds(line, "exitcode ") && text_holds(line, "(pid: ")) {
        rank = is_ended_by_code(line) ? state->rank : COUNT_UNKNOWN;
        state->rank = COUNT_UNKNOWN;
    }
    return rank;
}
