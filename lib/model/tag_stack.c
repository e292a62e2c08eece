/*
 * The tags that a program has set, as its marks change them. When a range ends, the range around it applies
 * again.
 */
#include "model/model.h"

void tag_stack_apply(struct tag_stack *stack, int64_t depth, int is_end, int32_t text)
{
    int32_t at = depth < 0 ? 0 : depth >= TAG_DEPTH ? TAG_DEPTH - 1 : (int32_t)depth;
    if (is_end) {
        /* If the beginning of its range was lost, it ends nothing. */
        if (at <= stack->top)
            stack->top = at - 1;
        return;
    }
    for (int32_t i = stack->top + 1; i < at; i++)
        stack->texts[i] = -1;
    stack->texts[at] = text;
    stack->top = at;
}

int32_t tag_stack_innermost(const struct tag_stack *stack)
{
    return stack->top < 0 ? -1 : stack->texts[stack->top];
}
