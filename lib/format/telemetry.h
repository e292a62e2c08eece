#ifndef NCCLPROF_FORMAT_TELEMETRY_H
#define NCCLPROF_FORMAT_TELEMETRY_H

#include "base/base.h"
#include "format/internal.h"
#include "model/model.h"

#include <stddef.h>
#include <stdint.h>

struct format_sink;
struct input;
struct input_line;

/*
 * What the readers of operators' records share (kernel logs, nvidia-smi, DCGM, exporters, counters of
 * interfaces, py-spy): times of logs, names of metrics, places, and counters that become increases.
 */

/* -------------------- log_time.c -------------------- */

/* A time in a log. */
struct log_time {
    int64_t at_ns; /* UNIX time; TIME_UNKNOWN if the log gives only time since boot, or no year is known */
    int64_t since_boot_ns; /* TIME_UNKNOWN */
    int64_t error_ns;      /* how much later it may have been: one second where a log has whole seconds */
    int is_local;          /* no time zone stands there: taken as UTC */
    int is_of_year;        /* no year stands there: the latest one that is not after the file's last change */
};

/*
 * Reads a date and time at the beginning of a text, in one of these forms, and returns how many bytes it has;
 * 0 if there is none. With an offset ("+01:00", "Z", "UTC") or without, with a fraction after "." or ","
 * or without:
 *     2026-11-26T10:11:12, 2026-11-26 10:11:12, 2026/11/26 10:11:12
 *     20261126 10:11:12           nvidia-smi dmon -o DT
 *     Nov 26 10:11:12             syslog; `modified_ns` (TIME_UNKNOWN) then gives the year
 *     Thu Nov 26 10:11:12 2026    dmesg -T, date
 *     Do Okt 26 ..., jeu. oct. 26 ...    the same in other languages
 *     Thu Nov 26 10:11:12 UTC 2026, Thu 26 Nov 2026 10:11:12 AM UTC    date
 *     Thu 2026-11-26 10:11:12 UTC    journalctl -o short-full
 *     1795687872.123              UNIX time in seconds, from 2001 to 2286
 */
size_t log_time_read(struct text text, int64_t modified_ns, struct log_time *time);

/* The time in the name of a file, as 20261126-101112, 2026-11-26T10:11:12 or 1795687872; TIME_UNKNOWN. */
int64_t log_time_of_path(const char *path);

/* Reasons of notes about the times of a file, once per file. */
#define LOG_NOTE_LOCAL "local time without a time zone, taken as UTC"
#define LOG_NOTE_YEAR "time without a year: the latest one up to the file's last change"
#define LOG_NOTE_NO_TIME "no time is known"

/* -------------------- telemetry.c -------------------- */

/* The text without its first `bytes` bytes (as far as it has them); without spaces, tabs and carriage returns
 * at both ends. */
struct text text_skip(struct text text, size_t bytes);
struct text text_trim(struct text text);

/* Takes the part of a text up to `mark`, trimmed, and the mark; all of it if there is no mark. */
struct text text_part(struct text *text, char mark);

/* Takes the next word, up to a space or tab. */
struct text text_next(struct text *text);

/* Whether a text is the same as a word, in any case of letters. */
int text_is_like(struct text text, const char *word);

/*
 * A number as tools print it: "12", "1.5", "0x4", "98 %", "1980 MHz", "1,234". NaN for "N/A", "-", "NaN" and
 * whatever else is no finite number.
 */
double telemetry_number(struct text text);

/*
 * Whether the text begins as a PCI address, "3b:00.0", "0000:3B:00" or "00000000:3b:00.0", and the address
 * in lower case with eight digits of the domain and a function.
 */
enum { BUS_ID_BYTES = 24 };
int telemetry_bus_id(struct text text, char bus[BUS_ID_BYTES]);

/* The interface that the name of a file names, as "ethtool.eth0.txt" and "ethtool-S-eth0-1700000000". */
int telemetry_interface_of_path(const char *path, char name[64]);

/*
 * The host that the name of a file or else of its directory names, as "dmesg.node017.txt" and
 * "node017/dmesg": the first part between dots and underscores (without a word as "dmesg-" before it or
 * "-dmesg" after it) that has letters and digits and is neither a word that names what is in a file, with or
 * without a number ("gpu0", "run3"), nor a time or an interface. Of a directory it must end in a number.
 * Returns 0 if there is none.
 */
enum { HOST_BYTES = 256 };
int telemetry_host_of_path(const char *path, char host[HOST_BYTES]);

/* What a measurement is of. The texts are borrowed. */
struct measured {
    const char *host; /* NULL: the file does not say */
    enum node_place place;
    const char *device;
    enum node_metric metric;
    int64_t at_ns; /* TIME_UNKNOWN: it is counted in the ledger and not stored */
    int64_t error_ns;
    uint64_t offset;
};

/* The last value of a series, by host, place, device and metric. */
struct telemetry_series {
    struct measured of; /* its texts are NULL: they are in the key */
    double value;
};

/* Turns what a file says into events. */
struct telemetry {
    const struct format_sink *sink;
    int64_t modified_ns;   /* when the file was changed last; TIME_UNKNOWN */
    int64_t named_ns;      /* the time in the name of the file; TIME_UNKNOWN */
    char host[HOST_BYTES]; /* of what the file does not say otherwise; empty: unknown */
    struct intern keys;
    struct telemetry_series *series; /* owned */
    size_t capacity;
    struct buffer key;
    int has_told_local, has_told_year, has_told_too_many;
};

void telemetry_init(struct telemetry *telemetry, const struct format_sink *sink, const struct input *input);
void telemetry_release(struct telemetry *telemetry);

/*
 * Hands over an event of a node, with the host of the file if `event` has none. `offset` is that of its line.
 */
int telemetry_event(struct telemetry *telemetry, const struct node_event *event, uint64_t offset,
                    struct error *error);
int telemetry_fact(struct telemetry *telemetry, const struct node_fact *fact, uint64_t offset,
                   struct error *error);

/* Notes a value that the metric cannot have, which is not handed over. Gauges, totals and durations do it. */
int telemetry_impossible(struct telemetry *telemetry, const struct measured *of, double value,
                         struct error *error);

/* A value at that time. NaN is no value. */
int telemetry_gauge(struct telemetry *telemetry, const struct measured *of, double value,
                    struct error *error);

/*
 * Keeps a value as the last one of its series. Returns 1 if it is later than the one before, which is then in
 * *before (its time is TIME_UNKNOWN if there was none).
 */
int telemetry_follow(struct telemetry *telemetry, const struct measured *of, double value,
                     struct telemetry_series *before, struct error *error);

/*
 * The total of a counter since some start: hands over its increase since the value before. The first total of
 * a series, and one that is smaller than the one before (the counter was reset), are handed over as they are,
 * with begin_ns TIME_UNKNOWN, so that totals in several files give increases when they are loaded.
 */
int telemetry_total(struct telemetry *telemetry, const struct measured *of, double value,
                    struct error *error);

/*
 * The total of a duration in nanoseconds: hands over, as a gauge of the interval, which share of it the
 * increase is, at most 1. The first total and those after a reset as those of a counter.
 */
int telemetry_duration(struct telemetry *telemetry, const struct measured *of, double total_ns,
                       struct error *error);

/* Bits of the reasons why a GPU's clocks are lower: a gauge of 0 or 1 for each. */
int telemetry_throttle_bits(struct telemetry *telemetry, const struct measured *of, double bits,
                            struct error *error);

/* Facts of a GPU: index (COUNT_UNKNOWN), the others may be NULL. */
int telemetry_gpu(struct telemetry *telemetry, const char *host, int64_t index, const char *bus_id,
                  const char *uuid, const char *name, uint64_t offset, struct error *error);

/*
 * Whether a line has only a date, as `date` prints it, perhaps after "#": then *time is the time of what
 * follows. -1 to stop.
 */
int telemetry_is_date(struct telemetry *telemetry, struct text line, uint64_t offset, struct log_time *time,
                      struct error *error);

/*
 * The time of what a file says once, without a date in it: that in the name of the file, else that of its
 * last change.
 */
struct log_time telemetry_file_time(const struct telemetry *telemetry);

/* Notes, once per file, what is uncertain about a time that was read. */
int telemetry_doubt(struct telemetry *telemetry, const struct log_time *time, uint64_t offset,
                    struct error *error);

/* Notes a line. */
int telemetry_note(struct telemetry *telemetry, const char *reason, int damage, const struct input_line *line,
                   struct error *error);

/* The text of a line that is whole and has no NUL; otherwise notes it as unreadable and returns 0 (-1). */
int telemetry_line(struct telemetry *telemetry, const struct input_line *line, struct text *text,
                   struct error *error);

/* Reads all lines of an input: calls `take` for each. Returns -1 if it failed, or reading did. */
int telemetry_lines(struct input *input, void *context,
                    int (*take)(void *context, const struct input_line *line, struct error *error),
                    struct error *error);

#define TELEMETRY_NOTE_UNREADABLE "unreadable line"
#define TELEMETRY_NOTE_OTHER_METRIC "metric of no use here"

/* -------------------- kernel_message.c -------------------- */

/* What a message of the kernel is about. Texts are borrowed from the message. */
struct kernel_message {
    enum node_event_code code;
    enum node_place place;
    char device[64];  /* empty: the host as a whole */
    int64_t number;   /* COUNT_UNKNOWN */
    int64_t pid;      /* COUNT_UNKNOWN */
    char process[64]; /* empty: unknown */
    char uuid[64];    /* the driver says which UUID the GPU of `device` has; then no event */
};

/* Writes the first PCI address in a message, as telemetry_bus_id(); leaves `device` empty without one. */
void kernel_message_bus_id(struct text message, char device[64]);

/* Returns 1 for a message that says something of use, 0 for any other. */
int kernel_message_read(struct text message, struct kernel_message *said);

/* -------------------- metric_name.c -------------------- */

/* How a program's figure becomes a metric. */
enum metric_way {
    METRIC_VALUE,    /* a gauge: times `factor` */
    METRIC_TOTAL,    /* a total: times `factor` */
    METRIC_DURATION, /* a total of time: times `factor` it is nanoseconds, and becomes a share */
    METRIC_REASONS,  /* bits of reasons for lower clocks */
    METRIC_XID,      /* the last Xid of a GPU */
    METRIC_IDLE,     /* seconds of one mode of a core (node_cpu_seconds_total) */
    METRIC_CLOCK,    /* the time of the scrape itself */
};

struct metric_name {
    const char *name;
    enum node_place place;
    enum node_metric metric;
    enum metric_way way;
    double factor;
};

/* The programs and files that name metrics. */
enum metric_source {
    METRIC_OF_SMI,      /* columns of nvidia-smi --query-gpu */
    METRIC_OF_DMON,     /* columns of nvidia-smi dmon */
    METRIC_OF_DCGMI,    /* columns of dcgmi dmon */
    METRIC_OF_EXPORTER, /* DCGM's and the node's exporter */
    METRIC_OF_ETHTOOL,
    METRIC_OF_RDMA, /* also files of sysfs */
};

/* NULL for a name that is of no use. */
const struct metric_name *metric_of(enum metric_source source, struct text name);

/* -------------------- exporter.c -------------------- */

/* The labels of a series in Prometheus that say what it is of. Empty: absent. */
struct series_labels {
    char name[128];
    char host[HOST_BYTES];
    char instance[HOST_BYTES];
    int64_t gpu_index;
    char bus[BUS_ID_BYTES];
    char uuid[96];
    char model[96];
    char device[96];
    char port[32];
    char mode[32];
    char cpu[32];
};

void series_labels_begin(struct series_labels *labels);
void series_labels_add(struct series_labels *labels, struct text name, const char *value);

/* The host that the labels name; NULL. */
const char *series_labels_host(const struct series_labels *labels);

/* Writes the device at that place. Returns 0 if the labels name none, or one inside of the node. */
int series_labels_place(const struct series_labels *labels, enum node_place place, char device[160]);

/* Hands over what the labels say of a GPU, unless `told` has it. */
int series_tell_gpu(struct telemetry *telemetry, struct intern *told, const struct series_labels *labels,
                    const char *device, uint64_t offset, struct error *error);

/* Hands over a value of a series, as the way of its metric requires. */
int series_take(struct telemetry *telemetry, const struct metric_name *metric, const struct measured *of,
                double value, struct error *error);

#endif
