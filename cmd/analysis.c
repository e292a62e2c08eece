#include "analyse/analysis.h"

#include "cmd/commands.h"
#include "cmd/opt.h"
#include "cmd/print.h"
#include "render/render.h"

/* An analysis may bring its own text for people and its own JSON; CSV always is its table. */
static int show(struct context *context, const struct arguments *arguments,
                const struct analysis_result *result)
{
    const struct buffer *own = arguments->renderer->is_json         ? &result->json
                               : arguments->renderer->is_for_people ? &result->text
                                                                    : NULL;
    if (!own || own->length == 0)
        return print_table(context, arguments, &result->table);
    fwrite(own->data, 1, own->length, stdout);
    if (own->data[own->length - 1] != '\n')
        fputc('\n', stdout);
    return EXIT_DONE;
}

int command_run_analysis(struct context *context, const struct arguments *arguments)
{
    const struct analysis *analysis = context->command->analysis;
    const struct analysis_request request = {.store = context->store, .values = arguments->values};
    struct analysis_result result = {.text = BUFFER_INIT, .json = BUFFER_INIT};
    table_init(&result.table, analysis->name);
    int usage = 0, status = EXIT_NOT_DONE;
    if (analysis->run(&request, &result, &usage, &context->error) == 0)
        status = show(context, arguments, &result);
    else if (usage)
        status = EXIT_USAGE;
    if (status == EXIT_DONE && result.unjudged && !result.undecided) {
        error_set(&context->error, "nothing was judged");
        status = EXIT_NOT_DONE;
    }
    if (status == EXIT_DONE && (result.alarm || result.undecided))
        status = result.alarm ? EXIT_FINDINGS : EXIT_UNDECIDED;
    table_release(&result.table);
    buffer_release(&result.text);
    buffer_release(&result.json);
    return status;
}
