#include "support/cmocka_all.h"

#include "format/telemetry.h"
#include "model/model.h"

#include <string.h>

/* 2026-11-26 10:11:12 UTC, by `date -u -d ... +%s`. */
#define SECOND INT64_C(1000000000)
#define MOMENT (INT64_C(1795687872) * SECOND)

/* Reads a date that is the whole text. */
static struct log_time whole(const char *text, int64_t modified_ns)
{
    struct log_time time;
    assert_int_equal(log_time_read((struct text){text, strlen(text)}, modified_ns, &time), strlen(text));
    return time;
}

static void forms(void **state)
{
    static const char *const of_moment[] = {"2026-11-26T10:11:12Z",
                                            "2026-11-26T10:11:12+00:00",
                                            "2026-11-26T10:11:12+0000",
                                            "2026-11-26 10:11:12 UTC",
                                            "2026-11-26T11:11:12+01:00",
                                            "2026-11-26T02:41:12-0730",
                                            "2026/11/26 10:11:12",
                                            "20261126   10:11:12",
                                            "Thu Nov 26 10:11:12 2026",
                                            "Thu Nov 26 10:11:12 UTC 2026",
                                            "Thu 26 Nov 2026 10:11:12 AM UTC",
                                            "Thu 2026-11-26 10:11:12 UTC",
                                            "1795687872"};
    for (size_t i = 0; i < sizeof of_moment / sizeof *of_moment; i++) {
        struct log_time time = whole(of_moment[i], TIME_UNKNOWN);
        assert_int_equal(time.at_ns, MOMENT);
        assert_int_equal(time.error_ns, SECOND);
        assert_int_equal(time.since_boot_ns, TIME_UNKNOWN);
    }
    assert_int_equal(whole("2026/11/26 10:11:12.345", TIME_UNKNOWN).at_ns, MOMENT + 345000000);
    assert_int_equal(whole("2026-11-26T10:11:12,345678+00:00", TIME_UNKNOWN).at_ns, MOMENT + 345678000);
    assert_int_equal(whole("2026-11-26T10:11:12,345678+00:00", TIME_UNKNOWN).error_ns, 1000);
    assert_int_equal(whole("1795687872.5", TIME_UNKNOWN).at_ns, MOMENT + SECOND / 2);
    assert_int_equal(whole("Thu 26 Nov 2026 10:11:12 PM UTC", TIME_UNKNOWN).at_ns,
                     MOMENT + 12 * 3600 * SECOND);
}

/* As `dmesg -T` and journalctl write it with LC_TIME of de_DE, fr_FR, es_ES, it_IT, pt_BR, nl_NL, sv_SE and
 * ja_JP. */
static void other_languages(void **state)
{
    static const char *const of_moment[] = {"Do Nov 26 10:11:12 2026",   "jeu. nov. 26 10:11:12 2026",
                                            "jue nov 26 10:11:12 2026",  "gio nov 26 10:11:12 2026",
                                            "qui nov 26 10:11:12 2026",  "do nov 26 10:11:12 2026",
                                            "tors nov 26 10:11:12 2026", "\u6728 11\u6708 26 10:11:12 2026"};
    static const struct {
        const char *text;
        int64_t days; /* from the moment on */
    } others[] = {{"Mo M\u00e4r  2 10:11:12 2026", -269}, {"mar. f\u00e9vr. 24 10:11:12 2026", -275},
                  {"Mo Okt 26 10:11:12 2026", -31},       {"Sa Dez 26 10:11:12 2026", 30},
                  {"ven. juin 26 10:11:12 2026", -153},   {"dim. juil. 26 10:11:12 2026", -123},
                  {"mi\u00e9 ago 26 10:11:12 2026", -92}, {"lun gen 26 10:11:12 2026", -304},
                  {"sam. d\u00e9c. 26 10:11:12 2026", 30}};
    for (size_t i = 0; i < sizeof of_moment / sizeof *of_moment; i++)
        assert_int_equal(whole(of_moment[i], TIME_UNKNOWN).at_ns, MOMENT);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(whole(others[i].text, TIME_UNKNOWN).at_ns, MOMENT + others[i].days * 86400 * SECOND);
    assert_int_equal(whole("Okt 26 10:11:12", MOMENT).at_ns, MOMENT - INT64_C(31) * 86400 * SECOND);
    assert_int_equal(whole("juil. 26 10:11:12", MOMENT).at_ns, MOMENT - INT64_C(123) * 86400 * SECOND);
}

/* Only a time without a zone is doubtful. */
static void zones(void **state)
{
    assert_true(whole("2026/11/26 10:11:12", TIME_UNKNOWN).is_local);
    assert_true(whole("Thu Nov 26 10:11:12 CET 2026", TIME_UNKNOWN).is_local);
    assert_false(whole("2026-11-26T10:11:12Z", TIME_UNKNOWN).is_local);
    assert_false(whole("1795687872", TIME_UNKNOWN).is_local);
    assert_false(whole("Thu Nov 26 10:11:12 UTC 2026", TIME_UNKNOWN).is_local);
}

/* The year is the latest in which the time is not after the file's last change, but for a day of zones. */
static void years(void **state)
{
    const int64_t hour = 3600 * SECOND, year = INT64_C(365) * 24 * hour;
    struct log_time time = whole("Nov 26 10:11:12", MOMENT + hour);
    assert_int_equal(time.at_ns, MOMENT);
    assert_true(time.is_of_year);
    assert_int_equal(whole("Nov 26 10:11:12.250", MOMENT - hour).at_ns, MOMENT + SECOND / 4);
    assert_int_equal(whole("Nov 26 10:11:12", MOMENT - 48 * hour).at_ns, MOMENT - year);
    assert_int_equal(whole("Nov 26 10:11:12", MOMENT + 40 * 24 * hour).at_ns, MOMENT);
    assert_int_equal(whole("Nov  6 10:11:12", MOMENT).at_ns, MOMENT - 20 * 24 * hour);
    assert_int_equal(whole("Nov 26 10:11:12", TIME_UNKNOWN).at_ns, TIME_UNKNOWN);
    /* 2024 is the last leap year before. */
    assert_int_equal(whole("Feb 29 00:00:00", MOMENT).at_ns, INT64_C(1709164800) * SECOND);
}

static void no_dates(void **state)
{
    static const char *const others[] = {"",
                                         "Nov",
                                         "Nov 26",
                                         "node017 kernel: x",
                                         "26",
                                         "2026-11-26",
                                         "2026-13",
                                         "12:11:10",
                                         "123456789",
                                         "0123456789",
                                         "99999999999",
                                         "Thu",
                                         "Thu Nov 26",
                                         "2026-11-26T10:11",
                                         "Xyz 26 10:11:12"};
    struct log_time time;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(log_time_read((struct text){others[i], strlen(others[i])}, MOMENT, &time), 0);
        assert_int_equal(time.at_ns, TIME_UNKNOWN);
    }
    /* A date that no calendar has, and one that no clock had. */
    assert_int_equal(whole("2026-13-26T10:11:12Z", MOMENT).at_ns, TIME_UNKNOWN);
    assert_int_equal(whole("2026-11-26T10:61:12Z", MOMENT).at_ns, TIME_UNKNOWN);
    assert_int_equal(whole("1026-11-26T10:11:12Z", MOMENT).at_ns, TIME_UNKNOWN);
}

static void names_of_files(void **state)
{
    assert_int_equal(log_time_of_path("/a/b/metrics.20261126-101112.prom"), MOMENT);
    assert_int_equal(log_time_of_path("ethtool_20261126T101112Z.txt"), MOMENT);
    assert_int_equal(log_time_of_path("rdma-1795687872.json"), MOMENT);
    assert_int_equal(log_time_of_path("2026-11-26T10:11:12.txt"), MOMENT);
    assert_int_equal(log_time_of_path("node017-20261126.txt"), TIME_UNKNOWN);
    assert_int_equal(log_time_of_path("20261126-101112/node.txt"), TIME_UNKNOWN);
    assert_int_equal(log_time_of_path("rank12.txt"), TIME_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms), cmocka_unit_test(other_languages), cmocka_unit_test(zones),
        cmocka_unit_test(years), cmocka_unit_test(no_dates),        cmocka_unit_test(names_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
