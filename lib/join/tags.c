#include "join/tags.h"

#include "base/array.h"

#include <stdlib.h>

/*
 * An operation's tag is the newest one set on its communicator by its process when it was issued; a range
 * that has ended gives way to the one around it. A tag that the record itself carries wins.
 */

int work_order_marks(struct work *work, struct error *error)
{
    size_t *next = array_new(work->process_count + 1, sizeof *next);
    work->mark_order = array_new(work->mark_count, sizeof *work->mark_order);
    work->first_mark = array_new(work->process_count + 1, sizeof *work->first_mark);
    if (!next || !work->mark_order || !work->first_mark) {
        free(next);
        return error_no_memory(error);
    }
    for (size_t i = 0; i < work->mark_count; i++)
        work->first_mark[work->marks[i].process + 1]++;
    for (size_t i = 0; i < work->process_count; i++)
        next[i + 1] = work->first_mark[i + 1] += work->first_mark[i];
    for (size_t i = 0; i < work->mark_count; i++)
        work->mark_order[next[work->marks[i].process]++] = (uint32_t)i;
    free(next);
    return 0;
}

static void apply(struct tag_state *state, const struct work_mark *mark)
{
    int32_t depth = mark->depth < 0 ? 0 : mark->depth >= TAG_DEPTH ? TAG_DEPTH - 1 : mark->depth;
    if (mark->is_end) {
        state->top = depth - 1;
        return;
    }
    for (int32_t i = state->top + 1; i < depth; i++)
        state->stack[i] = -1;
    state->stack[depth] = mark->text;
    state->top = depth;
}

struct tag_state tag_state_at_start(const struct work *work, int32_t member)
{
    return (struct tag_state){.next = work->first_mark[work->members[member].process], .top = -1};
}

int32_t tag_at(const struct work *work, int32_t member, struct tag_state *state, int64_t at_ns)
{
    size_t end = work->first_mark[work->members[member].process + 1];
    for (; state->next < end; state->next++) {
        const struct work_mark *mark = &work->marks[work->mark_order[state->next]];
        if (mark->at_ns > at_ns)
            break;
        if (mark->member < 0 || mark->member == member)
            apply(state, mark);
    }
    return state->top < 0 ? -1 : state->stack[state->top];
}
