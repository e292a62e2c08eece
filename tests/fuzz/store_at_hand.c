#include "store_at_hand.h"

#include "base/base.h"
#include "format/format.h"
#include "ingest/internal.h"
#include "input/input.h"
#include "join/join.h"
#include "require.h"
#include "store/store.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/dev/shm/ncclprof-fuzz-XXXXXX/";

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

struct made_file {
    struct batch batch;
    struct intake intake;
    struct writer *writer;
    struct writer_file file;
};

static int put(void *context, struct batch **batch, struct error *error)
{
    struct made_file *file = context;
    int outcome = writer_put(file->writer, &file->file, *batch, error);
    batch_clear(*batch);
    return outcome;
}

static int event(void *context, const struct event *event, struct error *error)
{
    return intake_event(&((struct made_file *)context)->intake, event, error);
}

static int note(void *context, const char *reason, int damage, uint64_t offset, const char *detail,
                size_t detail_length, struct error *error)
{
    return intake_note(&((struct made_file *)context)->intake, reason, damage, offset, detail, detail_length,
                       error);
}

struct made_file *begin_at_hand(struct store *store, const char *path)
{
    struct error error = ERROR_INIT;
    struct made_file *file = calloc(1, sizeof *file);
    require(file != NULL, "memory");
    file->writer = writer_new(store, &error);
    require(file->writer != NULL, "a writer");
    batch_init(&file->batch);
    intake_init(&file->intake, &file->batch, put, file);
    require(writer_begin(file->writer, &file->file, 0, 0, path, folder, &error) == 0, "a file that begins");
    return file;
}

void put_at_hand(struct made_file *file, const struct event *given)
{
    struct error error = ERROR_INIT;
    require(event(file, given, &error) == 0, "an event that the store takes");
}

static void finish(struct made_file *file, const struct writer_facts *facts)
{
    struct error error = ERROR_INIT;
    enum writer_outcome outcome;
    require(writer_finish(file->writer, &file->file, facts, &outcome, &error) == 0, "a file that ends");
    require(writer_commit(file->writer, &error) == 0, "a commit");
    intake_release(&file->intake);
    batch_release(&file->batch);
    writer_free(file->writer);
    free(file);
}

void end_at_hand(struct made_file *file, const char *dialect)
{
    struct error error = ERROR_INIT;
    static unsigned number;
    char digest[33];
    snprintf(digest, sizeof digest, "%032x", number++);
    require(intake_end(&file->intake, &error) == 0, "rows that the store takes");
    finish(file, &(struct writer_facts){.dialect = dialect,
                                        .digest = digest,
                                        .events = file->intake.builder.events,
                                        .ledger = &file->intake.ledger});
}

static void read_into(struct made_file *file, const struct format *format, struct input *input)
{
    struct error error = ERROR_INIT;
    const struct format_sink sink = {file, event, note};
    char dialect[64] = "", digest[33];
    ingest_read(format, input, input_path(input), NULL, NULL, &sink, dialect, sizeof dialect, &error);
    require(!file->intake.failed, "rows that the store takes");
    require(intake_end(&file->intake, &error) == 0, "rows that the store takes");
    input_digest(input, digest);
    finish(file, &(struct writer_facts){.dialect = dialect,
                                        .digest = digest,
                                        .bytes = input_bytes_read(input),
                                        .unpacked_bytes = input_bytes_unpacked(input),
                                        .events = file->intake.builder.events,
                                        .ledger = &file->intake.ledger});
}

int ingest_at_hand(struct store *store, const char *path, struct error *error)
{
    const struct input_limits limits = {.unpacked_bytes = 1 << 20, .unpack_ratio = 1000};
    struct input *input = input_open(path, &limits, error);
    require(input != NULL, "an open file");
    const struct format *format = format_detect(input, error);
    if (format)
        read_into(begin_at_hand(store, path), format, input);
    input_close(input);
    if (!format)
        return -1;
    require(join_store(store, 1, error) == 0, "a join");
    return 0;
}
