/*
 * Preloaded into redis-server, it shifts the time of day by as many seconds as the file named by SEAWALL_CLOCK
 * holds, a 64-bit integer, and follows the file while the server runs. Monotonic clocks stay as they are. It asks
 * the kernel itself: what looks up the real functions, as libfaketime does, may hang in a server whose allocator
 * reads the clock while it starts.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift;

__attribute__((constructor)) static void open_shift(void) {
	const char *path = getenv("SEAWALL_CLOCK");
	int fd = path ? open(path, O_RDONLY) : -1;
	if (fd < 0) return;
	void *p = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p != MAP_FAILED) shift = p;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
	int failed = (int)syscall(SYS_clock_gettime, id, ts);
	if (!failed && shift && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) ts->tv_sec += *shift;
	return failed;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
	struct timespec ts;
	(void)tz;
	if (clock_gettime(CLOCK_REALTIME, &ts)) return -1;
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec ts;
	if (clock_gettime(CLOCK_REALTIME, &ts)) return -1;
	if (t) *t = ts.tv_sec;
	return ts.tv_sec;
}
