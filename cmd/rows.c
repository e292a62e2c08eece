#include "cmd/rows.h"

#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "render/render.h"
#include "store/query.h"

int rows_show(struct context *context, const struct arguments *arguments, struct query *query)
{
    const struct render_target target = {
        .stream = stdout, .width = context->width, .colour = context->colour};
    const struct renderer *renderer = arguments->renderer;
    void *state = renderer->begin(query_head(query), &target, &context->error);
    if (!state)
        return EXIT_NOT_DONE;
    const struct cell *cells;
    int more;
    while ((more = query_next(query, &cells, &context->error)) == 1)
        if (renderer->row(state, cells, &context->error))
            break;
    if (more != 0) {
        renderer->abandon(state);
        return query_stopped(query) ? EXIT_INTERRUPTED : EXIT_NOT_DONE;
    }
    return renderer->end(state, &context->error) ? EXIT_NOT_DONE : EXIT_DONE;
}
