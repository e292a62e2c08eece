/*
 * Which findings of the command watch are new, changed, ended or withdrawn since the latest poll, and the
 * lines that report it. watch_files.c finds out when to poll and what diagnose finds.
 */
#include "base/base.h"
#include "report/report.h"
#include "report/watch.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * A finding has ended after this many steps without it (multiplied by its period), and at least one part in
 * twenty of all steps: the files of ranks and communicators do not grow at the same pace.
 */
enum { STEPS_WITHOUT = 3, PART_WITHOUT = 20 };

static void noted_release(struct finding_snapshot *snapshot)
{
    free(snapshot->run);
    free(snapshot->kind);
    free(snapshot->unit);
    free(snapshot->host);
    free(snapshot->gpu);
    free(snapshot->action);
    free(snapshot->because);
    free(snapshot->phase);
    free(snapshot->confidence);
    free(snapshot->text);
    free(snapshot->command);
}

void finding_snapshot_list_release(struct finding_snapshot_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        noted_release(&list->items[i]);
    free(list->items);
    *list = (struct finding_snapshot_list){.items = NULL};
}

static int copy_text(char **copy, const char *text)
{
    *copy = text ? strdup(text) : NULL;
    return text && !*copy ? -1 : 0;
}

int finding_snapshot_list_add(struct finding_snapshot_list *list, const struct finding_snapshot *snapshot)
{
    struct finding_snapshot copy = *snapshot;
    copy.host = copy.gpu = copy.action = copy.because = NULL;
    copy.run = copy.kind = copy.unit = copy.phase = copy.confidence = copy.text = copy.command = NULL;
    if (copy_text(&copy.run, snapshot->run) || copy_text(&copy.kind, snapshot->kind) ||
        copy_text(&copy.unit, snapshot->unit) || copy_text(&copy.host, snapshot->host) ||
        copy_text(&copy.gpu, snapshot->gpu) || copy_text(&copy.action, snapshot->action) ||
        copy_text(&copy.because, snapshot->because) || copy_text(&copy.phase, snapshot->phase) ||
        copy_text(&copy.confidence, snapshot->confidence) || copy_text(&copy.text, snapshot->text) ||
        copy_text(&copy.command, snapshot->command) ||
        array_reserve((void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        noted_release(&copy);
        return -1;
    }
    list->items[list->count++] = copy;
    return 0;
}

int finding_snapshot_list_append(struct finding_snapshot_list *list,
                                 const struct finding_snapshot_list *others)
{
    size_t before = list->count;
    for (size_t i = 0; i < others->count; i++)
        if (finding_snapshot_list_add(list, &others->items[i])) {
            while (list->count > before)
                noted_release(&list->items[--list->count]);
            return -1;
        }
    return 0;
}

static int is_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

/* Largest distance between two consecutive steps of a finding. */
static int64_t stride(const struct finding_snapshot *snapshot)
{
    return snapshot->period > 1 ? snapshot->period : 1;
}

static int meets(const struct finding_snapshot *one, const struct finding_snapshot *other)
{
    if (one->first_step < 0 || other->first_step < 0)
        return 1;
    return one->first_step <= other->last_step + stride(other) &&
           other->first_step <= one->last_step + stride(one);
}

int finding_snapshot_is_same(const struct finding_snapshot *one, const struct finding_snapshot *other)
{
    return is_text(one->run, other->run) && is_text(one->kind, other->kind) &&
           is_text(one->unit, other->unit) &&
           (!one->phase || !other->phase || is_text(one->phase, other->phase)) && meets(one, other);
}

/*
 * Number of steps between the last step of a finding and the newest step of the run. It is rarely 0, because
 * some ranks have not yet written their newest steps.
 */
static int64_t finding_snapshot_lag(const struct finding_snapshot *snapshot)
{
    return snapshot->run_step - snapshot->last_step;
}

/*
 * Whether the run has continued without the finding: its lag exceeds the smallest lag so far by three periods
 * of the finding and by a twentieth of all steps.
 */
static int finding_snapshot_is_over(const struct finding_snapshot *snapshot, int64_t least_lag)
{
    int64_t enough = STEPS_WITHOUT * stride(snapshot), part = snapshot->run_step / PART_WITHOUT;
    return snapshot->first_step >= 0 && !snapshot->stops_job &&
           finding_snapshot_lag(snapshot) > least_lag + (part > enough ? part : enough);
}

/*
 * The cost of a finding that continues grows with each step. It is reported again each time the cost has
 * grown by this factor.
 */
enum { REPORT_AGAIN_FACTOR = 2 };

/* Who is notified of changes. */
struct change_receiver {
    change_listener *listener; /* NULL: no one */
    void *context;
};

const char *change_name(enum change change)
{
    static const char *const names[] = {[CHANGE_NEW] = "new",
                                        [CHANGE_CHANGED] = "changed",
                                        [CHANGE_OVER] = "over",
                                        [CHANGE_WITHDRAWN] = "withdrawn"};
    return names[change];
}

void reported_findings_release(struct difference *difference)
{
    for (size_t i = 0; i < difference->count; i++)
        noted_release(&difference->told[i].finding_snapshot);
    free(difference->told);
    finding_snapshot_list_release(&difference->waiting);
    *difference = (struct difference){.told = NULL};
}

static int tell(const struct change_receiver *receiver, enum change change,
                const struct finding_snapshot *snapshot, struct error *error)
{
    return receiver->listener ? receiver->listener(receiver->context, change, snapshot, error) : 0;
}

static int add(struct difference *difference, const struct finding_snapshot *snapshot,
               const struct change_receiver *receiver, struct error *error)
{
    struct finding_snapshot_list copy = {.items = NULL};
    if (array_reserve((void **)&difference->told, &difference->capacity, difference->count + 1,
                      sizeof *difference->told) ||
        finding_snapshot_list_add(&copy, snapshot))
        return error_no_memory(error);
    struct reported_finding *added = &difference->told[difference->count++];
    *added = (struct reported_finding){.finding_snapshot = copy.items[0],
                                       .lost_ns = snapshot->lost_ns,
                                       .lag = finding_snapshot_lag(snapshot)};
    free(copy.items);
    /* Findings that are already known are not reported as ended later on, if they have ended by now. */
    added->is_over = !receiver->listener && finding_snapshot_is_over(snapshot, 0);
    if (added->is_over)
        added->lag = 0;
    return tell(receiver, CHANGE_NEW, snapshot, error);
}

static const struct finding_snapshot *find(const struct finding_snapshot_list *list,
                                           const struct finding_snapshot *wanted, const uint8_t *taken)
{
    for (size_t i = 0; i < list->count; i++)
        if (!(taken && taken[i]) && finding_snapshot_is_same(&list->items[i], wanted))
            return &list->items[i];
    return NULL;
}

/* Replaces the previous state by the latest one. */
static int renew(struct reported_finding *told, const struct finding_snapshot *snapshot, struct error *error)
{
    struct finding_snapshot_list copy = {.items = NULL};
    if (finding_snapshot_list_add(&copy, snapshot))
        return error_no_memory(error);
    noted_release(&told->finding_snapshot);
    told->finding_snapshot = copy.items[0];
    told->is_absent = 0;
    free(copy.items);
    return 0;
}

/* Whether a finding must be reported again, and as which change. */
static int has_changed(const struct reported_finding *told, const struct finding_snapshot *snapshot,
                       enum change *change)
{
    int is_over = finding_snapshot_is_over(snapshot, told->lag);
    *change = is_over && !told->is_over ? CHANGE_OVER : CHANGE_CHANGED;
    return is_over != told->is_over || strcmp(told->finding_snapshot.confidence, snapshot->confidence) != 0 ||
           (told->lost_ns > 0 && snapshot->lost_ns / REPORT_AGAIN_FACTOR >= told->lost_ns);
}

static int follow(struct reported_finding *told, const struct finding_snapshot *snapshot,
                  const struct change_receiver *receiver, struct error *error)
{
    enum change change;
    /* Fewer steps were detected than before: that is less information, and no change. */
    if (snapshot->run_step < told->finding_snapshot.run_step) {
        told->is_absent = 0;
        return 0;
    }
    int is_told = has_changed(told, snapshot, &change),
        is_over = finding_snapshot_is_over(snapshot, told->lag);
    if (renew(told, snapshot, error))
        return -1;
    if (finding_snapshot_lag(snapshot) < told->lag)
        told->lag = finding_snapshot_lag(snapshot);
    if (!is_told)
        return 0;
    told->lost_ns = snapshot->lost_ns;
    told->is_over = is_over;
    return tell(receiver, change, snapshot, error);
}

static int withdraw(struct difference *difference, size_t at, const struct change_receiver *receiver,
                    struct error *error)
{
    struct finding_snapshot snapshot = difference->told[at].finding_snapshot;
    memmove(&difference->told[at], &difference->told[at + 1],
            (--difference->count - at) * sizeof *difference->told);
    int failed = tell(receiver, CHANGE_WITHDRAWN, &snapshot, error);
    noted_release(&snapshot);
    return failed;
}

/*
 * Compares the findings that have been reported with the present ones. Sets `taken` for the present findings
 * that match one.
 */
static int follow_all(struct difference *difference, const struct finding_snapshot_list *now, uint8_t *taken,
                      const struct change_receiver *receiver, struct error *error)
{
    for (size_t i = 0; i < difference->count;) {
        const struct finding_snapshot *snapshot = find(now, &difference->told[i].finding_snapshot, taken);
        if (!snapshot && difference->told[i].is_absent) {
            if (withdraw(difference, i, receiver, error))
                return -1;
            continue;
        }
        if (!snapshot) {
            difference->told[i++].is_absent = 1;
            continue;
        }
        taken[snapshot - now->items] = 1;
        if (follow(&difference->told[i++], snapshot, receiver, error))
            return -1;
    }
    return 0;
}

static int is_doubtful(const struct finding_snapshot *snapshot)
{
    return snapshot->stops_job || strcmp(snapshot->confidence, "high") != 0;
}

static int add_rest(struct difference *difference, const struct finding_snapshot_list *now,
                    const uint8_t *taken, const struct change_receiver *receiver, struct error *error)
{
    struct finding_snapshot_list waiting = {.items = NULL};
    int failed = 0;
    for (size_t i = 0; !failed && i < now->count; i++) {
        const struct finding_snapshot *snapshot = &now->items[i];
        int waits =
            is_doubtful(snapshot) && receiver->listener && !find(&difference->waiting, snapshot, NULL);
        if (taken[i])
            continue;
        if (waits)
            failed = finding_snapshot_list_add(&waiting, snapshot) ? error_no_memory(error) : 0;
        else
            failed = add(difference, snapshot, receiver, error);
    }
    finding_snapshot_list_release(&difference->waiting);
    difference->waiting = waiting;
    return failed;
}

static int update(struct difference *difference, const struct finding_snapshot_list *now,
                  const struct change_receiver *receiver, struct error *error)
{
    uint8_t *taken = array_new(now->count + 1, sizeof *taken);
    if (!taken)
        return error_no_memory(error);
    int failed = follow_all(difference, now, taken, receiver, error) ||
                 add_rest(difference, now, taken, receiver, error);
    free(taken);
    return failed ? -1 : 0;
}

int reported_findings_begin(struct difference *difference, const struct finding_snapshot_list *now)
{
    const struct change_receiver nobody = {.listener = NULL};
    *difference = (struct difference){.told = NULL};
    return update(difference, now, &nobody, NULL);
}

int reported_findings_update(struct difference *difference, const struct finding_snapshot_list *now,
                             change_listener *listener, void *context, struct error *error)
{
    const struct change_receiver receiver = {listener, context};
    return update(difference, now, &receiver, error);
}

int reported_findings_confirm(struct difference *difference, change_listener *listener, void *context,
                              struct error *error)
{
    const struct change_receiver receiver = {listener, context};
    struct finding_snapshot_list waiting = difference->waiting;
    int failed = 0;
    difference->waiting = (struct finding_snapshot_list){.items = NULL};
    for (size_t i = 0; !failed && i < difference->count;)
        if (difference->told[i].is_absent)
            failed = withdraw(difference, i, &receiver, error);
        else
            i++;
    for (size_t i = 0; !failed && i < waiting.count; i++)
        failed = add(difference, &waiting.items[i], &receiver, error);
    finding_snapshot_list_release(&waiting);
    return failed ? -1 : 0;
}

enum { SECOND_NS = 1000 * 1000 * 1000 };

/* "2026-11-25T10:12:04Z" */
static int append_time(struct buffer *line, int64_t at_ns)
{
    char text[32];
    struct tm utc;
    time_t seconds = (time_t)(at_ns / SECOND_NS);
    if (!gmtime_r(&seconds, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return buffer_append_text(line, "-");
    return buffer_append_text(line, text);
}

static int append_escaped(struct buffer *line, const char *text)
{
    return escape_terminal(line, text, strlen(text));
}

/* What has ended needs no confirmation. */
static int append_command(enum change change, const struct finding_snapshot *snapshot, struct buffer *line)
{
    if (!snapshot->command || (change != CHANGE_NEW && change != CHANGE_CHANGED))
        return 0;
    return buffer_append_text(line, "; confirm with: ") || append_escaped(line, snapshot->command);
}

int change_line_text(enum change change, const struct finding_snapshot *snapshot, int64_t at_ns,
                     int names_run, struct buffer *line)
{
    return append_time(line, at_ns) ||
                   buffer_printf(line, " %s: ", change == CHANGE_OVER ? "ended" : change_name(change)) ||
                   (names_run && snapshot->run &&
                    (append_escaped(line, snapshot->run) || buffer_append_text(line, ": "))) ||
                   buffer_printf(line, "%s (%s confidence): ", snapshot->kind, snapshot->confidence) ||
                   append_escaped(line, snapshot->text) ||
                   (snapshot->because &&
                    (buffer_append_text(line, "; because: ") || append_escaped(line, snapshot->because))) ||
                   (snapshot->action &&
                    (buffer_append_text(line, "; action: ") || append_escaped(line, snapshot->action))) ||
                   append_command(change, snapshot, line) || buffer_append_byte(line, '\n')
               ? -1
               : 0;
}

static int append_step(struct buffer *line, const char *name, int64_t step)
{
    return step < 0 ? text_json_key(line, name) || buffer_append_text(line, "null")
                    : text_json_integer(line, name, step);
}

int change_line_json(enum change change, const struct finding_snapshot *snapshot, int64_t at_ns,
                     struct buffer *line)
{
    struct buffer time = BUFFER_INIT;
    int failed =
        append_time(&time, at_ns) || buffer_append_byte(line, '{') ||
        text_json_string(line, "time", time.data) || text_json_string(line, "change", change_name(change)) ||
        text_json_string(line, "run", snapshot->run) || text_json_string(line, "kind", snapshot->kind) ||
        text_json_string(line, "unit", snapshot->unit) || text_json_string(line, "host", snapshot->host) ||
        text_json_string(line, "gpu", snapshot->gpu) || text_json_string(line, "action", snapshot->action) ||
        text_json_string(line, "because", snapshot->because) ||
        text_json_string(line, "tag", snapshot->phase) ||
        text_json_string(line, "confidence", snapshot->confidence) ||
        append_step(line, "first_step", snapshot->first_step) ||
        append_step(line, "last_step", snapshot->last_step) || text_json_key(line, "lost_us") ||
        buffer_printf(line, "%.3f", (double)snapshot->lost_ns / 1e3) || text_json_key(line, "stopped") ||
        buffer_append_text(line, snapshot->stops_job ? "true" : "false") ||
        text_json_string(line, "text", snapshot->text) ||
        text_json_string(line, "confirm", snapshot->command) || buffer_append_text(line, "}\n");
    buffer_release(&time);
    return failed ? -1 : 0;
}
