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

/* By a signal that no other rank's fault sends. */
static int is_ended(struct text line)
{
    static const char *const marks[] = {"Segmentation fault", "Bus error", "Out Of Memory",
                                        "Illegal instruction", NULL};
    return text_holds_any(line, marks);
}

/* Who ends a job kills what is left of it. */
static int is_killed(struct text line)
{
    static const char *const marks[] = {": Killed", "(Killed)", NULL};
    return text_holds_any(line, marks);
}

/* That a task ended for itself, or that the step is ended: what is killed behind it is killed for that. */
static int ends_step(struct text line)
{
    static const char *const marks[] = {
        "Exited with exit code ", ": Aborted",        ": Terminated", "erminating ", "orce Terminated",
        "Job step aborted",       "erminated StepId", " CANCELLED ",  NULL};
    return (text_holds(line, "srun: ") || text_holds(line, "slurmstepd: ")) &&
           (text_holds_any(line, marks) || is_ended(line));
}

/* "exitcode  : -9": killed, bus error, segmentation fault. */
static int is_ended_by_code(struct text line)
{
    int64_t signal = number_after(line, ": -");
    return signal == 4 || signal == 7 || signal == 9 || signal == 11;
}

/* The number behind a mark, where the line says that a process ended, and not that it was killed behind
 * another. */
static int64_t ended_behind(const struct launcher_state *state, struct text line, const char *mark)
{
    int is_first = is_ended(line) || (is_killed(line) && !state->is_step_ended);
    return is_first ? number_after(line, mark) : COUNT_UNKNOWN;
}

static int64_t ended_task(struct launcher_state *state, struct text line)
{
    int64_t task = COUNT_UNKNOWN;
    if (text_holds(line, "srun: error: "))
        task = ended_behind(state, line, ": task ");
    else if (text_holds(line, "noticed that process rank "))
        task = ended_behind(state, line, "noticed that process rank ");
    state->is_step_ended |= ends_step(line);
    return task;
}

int launcher_starts_several(struct text line)
{
    static const char *const marks[] = {"(local_rank: ",
                                        "torchrun",
                                        "torch.distributed.elastic",
                                        "torch/distributed/elastic",
                                        "torch.distributed.run",
                                        "torch/distributed/run.py",
                                        "torch.distributed.launch",
                                        "deepspeed.launcher",
                                        NULL};
    return text_begins(line, "[default") || text_holds_any(line, marks);
}

int64_t launcher_ended_rank(struct launcher_state *state, struct text line, int *is_task)
{
    int64_t rank = ended_task(state, line);
    *is_task = rank != COUNT_UNKNOWN;
    if (*is_task)
        return rank;
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
