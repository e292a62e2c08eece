/*
 * Commands that run an analysis of lib/report: open its store or make a temporary one, run it, and print its
 * table, text, JSON or picture.
 */
#include "base/base.h"
#include "cmd/internal.h"
#include "ingest/ingest.h"
#include "input/input.h"
#include "join/join.h"
#include "model/model.h"
#include "output/output.h"
#include "report/report.h"
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With more ranks, a row of the picture is a host or a few neighbouring ranks. */
enum { MOST_ROWS = 64 };

/* Prints text for people, wrapped at spaces; in Markdown, as a code block. */
static int show_prose(struct context *context, const struct buffer *text, int is_markdown)
{
    struct buffer lines = BUFFER_INIT, quoted = BUFFER_INIT;
    size_t width = context->width && !is_markdown ? (size_t)context->width : LINE_WIDTH;
    int failed = wrap_text(&lines, text->data, text->length, width) ||
                 (is_markdown && markdown_quote(&quoted, lines.data, lines.length));
    const struct buffer *shown = is_markdown ? &quoted : &lines;
    if (!failed)
        fwrite(shown->data, 1, shown->length, stdout);
    buffer_release(&quoted);
    buffer_release(&lines);
    if (failed)
        error_no_memory(&context->error);
    return failed ? EXIT_NOT_DONE : EXIT_DONE;
}

/* True if the locale can show characters beyond ASCII. */
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

/* Draws the runs one after the other, whatever --sort asks for. */
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

/* An analysis may have its own text for people and its own JSON. CSV is always its table. */
static int show(struct context *context, const struct arguments *arguments, struct analysis_result *result)
{
    const struct renderer *renderer = arguments->renderer;
    const struct buffer *own = renderer->is_json                                  ? &result->json
                               : renderer->is_for_people || renderer->is_markdown ? &result->text
                                                                                  : NULL;
    if (result->wrote_output) {
        print_warnings(&result->table);
        return EXIT_DONE;
    }
    if (result->drawing.count && (result->drawing.as_svg || renderer->is_for_people))
        return show_drawing(context, result);
    if (!own || own->length == 0)
        return print_table(context, arguments, &result->table);
    if (!renderer->is_json)
        return show_prose(context, own, renderer->is_markdown);
    fwrite(own->data, 1, own->length, stdout);
    if (own->data[own->length - 1] != '\n')
        fputc('\n', stdout);
    return EXIT_DONE;
}

/* The number of an option of an analysis; -1: it has none of that name. */
static int option_number(const struct analysis *analysis, const char *name)
{
    for (size_t i = 0; i < analysis->option_count; i++)
        if (strcmp(analysis->options[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* What one of two compared stores lacks, the other may have. */
static int resolve(const struct analysis *analysis, const struct analysis_request *request,
                   struct filter *filter, struct error *error)
{
    unsigned except = analysis->compares ? ~0U : analysis->unlisted_filters;
    int run = option_number(analysis, "run");
    return filter_resolve(filter, except, request->store, run < 0 ? NULL : request->values[run], error);
}

/* Sets *matched to 0 if the filters leave nothing. Findings that do not match are counted by diagnose itself.
 */
static int apply(const struct analysis *analysis, const struct filter *filter, struct analysis_result *result,
                 int *matched, int *usage, struct error *error)
{
    int had_rows = analysis->filters_itself || result->table.row_count;
    if (!analysis->filters_itself && filter_rows(filter, &result->table, usage, error))
        return -1;
    *matched = !had_rows || result->table.row_count || result->text.length || result->json.length ||
               !filter_selects(filter);
    return filter_order(filter, &result->table, usage, error);
}

/* With --anonymize, runs the analysis on a copy of the store without names. --run is given by number then. */
static int anonymize(struct context *context, const struct arguments *arguments,
                     struct analysis_request *request, struct error *error)
{
    static char number[24];
    const struct analysis *analysis = context->command->analysis;
    int at = option_number(analysis, "anonymize"), run = option_number(analysis, "run");
    int64_t run_id;
    if (at < 0 || !arguments->values[at])
        return 0;
    if (run >= 0 && arguments->values[run]) {
        if (run_find(context->store, arguments->values[run], &run_id, error))
            return -1;
        snprintf(number, sizeof number, "%lld", (long long)run_id);
        arguments->values[run] = number;
    }
    if (temporary_store_anonymize(context) != EXIT_DONE)
        return -1;
    request->store = context->store;
    return 0;
}

/* Runs the analysis, unless the store has its result, and applies the filters to its table. */
static int run(struct context *context, const struct arguments *arguments, struct analysis_request *request,
               struct filter *filter, struct kept_result *kept, struct analysis_result *result, int *matched,
               int *usage, struct error *error)
{
    const struct analysis *analysis = context->command->analysis;
    if (filter_read(filter, request->values + analysis->option_count, error)) {
        *usage = 1;
        return -1;
    }
    if (resolve(analysis, request, filter, error) || anonymize(context, arguments, request, error))
        return -1;
    request->filter = filter;
    if (!kept_result_find(kept, analysis, request, result)) {
        if (analysis->run(request, result, usage, error))
            return -1;
        kept_result_take(kept, result);
    }
    return apply(analysis, filter, result, matched, usage, error);
}

/*
 * Memory that one thread frees is not reused by others. So large arrays are returned to the system when
 * freed; otherwise memory use would grow with the number of threads.
 */
enum { LARGE_ARRAY_BYTES = 1 << 20 };

/* For a comparison, sets the threads of all stores. */
static void set_store_threads(struct context *context)
{
    if (context->jobs > 1)
        mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY_BYTES);
    for (size_t i = 0; i < context->side_count; i++)
        store_set_threads(context->sides[i].store, (size_t)context->jobs);
    store_set_threads(context->store, (size_t)context->jobs);
}

/* The result is shown first, complete, because this may take a moment. */
static void keep(const struct analysis_request *request, const struct kept_result *kept)
{
    fflush(stdout);
    kept_result_save(kept, request->store);
    kept_results_add_next(request);
}

int command_run_analysis(struct context *context, const struct arguments *arguments)
{
    const struct analysis *analysis = context->command->analysis;
    struct analysis_request request = {.store = context->store,
                                       .shared = analysis->loads_run ? shared_run_new() : NULL,
                                       .values = arguments->values,
                                       .colour = context->colour && !arguments->renderer->is_markdown,
                                       .sides = context->sides,
                                       .side_count = context->side_count,
                                       .command = context->sides_command.data};
    struct analysis_result result = {.text = BUFFER_INIT, .json = BUFFER_INIT};
    struct filter filter = {.ranks = NULL};
    struct kept_result kept = {.state = STATE_UNKNOWN};
    table_init(&result.table, analysis->name);
    set_store_threads(context);
    int matched = 1, usage = 0, status = EXIT_NOT_DONE;
    if (run(context, arguments, &request, &filter, &kept, &result, &matched, &usage, &context->error) == 0)
        status = show(context, arguments, &result);
    else if (usage)
        status = EXIT_USAGE;
    if (status == EXIT_DONE && !matched) {
        error_set(&context->error, "nothing matches the filters");
        status = EXIT_NOT_DONE;
    }
    if (status == EXIT_DONE && result.unjudged && !result.undecided) {
        error_set(&context->error, "nothing could be analyzed");
        status = EXIT_NOT_DONE;
    }
    if (status == EXIT_DONE && (result.alarm || result.undecided))
        status = result.alarm ? EXIT_FINDINGS : EXIT_UNDECIDED;
    keep(&request, &kept);
    kept_result_release(&kept);
    shared_run_free(request.shared);
    filter_release(&filter);
    table_release(&result.table);
    buffer_release(&result.text);
    buffer_release(&result.json);
    return status;
}

/*
 * The place of temporary stores, one per process, used for one store after the other. main opens them before
 * the command runs and closes them at the end. SQLite's own temporary files are in this directory too.
 */
static struct {
    char directory[PATH_MAX];
    char path[PATH_MAX + 16];
    char journal[PATH_MAX + 32];
} temporary;

int temporary_store_ingest(struct context *context, char *const *paths, size_t count)
{
    struct walk walk;
    struct report report = {.results = NULL};
    const struct ingest_request wishes = {.paths = paths,
                                          .path_count = count,
                                          .jobs = context->jobs,
                                          .limits = {.unpack_ratio = INPUT_RATIO_MOST}};
    walk_init(&walk);
    int status = ingest_paths(context, &wishes, &walk, &report, &context->lacks_traces);
    report_release(&report);
    walk_release(&walk);
    if (status == EXIT_DONE && !context->store) {
        error_set(&context->error, "no traces found in the given paths");
        status = EXIT_NOT_DONE;
    }
    return status;
}

/* Creates a private directory below $TMPDIR or /tmp for the store. Returns 0 with `directory` filled in. */
static int make_directory(char *directory, size_t bytes, struct error *error)
{
    const char *parent = getenv("TMPDIR");
    int length = snprintf(directory, bytes, "%s/ncclprof-XXXXXX", parent && *parent ? parent : "/tmp");
    if (length < 0 || (size_t)length >= bytes)
        return error_set(error, "the path in $TMPDIR is too long");
    if (!mkdtemp(directory))
        return error_set(error, "cannot create directory %s: %s", directory, strerror(errno));
    return 0;
}

/* An open store keeps its content until it is closed, so nothing is left if the process is killed. */
static void remove_files(const char *path)
{
    static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
    char name[sizeof temporary.path + 16];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        unlink(name);
    }
}

int temporary_store_prepare(struct context *context)
{
    if (!*temporary.directory &&
        make_directory(temporary.directory, sizeof temporary.directory, &context->error)) {
        *temporary.directory = '\0';
        return EXIT_NOT_DONE;
    }
    snprintf(temporary.path, sizeof temporary.path, "%s/store.db", temporary.directory);
    snprintf(temporary.journal, sizeof temporary.journal, "%s-journal", temporary.path);
    interrupt_set_removal(temporary.directory, temporary.path, temporary.journal);
    context->store_path = temporary.path;
    return EXIT_DONE;
}

int temporary_store_open(struct context *context, char *const *paths, size_t count)
{
    int status = temporary_store_prepare(context);
    if (status == EXIT_DONE)
        status = temporary_store_ingest(context, paths, count);
    if (*temporary.path)
        remove_files(temporary.path);
    return status;
}

int temporary_store_anonymize(struct context *context)
{
    if (temporary_store_prepare(context) != EXIT_DONE)
        return EXIT_NOT_DONE;
    struct store *store = store_anonymize(context->store, temporary.path, &context->error);
    remove_files(temporary.path);
    if (!store)
        return EXIT_NOT_DONE;
    store_close(context->store);
    context->store = store;
    store_set_threads(store, (size_t)context->jobs);
    return EXIT_DONE;
}

static int merge_one(struct context *context, char *shard)
{
    struct report report = {.results = NULL};
    struct ingest_listener listener = {.report = &report};
    struct merge merge = {.hooks = ingest_listener_hooks(&listener)};
    char *const shards[] = {shard};
    progress_begin(&listener.progress, 1, 0, 0);
    int failed = merge_plan_make(&merge.plan, shards, 1, temporary.path, &context->error) ||
                 merge_run(&merge, &context->store, temporary.path, &context->error) ||
                 join_store(context->store, (size_t)context->jobs, &context->error);
    report_release(&report);
    merge_plan_release(&merge.plan);
    return failed ? -1 : 0;
}

/*
 * Makes a temporary store from context->store, which is a shard, and closes it. A shard is not joined; its
 * copy is.
 */
static int temporary_store_of_shard(struct context *context)
{
    char *shard = strdup(context->store_path);
    store_close(context->store);
    context->store = NULL;
    int failed = !shard ? error_no_memory(&context->error)
                        : temporary_store_prepare(context) != EXIT_DONE || merge_one(context, shard);
    if (*temporary.path)
        remove_files(temporary.path);
    free(shard);
    return failed ? -1 : 0;
}

void temporary_store_close(void)
{
    if (!*temporary.directory)
        return;
    remove_files(temporary.path);
    rmdir(temporary.directory);
}

/* Rebuilds the derived tables if they do not match the files. Returns 1 if it did. */
static int join_if_needed(struct context *context)
{
    int current = join_is_current(context->store, &context->error);
    if (current)
        return current < 0 ? -1 : 0;
    struct store *store = store_open(context->store_path, STORE_WRITE, &context->error);
    int outcome = store ? join_store(store, 1, &context->error) : -1;
    store_close(store);
    return outcome ? error_wrap(&context->error, "cannot bring the store's joined tables up to date") : 1;
}

int open_store(struct context *context, int needs)
{
    enum store_mode mode = needs & NEEDS_STORE_IF_ANY ? STORE_CREATE
                           : needs & NEEDS_STORE      ? STORE_WRITE
                                                      : STORE_READ;
    if (!(needs & (NEEDS_STORE | NEEDS_STORE_IF_ANY | NEEDS_STORE_READ)))
        return 0;
    if (needs & NEEDS_STORE_IF_ANY && access(context->store_path, F_OK) && errno == ENOENT)
        return 0;
    context->store = store_open(context->store_path, mode, &context->error);
    if (!context->store)
        return -1;
    if (!(needs & NEEDS_JOINED))
        return 0;
    int is_shard = store_is_shard(context->store, &context->error);
    if (is_shard)
        return is_shard < 0 ? -1 : temporary_store_of_shard(context);
    return join_if_needed(context) < 0 ? -1 : 0;
}

/* Opens the store of a path and moves it from the context to the side. */
static int open_side(struct context *context, struct analysis_side *side, const char *path)
{
    const char *kept = context->store_path;
    context->store_path = path;
    int failed = open_store(context, NEEDS_STORE_READ | NEEDS_JOINED);
    context->store_path = kept;
    side->store = context->store;
    context->store = NULL;
    return failed ? EXIT_NOT_DONE : EXIT_DONE;
}

static int make_side(struct context *context, struct analysis_side *side, char *const *path)
{
    const char *kept = context->store_path;
    int lacked = context->lacks_traces;
    int status = temporary_store_open(context, path, 1);
    context->store_path = kept;
    context->lacks_traces |= lacked;
    side->store = context->store;
    context->store = NULL;
    return status;
}

/* Returns the name of a run after the path of a store and a colon, or NULL. */
static char *run_after_store(char *operand)
{
    char *colon = strrchr(operand, ':');
    if (!colon || !colon[1])
        return NULL;
    *colon = '\0';
    int is_store = store_is_stamped(operand);
    *colon = ':';
    return is_store ? colon + 1 : NULL;
}

static int open_run(struct context *context, struct analysis_side *side, char *operand)
{
    char *run = run_after_store(operand);
    if (run) {
        run[-1] = '\0';
        side->run = run;
        return open_side(context, side, operand);
    }
    if (access(context->store_path, F_OK)) {
        error_set(&context->error, "'%s' is not a file, and cannot be a run because store %s does not exist",
                  operand, context->store_path);
        return EXIT_NOT_DONE;
    }
    side->run = operand;
    return open_side(context, side, context->store_path);
}

/* Sets the side of each operand: A and B, or the option before it. Returns an exit_status. */
static int assign_sides(struct context *context, const struct arguments *arguments)
{
    size_t count = arguments->operand_count, of_side[2] = {0};
    int has_options = 0;
    for (size_t i = 0; i < count; i++)
        has_options |= arguments->owners[i] != NULL;
    for (size_t i = 0; i < count; i++) {
        const struct option *owner = arguments->owners[i];
        if ((has_options && !owner) || (!has_options && i > 1)) {
            error_set(&context->error, "unexpected argument '%s'", arguments->operands[i]);
            return EXIT_USAGE;
        }
        context->sides[i].is_candidate = owner ? owner == option_at(arguments->table, 1) : i == 1;
        of_side[context->sides[i].is_candidate]++;
    }
    if (of_side[0] && of_side[1])
        return EXIT_DONE;
    error_set(&context->error, "%s needs a run", of_side[0] ? "--candidate" : "--baseline");
    return EXIT_USAGE;
}

/*
 * Sets how commands are suggested that read this side alone (store_set_command), and adds it to the one that
 * compares. `operand` is the path of a store or of traces, or the name of a run.
 */
static int remember_side(struct context *context, const struct analysis_side *side, char *const *operand,
                         const char *owner)
{
    const char *given = context->given_store_path;
    int is_path = access(*operand, F_OK) == 0, is_traces = is_path && !store_is_stamped(*operand);
    if (is_path && !is_traces)
        context->given_store_path = *operand;
    context->store = side->store;
    int failed = command_line_remember(context, operand, is_traces);
    context->store = NULL;
    if (!failed &&
        ((owner && buffer_printf(&context->sides_command, " --%s", owner)) ||
         command_line_append_operand(is_path ? *operand : given, side->run, &context->sides_command)))
        failed = error_no_memory(&context->error);
    context->given_store_path = given;
    return failed ? EXIT_NOT_DONE : EXIT_DONE;
}

int sides_open(struct context *context, const struct arguments *arguments)
{
    context->sides = array_new(arguments->operand_count + 1, sizeof *context->sides);
    if (!context->sides) {
        error_no_memory(&context->error);
        return EXIT_NOT_DONE;
    }
    int status = assign_sides(context, arguments);
    if (command_line_append_program(&context->sides_command) ||
        buffer_append_text(&context->sides_command, " compare --all")) {
        error_no_memory(&context->error);
        return EXIT_NOT_DONE;
    }
    for (size_t i = 0; status == EXIT_DONE && i < arguments->operand_count; i++) {
        struct analysis_side *side = &context->sides[i];
        char *operand = arguments->operands[i];
        context->side_count++;
        status = access(operand, F_OK)       ? open_run(context, side, operand)
                 : store_is_stamped(operand) ? open_side(context, side, operand)
                                             : make_side(context, side, &arguments->operands[i]);
        const struct option *owner = arguments->owners[i];
        if (status == EXIT_DONE)
            status = remember_side(context, side, &arguments->operands[i], owner ? owner->name : NULL);
    }
    if (context->side_count)
        context->store = context->sides[context->side_count - 1].store;
    return status;
}

void sides_close(struct context *context)
{
    for (size_t i = 0; i < context->side_count; i++) {
        if (context->store == context->sides[i].store)
            context->store = NULL;
        store_close(context->sides[i].store);
    }
    free(context->sides);
    buffer_release(&context->sides_command);
    context->sides = NULL;
    context->side_count = 0;
}
