#include "store_at_hand.h"

#include "format/format.h"
#include "input/input.h"
#include "join/join.h"
#include "store/intake.h"
#include "store/store.h"
#include "store/writer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/dev/shm/ncclprof-fuzz-XXXXXX/";

void require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static void remove_folder(void)
{
    struct dirent *entry;
    DIR *directory = opendir(folder);
    while (directory && (entry = readdir(directory)))
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(folder);
}

const char *folder_at_hand(void)
{
    static int is_made;
    if (!is_made) {
        size_t last = sizeof folder - 2;
        folder[last] = '\0';
        require(mkdtemp(folder) != NULL, "a folder");
        folder[last] = '/';
        atexit(remove_folder);
        is_made = 1;
    }
    return folder;
}

struct reading {
    struct intake intake;
    struct writer *writer;
    struct writer_file file;
};

static int put(void *context, struct batch **batch, struct error *error)
{
    struct reading *reading = context;
    int outcome = writer_put(reading->writer, &reading->file, *batch, error);
    batch_clear(*batch);
    return outcome;
}

static int event(void *context, const struct event *event, struct error *error)
{
    return intake_event(&((struct reading *)context)->intake, event, error);
}

static int note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error)
{
    return intake_note(&((struct reading *)context)->intake, reason, damage, offset, detail, detail_length,
                       error);
}

static void read_into(struct reading *reading, const struct format *format, struct input *input,
                      struct error *error)
{
    const struct format_sink sink = {reading, event, note};
    char dialect[64] = "", digest[33];
    enum writer_outcome outcome;
    format->read(input, &sink, dialect, sizeof dialect, error);
    require(!reading->intake.failed, "rows that the store takes");
    require(intake_end(&reading->intake, error) == 0, "rows that the store takes");
    input_digest(input, digest);
    const struct writer_facts facts = {.dialect = dialect,
                                       .digest = digest,
                                       .bytes = input_bytes_read(input),
                                       .unpacked_bytes = input_bytes_unpacked(input),
                                       .events = reading->intake.builder.events,
                                       .ledger = &reading->intake.ledger};
    require(writer_finish(reading->writer, &reading->file, &facts, &outcome, error) == 0, "a file that ends");
}

int ingest_at_hand(struct store *store, const char *path, struct error *error)
{
    const struct input_limits limits = {.unpacked_bytes = 1 << 20, .unpack_ratio = 1000};
    struct input *input = input_open(path, &limits, error);
    require(input != NULL, "an open file");
    const struct format *format = format_detect(input, error);
    if (!format) {
        input_close(input);
        return -1;
    }
    struct reading reading = {.writer = writer_new(store, error)};
    struct batch batch;
    batch_init(&batch);
    require(reading.writer != NULL, "a writer");
    intake_init(&reading.intake, &batch, put, &reading);
    require(writer_begin(reading.writer, &reading.file, 0, 0, path, folder, error) == 0,
            "a file that begins");
    read_into(&reading, format, input, error);
    require(writer_commit(reading.writer, error) == 0, "a commit");
    intake_release(&reading.intake);
    batch_release(&batch);
    writer_free(reading.writer);
    input_close(input);
    require(join_store(store, error) == 0, "a join");
    return 0;
}
