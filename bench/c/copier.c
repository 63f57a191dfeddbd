/* The floor: the least that a man in the middle can do. Two threads copy bytes, nothing is kept.
 *
 *   copier COMMAND [ARGS...]
 *
 * Its pipes to the command are as wide as the system allows without asking (1 MiB): it is meant to be hard to beat. */
#include "bench.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

struct way {
    int from, to;
};

static void *copy(void *argument) {
    struct way *way = argument;
    char *block = malloc(BLOCK);
    ssize_t got;
    while (block && (got = read_some(way->from, block, BLOCK)) > 0)
        if (write_all(way->to, block, (size_t)got)) break;
    close(way->from);
    close(way->to);
    return NULL;
}

int main(int count, char **words) {
    int down[2], up[2], status;
    pthread_t thread;
    if (count < 2) fail("expected a command");
    if (pipe2(up, O_CLOEXEC) || pipe2(down, O_CLOEXEC)) fail("no pipes");
    fcntl(up[1], F_SETPIPE_SZ, BLOCK);
    fcntl(down[1], F_SETPIPE_SZ, BLOCK);
    pid_t child = fork();
    if (!child) {
        dup2(up[0], 0);
        dup2(down[1], 1);
        execvp(words[1], words + 1);
        _exit(127);
    }
    if (child < 0) fail("cannot fork");
    close(up[0]);
    close(down[1]);
    signal(SIGPIPE, SIG_IGN);
    struct way to_agent = {0, up[1]}, to_client = {down[0], 1};
    if (pthread_create(&thread, NULL, copy, &to_agent)) fail("no thread");
    copy(&to_client);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
