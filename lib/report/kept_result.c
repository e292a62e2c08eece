/*
 * Results of analyses that are kept in the store (store.h), so that the same question is answered at once.
 *
 * What is kept is the result before filters, sorting and rendering, packed value by value. Only the build
 * that packed it reads it. The store may come from somewhere else, so that nothing in it is trusted: a packed
 * result that is damaged, or has bytes that a terminal would obey, is as if it were absent.
 */
#include "base/base.h"
#include "diagnose/diagnose.h"
#include "model/model.h"
#include "report/internal.h"
#include "report/report.h"
#include "report/stalls.h"
#include "report/verdicts.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

/* -------------------- the question -------------------- */

static int put_text(struct buffer *to, const char *text)
{
    return text ? buffer_printf(to, "%zu:", strlen(text)) || buffer_append_text(to, text) ||
                      buffer_append_byte(to, '\n')
                : buffer_append_text(to, "-\n");
}

/* Filters change only what is shown, except where the analysis reads them. */
static int put_filters(const struct analysis *analysis, const struct analysis_request *request,
                       struct buffer *question)
{
    if (!analysis->reads_filters || !analysis->reads_filters(request))
        return 0;
    int failed = put_text(question, request->colour ? "colour" : NULL);
    for (size_t i = 0; !failed && i < FILTER_OPTIONS; i++)
        failed = put_text(question, request->filter ? request->values[analysis->option_count + i] : NULL);
    return failed;
}

/* The commands that a result suggests name the store. */
static int put_command(const struct store *store, struct buffer *question)
{
    struct buffer command = BUFFER_INIT;
    int failed = store_append_command(store, "", 1, &command) || put_text(question, command.data);
    buffer_release(&command);
    return failed;
}

static int put_question(const struct analysis *analysis, const struct analysis_request *request,
                        struct buffer *question)
{
    int failed = put_text(question, analysis->name) || put_text(question, option_rules_off_text()) ||
                 put_command(request->store, question);
    for (size_t i = 0; !failed && i < analysis->option_count; i++)
        failed = put_text(question, request->values[i]);
    return failed || put_filters(analysis, request, question);
}

/* -------------------- packing -------------------- */

static enum colour (*const colours[])(const char *text) = {NULL, confidence_colour, stalls_verdict_colour};

enum { COLOURS = sizeof colours / sizeof *colours };

static int pack_bytes(struct buffer *to, const char *bytes, size_t length)
{
    return varint_put(to, length) || (length && buffer_append(to, bytes, length));
}

/* A text that may be NULL. */
static int pack_text(struct buffer *to, const char *text)
{
    return varint_put(to, text != NULL) || (text && pack_bytes(to, text, strlen(text)));
}

static int pack_column(struct buffer *to, const struct column *column)
{
    size_t colour = 0;
    while (colour < COLOURS && colours[colour] != column->colour_of)
        colour++;
    return colour == COLOURS || pack_text(to, column->name) || varint_put(to, column->type) ||
           pack_text(to, column->unit) || pack_text(to, column->description) ||
           varint_put_signed(to, column->decimals) || varint_put(to, column->hidden != 0) ||
           varint_put(to, column->detail != 0) || varint_put(to, column->is_asked_for != 0) ||
           varint_put(to, colour);
}

static int pack_cell(struct buffer *to, const struct cell *cell)
{
    if (cell->type == CELL_JSON || varint_put(to, cell->type))
        return -1;
    if (cell->type == CELL_INTEGER)
        return varint_put_signed(to, cell->integer);
    if (cell->type == CELL_REAL)
        return buffer_append(to, &cell->real, sizeof cell->real);
    return cell->type == CELL_NULL ? 0 : pack_bytes(to, cell->text, strlen(cell->text));
}

static int pack_table(struct buffer *to, const struct table *table)
{
    int failed = pack_text(to, table->legend) || varint_put(to, table->is_of_one_run != 0) ||
                 varint_put(to, table->column_count);
    for (size_t i = 0; !failed && i < table->column_count; i++)
        failed = pack_column(to, &table->columns[i]);
    failed = failed || varint_put(to, table->warning_count);
    for (size_t i = 0; !failed && i < table->warning_count; i++)
        failed = pack_text(to, table->warnings[i]) || varint_put(to, table->command_begins[i]);
    failed = failed || varint_put(to, table->row_count);
    for (size_t i = 0; !failed && i < table->row_count * table->column_count; i++)
        failed = pack_cell(to, &table->cells[i]);
    return failed;
}

static int pack_drawing(struct buffer *to, const struct drawing *drawing)
{
    int failed = varint_put(to, drawing->count) || varint_put(to, drawing->as_svg != 0);
    for (size_t i = 0; !failed && i < drawing->count; i++)
        failed = pack_text(to, drawing->columns[i]);
    return failed;
}

static int pack(struct buffer *to, const struct analysis_result *result)
{
    return pack_drawing(to, &result->drawing) || pack_bytes(to, result->text.data, result->text.length) ||
           pack_bytes(to, result->json.data, result->json.length) || varint_put(to, result->alarm != 0) ||
           varint_put(to, result->undecided != 0) || varint_put(to, result->unjudged != 0) ||
           pack_table(to, &result->table);
}

/* -------------------- unpacking -------------------- */

/* All functions return -1 if the bytes are no packed result, or memory is out. */
struct packed {
    const unsigned char *at;
    const unsigned char *end;
};

/* A number up to and including `most`. */
static int take_number(struct packed *packed, uint64_t most, uint64_t *value)
{
    return varint_get(&packed->at, packed->end, value) || *value > most ? -1 : 0;
}

static int take_signed(struct packed *packed, int64_t *value)
{
    uint64_t folded;
    if (take_number(packed, UINT64_MAX, &folded))
        return -1;
    *value = (int64_t)(folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0));
    return 0;
}

static int take_flag(struct packed *packed, int *flag)
{
    uint64_t value;
    if (take_number(packed, 1, &value))
        return -1;
    *flag = (int)value;
    return 0;
}

static int take_bytes(struct packed *packed, const char **bytes, size_t *length)
{
    uint64_t value;
    if (take_number(packed, (uint64_t)(packed->end - packed->at), &value) ||
        value > (uint64_t)(packed->end - packed->at))
        return -1;
    *bytes = (const char *)packed->at;
    *length = (size_t)value;
    packed->at += value;
    return 0;
}

/* A text that the caller frees, or NULL. */
static int take_text(struct packed *packed, char **text)
{
    const char *bytes;
    size_t length;
    int is_there;
    *text = NULL;
    if (take_flag(packed, &is_there))
        return -1;
    if (!is_there)
        return 0;
    if (take_bytes(packed, &bytes, &length) || memchr(bytes, '\0', length))
        return -1;
    *text = strndup(bytes, length);
    return *text ? 0 : -1;
}

/* The same as a text that lives as long as the table. */
static int take_kept(struct packed *packed, struct table *table, const char **kept)
{
    char *text;
    if (take_text(packed, &text))
        return -1;
    *kept = text ? table_keep_text(table, text) : NULL;
    int failed = text && !*kept;
    free(text);
    return failed ? -1 : 0;
}

/* The length of a sequence that sets a colour on a terminal, as text.c writes it; 0: none is there. */
static size_t colour_length(const char *text, size_t length)
{
    size_t at = 2;
    if (length < 3 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (at < length && (text[at] == ';' || (text[at] >= '0' && text[at] <= '9')))
        at++;
    return at < length && text[at] == 'm' ? at + 1 : 0;
}

/* What a result is written as: JSON, or text for people with marks of lines, and perhaps with colours. */
enum shown_as { AS_JSON, AS_TEXT, AS_COLOURED };

/* Whether a text has no control characters but those that belong to it. */
static int is_harmless(const char *text, size_t length, enum shown_as as)
{
    for (size_t at = 0; at < length; at++) {
        unsigned char byte = (unsigned char)text[at];
        size_t colour = as == AS_COLOURED ? colour_length(text + at, length - at) : 0;
        if (colour)
            at += colour - 1;
        else if ((byte < 0x20 && byte != '\n' && (as == AS_JSON || byte != *UNBROKEN_LINE)) || byte == 0x7f ||
                 (byte == 0xc2 && at + 1 < length && (unsigned char)text[at + 1] < 0xa0))
            return 0;
    }
    return 1;
}

static int take_shown(struct packed *packed, enum shown_as as, struct buffer *shown)
{
    const char *bytes;
    size_t length;
    return take_bytes(packed, &bytes, &length) || !is_harmless(bytes, length, as) ||
                   (length && buffer_append(shown, bytes, length))
               ? -1
               : 0;
}

static int take_column(struct packed *packed, struct table *table)
{
    struct column column = {.name = NULL};
    uint64_t type, colour;
    int64_t decimals;
    if (take_kept(packed, table, &column.name) || !column.name || take_number(packed, CELL_TEXT, &type) ||
        take_kept(packed, table, &column.unit) || take_kept(packed, table, &column.description) ||
        take_signed(packed, &decimals) || take_flag(packed, &column.hidden) ||
        take_flag(packed, &column.detail) || take_flag(packed, &column.is_asked_for) ||
        take_number(packed, COLOURS - 1, &colour))
        return -1;
    column.type = (enum cell_type)type;
    column.decimals = (int)decimals;
    column.colour_of = colours[colour];
    return table_add_column(table, column, NULL);
}

static int take_warning(struct packed *packed, struct table *table)
{
    char *text;
    uint64_t command = 0;
    int failed = take_text(packed, &text) || !text || take_number(packed, strlen(text), &command) ||
                 table_add_warning(table, NULL, "%s", text);
    free(text);
    if (!failed)
        table->command_begins[table->warning_count - 1] = (size_t)command;
    return failed ? -1 : 0;
}

static int take_real(struct packed *packed, double *real)
{
    if ((size_t)(packed->end - packed->at) < sizeof *real)
        return -1;
    memcpy(real, packed->at, sizeof *real);
    packed->at += sizeof *real;
    return 0;
}

static int take_cell_text(struct packed *packed, size_t column, struct table *table)
{
    const char *bytes;
    size_t length;
    if (take_bytes(packed, &bytes, &length) || memchr(bytes, '\0', length))
        return -1;
    char *text = strndup(bytes, length);
    int failed = !text || table_set_text(table, column, text, NULL);
    free(text);
    return failed ? -1 : 0;
}

static int take_cell(struct packed *packed, struct table *table, size_t column)
{
    uint64_t type;
    int64_t integer;
    double real;
    if (take_number(packed, CELL_TEXT, &type))
        return -1;
    switch ((enum cell_type)type) {
    case CELL_NULL:
        return 0;
    case CELL_INTEGER:
        if (take_signed(packed, &integer))
            return -1;
        table_set_integer(table, column, integer);
        return 0;
    case CELL_REAL:
        if (take_real(packed, &real))
            return -1;
        table_set_real(table, column, real);
        return 0;
    default:
        return take_cell_text(packed, column, table);
    }
}

static int take_rows(struct packed *packed, struct table *table)
{
    uint64_t rows;
    /* A cell takes a byte at least. */
    if (take_number(packed, (uint64_t)(packed->end - packed->at), &rows) || (rows && !table->column_count))
        return -1;
    for (uint64_t row = 0; row < rows; row++) {
        if (table_add_row(table, NULL))
            return -1;
        for (size_t column = 0; column < table->column_count; column++)
            if (take_cell(packed, table, column))
                return -1;
    }
    return 0;
}

static int take_table(struct packed *packed, struct table *table)
{
    uint64_t count;
    int is_of_one_run;
    if (take_kept(packed, table, &table->legend) || take_flag(packed, &is_of_one_run) ||
        take_number(packed, (uint64_t)(packed->end - packed->at), &count))
        return -1;
    for (uint64_t i = 0; i < count; i++)
        if (take_column(packed, table))
            return -1;
    if (take_number(packed, (uint64_t)(packed->end - packed->at), &count))
        return -1;
    for (uint64_t i = 0; i < count; i++)
        if (take_warning(packed, table))
            return -1;
    /* Set last, because it changes what a warning is. */
    table->is_of_one_run = is_of_one_run;
    return take_rows(packed, table);
}

static int take_drawing(struct packed *packed, struct drawing *drawing, struct table *table)
{
    uint64_t count;
    if (take_number(packed, DRAWN_MOST, &count) || take_flag(packed, &drawing->as_svg))
        return -1;
    for (uint64_t i = 0; i < count; i++)
        if (take_kept(packed, table, &drawing->columns[i]) || !drawing->columns[i])
            return -1;
    drawing->count = (size_t)count;
    return 0;
}

static int unpack(const struct buffer *from, enum shown_as as, struct analysis_result *result)
{
    struct packed packed = {.at = (const unsigned char *)from->data};
    packed.end = packed.at + from->length;
    return take_drawing(&packed, &result->drawing, &result->table) ||
                   take_shown(&packed, as, &result->text) || take_shown(&packed, AS_JSON, &result->json) ||
                   take_flag(&packed, &result->alarm) || take_flag(&packed, &result->undecided) ||
                   take_flag(&packed, &result->unjudged) || take_table(&packed, &result->table) ||
                   packed.at != packed.end
               ? -1
               : 0;
}

/* -------------------- kept results -------------------- */

static void empty(struct analysis_result *result)
{
    const char *command = result->table.command;
    table_release(&result->table);
    buffer_release(&result->text);
    buffer_release(&result->json);
    *result = (struct analysis_result){.text = BUFFER_INIT, .json = BUFFER_INIT};
    table_init(&result->table, command);
}

/* A result that follows from a run of an earlier state of the store is not kept. */
static void join_shared(struct kept_result *kept, struct shared_run *shared)
{
    kept->shared = shared;
    kept->was_loaded = shared && shared->is_loaded;
    if (kept->was_loaded && kept->state != shared->state)
        kept->state = STATE_UNKNOWN;
}

int kept_result_find(struct kept_result *kept, const struct analysis *analysis,
                     const struct analysis_request *request, struct analysis_result *result)
{
    struct buffer packed = BUFFER_INIT;
    *kept = (struct kept_result){.state = STATE_UNKNOWN};
    if (!analysis->is_kept || put_question(analysis, request, &kept->question))
        return 0;
    int found = kept_find(request->store, kept->question.data, &packed, &kept->state) &&
                unpack(&packed, request->colour ? AS_COLOURED : AS_TEXT, result) == 0;
    join_shared(kept, request->shared);
    buffer_release(&packed);
    if (!found)
        empty(result);
    return found;
}

void kept_result_take(struct kept_result *kept, const struct analysis_result *result)
{
    if (kept->shared && !kept->was_loaded)
        kept->shared->state = kept->state;
    if (kept->state != STATE_UNKNOWN && !result->wrote_output && pack(&kept->packed, result))
        buffer_clear(&kept->packed);
}

int64_t kept_result_save(const struct kept_result *kept, struct store *store)
{
    int64_t state = kept->packed.length ? kept_add(store, kept->question.data, &kept->packed, kept->state)
                                        : STATE_UNKNOWN;
    if (kept->shared && state != STATE_UNKNOWN)
        kept->shared->state = state;
    return state;
}

void kept_result_release(struct kept_result *kept)
{
    buffer_release(&kept->question);
    buffer_release(&kept->packed);
}

/* -------------------- what users ask after a diagnosis -------------------- */

extern const struct analysis analysis_stragglers;
extern const struct analysis analysis_stalls;
extern const struct analysis analysis_steps;

enum { MOST_OPTIONS = 24 };

/* A request with the defaults of an analysis. */
static struct analysis_request usual_request(const struct analysis *analysis,
                                             const struct analysis_request *like, const char **values)
{
    for (size_t i = 0; i < MOST_OPTIONS; i++)
        values[i] = i < analysis->option_count ? analysis->options[i].fallback : NULL;
    return (struct analysis_request){
        .store = like->store, .shared = like->shared, .colour = like->colour, .values = values};
}

/*
 * Returns -1 if the result cannot be computed, so that nothing else is tried. `anew`: also if one is kept
 * already.
 */
static int add_next(const struct analysis *analysis, const struct analysis_request *request, int anew)
{
    struct analysis_result result = {.text = BUFFER_INIT, .json = BUFFER_INIT};
    struct kept_result kept;
    int failed = 0, usage = 0;
    table_init(&result.table, analysis->name);
    int found = kept_result_find(&kept, analysis, request, &result);
    if (found && anew) {
        empty(&result);
        found = 0;
    }
    if (!found && kept.state != STATE_UNKNOWN) {
        failed = analysis->run(request, &result, &usage, NULL);
        if (!failed) {
            kept_result_take(&kept, &result);
            kept_result_save(&kept, request->store);
        }
    }
    kept_result_release(&kept);
    table_release(&result.table);
    buffer_release(&result.text);
    buffer_release(&result.json);
    return failed;
}

static int add_usual(const struct analysis *analysis, const struct analysis_request *like, int anew)
{
    const char *values[MOST_OPTIONS];
    const struct analysis_request request = usual_request(analysis, like, values);
    return add_next(analysis, &request, anew);
}

/* Sets the option of that name to `value`. Returns whether the analysis, or a filter, has it. */
static int set_option(const struct analysis *analysis, const char **values, const char *name,
                      const char *value)
{
    for (size_t i = 0; i < analysis->option_count + FILTER_OPTIONS; i++) {
        const struct analysis_option *option =
            i < analysis->option_count ? &analysis->options[i] : &filter_options[i - analysis->option_count];
        if (strcmp(option->name, name) == 0) {
            values[i] = option->argument ? value : "1";
            return 1;
        }
    }
    return 0;
}

/* Splits "steps --by rank --all --step 4-8" in place, and sets the options. Returns whether it is of
 * `analysis`. */
static int set_options(const struct analysis *analysis, const char **values, char *words)
{
    char *rest;
    char *word = strtok_r(words, " ", &rest);
    int is_known = word && strcmp(word, analysis->name) == 0;
    while (is_known && (word = strtok_r(NULL, " ", &rest))) {
        char *value = rest + strspn(rest, " ");
        is_known = strncmp(word, "--", 2) == 0;
        if (is_known && *value && strncmp(value, "--", 2) != 0)
            value = strtok_r(NULL, " ", &rest);
        is_known = is_known && set_option(analysis, values, word + 2, value);
    }
    return is_known;
}

/* The command that diagnose suggests to confirm a finding, if it is of this analysis. */
static int add_suggested(const struct analysis *analysis, const struct analysis_request *like,
                         const struct finding *finding)
{
    struct filter filter = {.ranks = NULL};
    struct buffer words = BUFFER_INIT;
    const char *values[MOST_OPTIONS];
    struct analysis_request request = usual_request(analysis, like, values);
    request.filter = &filter;
    int failed = finding_append_words(finding, &like->shared->run.job, &words);
    if (!failed && set_options(analysis, values, words.data))
        failed =
            filter_read(&filter, values + analysis->option_count, NULL) || add_next(analysis, &request, 0);
    filter_release(&filter);
    buffer_release(&words);
    return failed;
}

/* A row for each of more steps would be too large to keep. */
enum { MOST_STEPS = 1 << 14 };

/* As many of the findings that diagnose shows first. */
enum { MOST_SUGGESTED = 3 };

/* Whether the run was diagnosed as these analyses do, and is the only one. */
static int is_usual(const struct analysis_request *request)
{
    struct diagnose_options usual;
    struct runs runs;
    struct table notes;
    const char *no_run[] = {NULL};
    const struct analysis_request all = {.store = request->store, .values = no_run};
    if (!request->shared || request->shared->state == STATE_UNKNOWN ||
        diagnose_options_usual(&usual, request->store, MEMORY_MIB, NULL) ||
        !shared_run_has(request->shared, &usual))
        return 0;
    table_init(&notes, "diagnose");
    int is_only = runs_choose(&runs, &all, 0, &notes, NULL) == 0;
    if (is_only) {
        is_only = runs.count == 1;
        runs_release(&runs);
    }
    table_release(&notes);
    return is_only;
}

void kept_results_add_next(const struct analysis_request *request)
{
    /* Before the diagnosis, stragglers has no verdict on a large run. */
    if (!is_usual(request) || add_usual(&analysis_stragglers, request, 1))
        return;
    if (request->shared->run.job.step_count <= MOST_STEPS && add_usual(&analysis_steps, request, 0))
        return;
    const struct findings *findings = &request->shared->run.findings;
    for (size_t i = 0; i < findings->count && i < MOST_SUGGESTED; i++)
        if (finding_is_reported(&findings->items[i]) &&
            (add_suggested(&analysis_steps, request, &findings->items[i]) ||
             add_suggested(&analysis_stalls, request, &findings->items[i])))
            return;
}
