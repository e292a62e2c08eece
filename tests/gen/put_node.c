/*
 * put_node STORE: adds records of nodes to a store, for tests of the causes of findings, without any file
 * format in between. Reads lines with tabs between the fields; "-" is an unknown text:
 *
 *     sample HOST PLACE DEVICE METRIC BEGIN_NS AT_NS VALUE     (BEGIN_NS "-": VALUE is a total)
 *     event HOST PLACE DEVICE CODE NUMBER AT_NS TEXT [PID PROCESS]
 *     fact HOST CORES GPU_INDEX GPU_BUS_ID GPU_UUID [BOOT_ID]
 */

#include "base/base.h"
#include "model/model.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 10 };

static struct {
    struct writer *writer;
    struct writer_file file;
} now;

static int full(void *context, struct batch **batch, struct error *error)
{
    int failed = writer_put(now.writer, &now.file, *batch, error);
    batch_clear(*batch);
    return failed;
}

static const char *text_of(const char *field)
{
    return strcmp(field, "-") == 0 ? NULL : field;
}

static enum node_place place_of(const char *word)
{
    for (int place = 0; place < NODE_PLACES; place++)
        if (strcmp(node_place_name((enum node_place)place), word) == 0)
            return (enum node_place)place;
    fprintf(stderr, "put_node: no place '%s'\n", word);
    exit(2);
}

static enum node_event_code code_of(const char *word)
{
    for (int code = 0; code < NODE_EVENT_COUNT; code++)
        if (strcmp(node_event_name((enum node_event_code)code), word) == 0)
            return (enum node_event_code)code;
    fprintf(stderr, "put_node: no message '%s'\n", word);
    exit(2);
}

static int64_t number_of(const char *field)
{
    return strtoll(field, NULL, 10);
}

static struct event read_event(char *fields[FIELDS])
{
    struct event event = {.origin = {.pid = COUNT_UNKNOWN, .rank = COUNT_UNKNOWN}};
    if (strcmp(fields[0], "sample") == 0) {
        event.kind = EVENT_NODE_SAMPLE;
        event.node_sample =
            (struct node_sample){.host = text_of(fields[1]),
                                 .place = place_of(fields[2]),
                                 .device = text_of(fields[3]),
                                 .metric = node_metric_of(fields[4]),
                                 .begin_ns = text_of(fields[5]) ? number_of(fields[5]) : TIME_UNKNOWN,
                                 .at_ns = number_of(fields[6]),
                                 .value = strtod(fields[7], NULL)};
    } else if (strcmp(fields[0], "event") == 0) {
        event.kind = EVENT_NODE_EVENT;
        event.node_event = (struct node_event){.host = text_of(fields[1]),
                                               .place = place_of(fields[2]),
                                               .device = text_of(fields[3]),
                                               .code = code_of(fields[4]),
                                               .number = number_of(fields[5]),
                                               .at_ns = number_of(fields[6]),
                                               .since_boot_ns = TIME_UNKNOWN,
                                               .pid = *fields[8] ? number_of(fields[8]) : COUNT_UNKNOWN,
                                               .process = *fields[9] ? fields[9] : NULL,
                                               .text = text_of(fields[7])};
    } else {
        event.kind = EVENT_NODE_FACT;
        event.node_fact = (struct node_fact){.host = text_of(fields[1]),
                                             .cores = number_of(fields[2]),
                                             .memory_bytes = COUNT_UNKNOWN,
                                             .monotonic_ns = TIME_UNKNOWN,
                                             .realtime_ns = TIME_UNKNOWN,
                                             .gpu_index = number_of(fields[3]),
                                             .gpu_bus_id = text_of(fields[4]),
                                             .gpu_uuid = text_of(fields[5]),
                                             .boot_id = *fields[6] ? fields[6] : NULL};
    }
    return event;
}

static int put_lines(struct intake *intake, struct error *error)
{
    char line[1024], *fields[FIELDS];
    while (fgets(line, sizeof line, stdin)) {
        char *at = line;
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < FIELDS; i++)
            fields[i] = at ? strsep(&at, "\t") : line + strlen(line);
        struct event event = read_event(fields);
        if (intake_event(intake, &event, error))
            return -1;
    }
    return intake_end(intake, error);
}

static int put_file(struct store *store, struct error *error)
{
    struct batch batch;
    struct intake intake;
    enum writer_outcome outcome;
    now.writer = writer_new(store, error);
    if (!now.writer)
        return -1;
    batch_init(&batch);
    intake_init(&intake, &batch, full, NULL);
    int failed = writer_begin(now.writer, &now.file, 0, 0, "/traces/node.jsonl", "/traces", error) ||
                 put_lines(&intake, error);
    const struct writer_facts facts = {
        .dialect = "node", .digest = "put_node", .events = intake.builder.events, .ledger = &intake.ledger};
    failed = failed || writer_finish(now.writer, &now.file, &facts, &outcome, error) ||
             writer_commit(now.writer, error);
    intake_release(&intake);
    batch_release(&batch);
    writer_free(now.writer);
    return failed;
}

int main(int count, char **words)
{
    struct error error = ERROR_INIT;
    struct store *store = count == 2 ? store_open(words[1], STORE_WRITE, &error) : NULL;
    int failed = !store || put_file(store, &error);
    if (failed)
        fprintf(stderr, "put_node: %s\n", error.depth ? error.cause[0] : "usage: put_node STORE");
    store_close(store);
    return failed != 0;
}
