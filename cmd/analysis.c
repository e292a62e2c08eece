#include "analyse/analysis.h"

#include "analyse/filter.h"

#include "base/wrap.h"
#include "cmd/commands.h"
#include "cmd/opt.h"
#include "cmd/print.h"
#include "render/heat_map_svg.h"
#include "render/heat_map_table.h"
#include "render/heat_map_text.h"
#include "render/render.h"
#include "render/write.h"
#include "store/store.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* Of more ranks, those of a host or some neighbours are one row of a picture. */
enum { MOST_ROWS = 64 };

/* Text for people, broken at blanks. */
static int show_prose(struct context *context, const struct buffer *text)
{
    struct buffer lines = BUFFER_INIT;
    int failed =
        wrap_text(&lines, text->data, text->length, context->width ? (size_t)context->width : LINE_WIDTH);
    if (!failed)
        fwrite(lines.data, 1, lines.length, stdout);
    buffer_release(&lines);
    if (failed)
        error_no_memory(&context->error);
    return failed ? EXIT_NOT_DONE : EXIT_DONE;
}

/* Characters beyond ASCII are fit to be shown. */
static int takes_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return 0;
}

/* Runs one after the other, whatever --sort asked for. */
static int draw(struct context *context, struct analysis_result *result, struct buffer *picture)
{
    const struct drawing *drawing = &result->drawing;
    struct heat_maps maps = {.maps = NULL};
    size_t width = context->width ? (size_t)context->width : LINE_WIDTH;
    int run = table_find_column(&result->table, "run");
    int failed =
        (run >= 0 && table_sort_rows(&result->table, (size_t)run, 1, &context->error)) ||
        heat_maps_init(&maps, &result->table, drawing->columns, drawing->count, MOST_ROWS, &context->error);
    if (!failed && (drawing->as_svg ? heat_maps_svg(&maps, picture)
                                    : heat_maps_text(&maps, width, takes_utf8(), picture)))
        failed = error_no_memory(&context->error);
    heat_maps_release(&maps);
    return failed;
}

static int show_drawing(struct context *context, struct analysis_result *result)
{
    struct buffer picture = BUFFER_INIT;
    int failed = draw(context, result, &picture);
    if (!failed && picture.length) {
        fwrite(picture.data, 1, picture.length, stdout);
        failed = render_check(stdout, &context->error);
    }
    buffer_release(&picture);
    if (!failed)
        print_warnings(&result->table);
    return failed ? EXIT_NOT_DONE : EXIT_DONE;
}

/* An analysis may bring its own text for people and its own JSON; CSV always is its table. */
static int show(struct context *context, const struct arguments *arguments, struct analysis_result *result)
{
    const struct buffer *own = arguments->renderer->is_json         ? &result->json
                               : arguments->renderer->is_for_people ? &result->text
                                                                    : NULL;
    if (result->wrote_output) {
        print_warnings(&result->table);
        return EXIT_DONE;
    }
    if (result->drawing.count && (result->drawing.as_svg || arguments->renderer->is_for_people))
        return show_drawing(context, result);
    if (!own || own->length == 0)
        return print_table(context, arguments, &result->table);
    if (arguments->renderer->is_for_people)
        return show_prose(context, own);
    fwrite(own->data, 1, own->length, stdout);
    if (own->data[own->length - 1] != '\n')
        fputc('\n', stdout);
    return EXIT_DONE;
}

/* The analysis, and what is left out of its table. */
static int run(const struct analysis *analysis, struct analysis_request *request, struct filter *filter,
               struct analysis_result *result, int *usage, struct error *error)
{
    if (filter_read(filter, request->values + analysis->option_count, error)) {
        *usage = 1;
        return -1;
    }
    if (filter->host && filter_find_host(filter, request->store, error))
        return -1;
    request->filter = filter;
    return analysis->run(request, result, usage, error) ||
           (!analysis->filters_itself && filter_rows(filter, &result->table, usage, error)) ||
           filter_order(filter, &result->table, usage, error);
}

/*
 * What threads free, others do not get: great arrays go back to the system at once, or what is held would
 * grow with the number of threads.
 */
enum { GREAT_BYTES = 1 << 20 };

/* Of a comparison, the stores of both runs. */
static void share_out(struct context *context)
{
    if (context->jobs > 1)
        mallopt(M_MMAP_THRESHOLD, GREAT_BYTES);
    for (size_t i = 0; i < 2; i++)
        if (context->sides[i].store)
            store_set_threads(context->sides[i].store, (size_t)context->jobs);
    store_set_threads(context->store, (size_t)context->jobs);
}

int command_run_analysis(struct context *context, const struct arguments *arguments)
{
    const struct analysis *analysis = context->command->analysis;
    struct analysis_request request = {.store = context->store,
                                       .values = arguments->values,
                                       .colour = context->colour,
                                       .sides = context->sides[0].store ? context->sides : NULL};
    struct analysis_result result = {.text = BUFFER_INIT, .json = BUFFER_INIT};
    struct filter filter = {.ranks = NULL};
    table_init(&result.table, analysis->name);
    share_out(context);
    int usage = 0, status = EXIT_NOT_DONE;
    if (run(analysis, &request, &filter, &result, &usage, &context->error) == 0)
        status = show(context, arguments, &result);
    else if (usage)
        status = EXIT_USAGE;
    if (status == EXIT_DONE && result.unjudged && !result.undecided) {
        error_set(&context->error, "nothing could be analyzed");
        status = EXIT_NOT_DONE;
    }
    if (status == EXIT_DONE && (result.alarm || result.undecided))
        status = result.alarm ? EXIT_FINDINGS : EXIT_UNDECIDED;
    filter_release(&filter);
    table_release(&result.table);
    buffer_release(&result.text);
    buffer_release(&result.json);
    return status;
}
