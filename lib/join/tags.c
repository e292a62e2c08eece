#include "join/tags.h"

/*
 * An operation's tag is the newest one set on its communicator by its process when it was issued; a range
 * that has ended gives way to the one around it. A tag that the record itself carries wins.
 */

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

struct tag_state tag_state_at_start(void)
{
    return (struct tag_state){.top = -1};
}

int32_t tag_at(const struct work *work, int32_t member, struct tag_state *state, int64_t at_ns)
{
    for (; state->next < work->mark_count; state->next++) {
        const struct work_mark *mark = &work->marks[state->next];
        if (mark->at_ns > at_ns)
            break;
        if (mark->member < 0 || mark->member == member)
            apply(state, mark);
    }
    return state->top < 0 ? -1 : state->stack[state->top];
}
