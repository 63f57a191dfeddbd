/* The client of the bench: starts a command, talks to the agent in it, and prints what it measured as JSON.
 *
 *   driver CASE COUNT SIZE HOLD_MS SETTLE_MS -- COMMAND...
 *
 *   session     the start and the end alone
 *   roundtrip   COUNT requests of SIZE bytes, one after the other
 *   stream      COUNT updates of SIZE bytes; nothing is read in the first HOLD_MS
 *   upload      COUNT notes of SIZE bytes, gathered into larger writes so that the client is not what is measured
 *
 * SETTLE_MS lie between the first answer and the case, for what a command still does in the background after its
 * start; with 0 there is no warming up either. Every frame is checked for its number and its size, and the command for
 * its exit code; whatever is wrong is said on stderr and makes the exit code 1. */
#include "bench.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define AGENT "bench-agent" /* left out where memory is summed up */
#define HEAD 192            /* of a line is kept: enough for number and stamp */

static int to_agent, from_agent;
static pid_t child;
static char *block;
static long tree_kb;

static void add_memory(pid_t pid) {
    char path[64], text[256], name[32] = "";
    long peak = 0;
    int below;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file) return;
    while (fgets(text, sizeof text, file)) {
        if (sscanf(text, "Name: %31s", name) != 1) (void)sscanf(text, "VmHWM: %ld", &peak);
    }
    fclose(file);
    if (strcmp(name, AGENT)) tree_kb += peak;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        snprintf(text, sizeof text, "%s/%.20s/children", path, task->d_name);
        if (task->d_name[0] == '.' || !(file = fopen(text, "r"))) continue;
        while (fscanf(file, "%d", &below) == 1) add_memory(below);
        fclose(file);
    }
    if (tasks) closedir(tasks);
}

static void start(char **command) {
    int up[2], down[2];
    if (pipe2(up, O_CLOEXEC) || pipe2(down, O_CLOEXEC)) fail("no pipes");
    child = fork();
    if (!child) {
        dup2(up[0], 0);
        dup2(down[1], 1);
        execvp(command[0], command);
        _exit(127);
    }
    if (child < 0) fail("cannot fork");
    close(up[0]);
    close(down[1]);
    to_agent = up[1];
    from_agent = down[0];
}

static void tell(const char *data, size_t size) {
    if (write_all(to_agent, data, size)) fail("the command reads no more");
}

static void expect(struct lines *from, const char *wanted) {
    size_t size;
    char *line = next_line(from, &size);
    if (!line) fail("the output of the command ended early");
    if (size != strlen(wanted) || memcmp(line, wanted, size)) fail("an answer is not the expected one");
}

/* End the input, take the rest of the output, wait for the command and all that it left behind. */
static void finish(void) {
    struct rusage usage;
    double cpu = 0, exit_us = 0;
    long peak = 0;
    int status, code = -1;
    pid_t pid;
    tree_kb = 0;
    add_memory(child);
    uint64_t closed = now_ns();
    close(to_agent);
    while (read_some(from_agent, block, BLOCK) > 0) {}
    while ((pid = wait4(-1, &status, 0, &usage)) > 0 || errno == EINTR) {
        if (pid < 0) continue;
        cpu += (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec;
        cpu += (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
        if (usage.ru_maxrss > peak) peak = usage.ru_maxrss;
        if (pid != child) continue;
        exit_us = (double)(now_ns() - closed) / 1e3;
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (code) fail("the command did not exit with 0");
    printf("\"exit_us\":%.1f,\"cpu_s\":%.6f,\"tree_kb\":%ld,\"process_kb\":%ld}\n", exit_us, cpu, tree_kb, peak);
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void report_times(uint64_t *times, long count) {
    qsort(times, (size_t)count, sizeof *times, ascending);
    printf("\"p50_us\":%.2f,\"p99_us\":%.2f,\"p999_us\":%.2f,\"max_us\":%.2f,", (double)times[count / 2] / 1e3,
           (double)times[count * 99 / 100] / 1e3, (double)times[count * 999 / 1000] / 1e3,
           (double)times[count - 1] / 1e3);
}

static void report_rate(long count, size_t size, uint64_t since) {
    double wall_s = (double)(now_ns() - since) / 1e9;
    printf("\"wall_s\":%.6f,\"frames_per_s\":%.1f,\"bytes_per_s\":%.0f,", wall_s, (double)count / wall_s,
           (double)count * (double)size / wall_s);
}

static void roundtrip(struct lines *from, uint64_t *times, long count, size_t size, long warming) {
    char *frame = malloc(size);
    pad(frame, (size_t)sprintf(frame, REQUEST, FIRST_ID), size, END);
    for (long i = -warming; i < count; i++) {
        uint64_t id = (uint64_t)(FIRST_ID + warming + i);
        size_t got;
        put_digits(frame + NUMBER_AT(REQUEST), 10, id);
        uint64_t asked = now_ns();
        tell(frame, size);
        char *line = next_line(from, &got);
        if (i >= 0) times[i] = now_ns() - asked;
        if (!line) fail("the output of the command ended early");
        if (got != size || get_digits(line + NUMBER_AT(RESPONSE), 10) != id) fail("a response is not the expected one");
    }
    report_times(times, count);
}

static void stream(uint64_t *times, long count, size_t size, long hold_ms) {
    char head[HEAD];
    size_t length = 0;
    long frames = 0, taken = 0;
    uint64_t held = now_ns() + (uint64_t)hold_ms * 1000000u;
    tell(PROMPT, strlen(PROMPT));
    if (hold_ms) usleep((useconds_t)hold_ms * 1000u);
    while (frames <= count) {
        ssize_t got = read_some(from_agent, block, BLOCK);
        uint64_t now = now_ns();
        if (got <= 0) fail("the output of the command ended early");
        for (char *at = block, *stop = block + got; at < stop;) {
            char *newline = memchr(at, '\n', (size_t)(stop - at));
            size_t part = (size_t)((newline ? newline + 1 : stop) - at);
            if (length < HEAD) memcpy(head + length, at, part < HEAD - length ? part : HEAD - length);
            length += part;
            at += part;
            if (!newline) break;
            if (frames < count) {
                if (length != size || get_digits(head + NUMBER_AT(UPDATE), 10) != (uint64_t)frames)
                    fail("an update is not the expected one");
                uint64_t written = get_digits(head + STAMP_AT, 20);
                times[frames] = now - written;
                taken += written < held;
            } else if (length != strlen(PROMPTED) || memcmp(head, PROMPTED, length)) {
                fail("the answer to the prompt is not the expected one");
            }
            frames++;
            length = 0;
        }
    }
    report_rate(count, size, held);
    report_times(times, count);
    printf("\"taken_bytes\":%.0f,", (double)taken * (double)size);
}

static void upload(struct lines *from, long count, size_t size) {
    size_t batch = size < 32768 ? 32768 / size : 1;
    char *frames = malloc(batch * size);
    for (size_t i = 0; i < batch; i++) {
        char *frame = frames + i * size;
        pad(frame, (size_t)sprintf(frame, NOTE, 0L), size, END);
    }
    uint64_t begun = now_ns();
    for (long i = 0; i < count;) {
        size_t ready = 0;
        for (; ready < batch && i < count; ready++, i++)
            put_digits(frames + ready * size + NUMBER_AT(NOTE), 10, (uint64_t)i);
        tell(frames, ready * size);
    }
    expect(from, PROMPTED);
    report_rate(count, size, begun);
}

int main(int words, char **word) {
    if (words < 8 || strcmp(word[6], "--")) fail("usage: driver CASE COUNT SIZE HOLD_MS SETTLE_MS -- COMMAND...");
    long count = atol(word[2]), hold_ms = atol(word[4]), settle_ms = atol(word[5]);
    size_t size = (size_t)atol(word[3]);
    if (count < 1 || size < MIN_SIZE) fail("expected at least one frame, of at least 256 bytes");
    prctl(PR_SET_CHILD_SUBREAPER, 1ul, 0ul, 0ul, 0ul);
    uint64_t begun = now_ns();
    start(word + 7);
    signal(SIGPIPE, SIG_IGN);
    struct lines from = {.fd = from_agent};
    tell(INITIALIZE, strlen(INITIALIZE));
    expect(&from, INITIALIZED);
    printf("{\"start_us\":%.1f,", (double)(now_ns() - begun) / 1e3);
    uint64_t *times = calloc((size_t)count, sizeof *times);
    if (!times || !(block = malloc(BLOCK))) fail("no memory");
    usleep((useconds_t)settle_ms * 1000u);
    if (!strcmp(word[1], "roundtrip")) roundtrip(&from, times, count, size, settle_ms ? count / 10 : 0);
    else if (!strcmp(word[1], "stream")) stream(times, count, size, hold_ms);
    else if (!strcmp(word[1], "upload")) upload(&from, count, size);
    else if (strcmp(word[1], "session")) fail("expected session, roundtrip, stream or upload");
    finish();
    return 0;
}
