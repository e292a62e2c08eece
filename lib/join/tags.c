#include "join/tags.h"

#include "join/load.h"

/*
 * An operation's tag is the newest one set on its communicator by its process when it was issued; a range
 * that has ended gives way to the one around it. A tag that the record itself carries wins: it is of that
 * operation alone.
 */

int32_t tag_carried(const struct work *work, const struct swept *swept)
{
    const int64_t *name = swept->tag >= 0 && swept->tag_is_number
                              ? map_get(&work->tag_names, (struct map_key){{(uint64_t)swept->tag}})
                              : NULL;
    return name ? (int32_t)*name : swept->tag;
}

static void apply(struct tag_state *state, const struct work_mark *mark)
{
    int32_t depth = mark->depth < 0 ? 0 : mark->depth >= TAG_DEPTH ? TAG_DEPTH - 1 : mark->depth;
    if (mark->is_end) {
        /* Where the beginning of its range was lost it ends nothing. */
        if (depth <= state->top)
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
    struct tag_state state = {.top = -1};
    state.own.left = work_marks_of(work, member, &state.own.next);
    state.common.left = work_marks_of(work, -1, &state.common.next);
    return state;
}

/* The next mark up to a time, whosever it is; NULL: there is none. */
static const struct work_mark *next_mark(struct tag_state *state, int64_t at_ns)
{
    struct tag_marks *own = &state->own, *common = &state->common;
    int is_own = own->left > 0 && (common->left == 0 || own->next->order < common->next->order);
    struct tag_marks *from = is_own ? own : common;
    if (from->left == 0 || from->next->at_ns > at_ns)
        return NULL;
    from->left--;
    return from->next++;
}

int32_t tag_at(struct tag_state *state, int64_t at_ns)
{
    const struct work_mark *mark;
    while ((mark = next_mark(state, at_ns)))
        apply(state, mark);
    return state->top < 0 ? -1 : state->stack[state->top];
}
