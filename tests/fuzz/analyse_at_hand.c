#include "base/base.h"
#include "model/model.h"
#include "output/output.h"
#include "report/report.h"
#include "require.h"
#include "store_at_hand.h"
#include "supply.h"

#include <string.h>

enum { MOST_OPTIONS = 64 };

static void check_shown(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        require((unsigned char)text[i] >= 0x20 || text[i] == '\n', "no control character shown");
}

static void show(const struct renderer *renderer, const struct table *table)
{
    struct error error = ERROR_INIT;
    char *text = NULL;
    size_t length = 0;
    struct render_target target = {.stream = open_memstream(&text, &length)};
    require(target.stream != NULL, "memory");
    require(render_table(renderer, table, &target, &error) == 0, "a table that can be shown");
    fclose(target.stream);
    if (strcmp(renderer->name, "csv") != 0)
        check_shown(text, length);
    free(text);
}

/* As a picture: text and SVG. */
static void draw(const struct analysis_result *result)
{
    struct error error = ERROR_INIT;
    struct heat_maps maps;
    struct buffer text = BUFFER_INIT, svg = BUFFER_INIT;
    require(
        heat_maps_init(&maps, &result->table, result->drawing.columns, result->drawing.count, 3, &error) == 0,
        "a map that can be made");
    require(heat_maps_text(&maps, 40, 0, &text) == 0, "a map that can be drawn");
    require(heat_maps_svg(&maps, &svg) == 0, "a picture");
    check_shown(text.data, text.length);
    check_shown(svg.data, svg.length);
    buffer_release(&text);
    buffer_release(&svg);
    heat_maps_release(&maps);
}

/* Values for options: valid and invalid ones. */
static const char *choose(const struct analysis_option *option, struct supply *supply, int *chosen)
{
    static const char *const values[] = {"0",
                                         "1",
                                         "3",
                                         "12",
                                         "1e-9",
                                         "1000",
                                         "function,size",
                                         "tag,function",
                                         "rank,step",
                                         "run,communicator",
                                         "nan",
                                         "-1",
                                         "1e9",
                                         "",
                                         "steps",
                                         "verdict",
                                         "stalled_us",
                                         "algorithm,protocol",
                                         "length,waiting,own",
                                         "own"};
    uint8_t choice = next(supply);
    if (strcmp(option->name, "output") == 0) {
        *chosen = 1; /* the result may be empty */
        return "/dev/null";
    }
    if (strcmp(option->name, "to") == 0)
        return "prometheus"; /* the format of export that can write to a device */
    if (choice < 0x80)
        return option->fallback;
    *chosen = 1;
    return option->argument ? values[choice % (sizeof values / sizeof *values)] : "1";
}

static void analyse(const struct analysis *analysis, struct store *store, struct supply *supply)
{
    const char *values[MOST_OPTIONS] = {NULL};
    struct error error = ERROR_INIT;
    struct analysis_result result = {.text = BUFFER_INIT, .json = BUFFER_INIT};
    int usage = 0, chosen = 0;
    require(analysis->option_count <= MOST_OPTIONS, "options not too many");
    for (size_t i = 0; i < analysis->option_count; i++)
        values[i] = choose(&analysis->options[i], supply, &chosen);
    const struct analysis_request request = {.store = store, .values = values};
    table_init(&result.table, analysis->name);
    int failed = analysis->run(&request, &result, &usage, &error);
    if (failed && !chosen) {
        fprintf(stderr, "%s: %s\n", analysis->name, error.depth ? error.cause[0] : "no reason");
        require(0, "an analysis that succeeds");
    }
    check_shown(result.text.data, result.text.length);
    check_shown(result.json.data, result.json.length);
    for (const struct renderer *const *renderer = renderer_registry; *renderer && !failed; renderer++)
        show(*renderer, &result.table);
    if (!failed && result.drawing.count)
        draw(&result);
    table_release(&result.table);
    buffer_release(&result.text);
    buffer_release(&result.json);
}

void analyse_at_hand(struct store *store, struct supply *supply)
{
    for (const struct analysis *const *analysis = analysis_registry; *analysis; analysis++)
        analyse(*analysis, store, supply);
}
