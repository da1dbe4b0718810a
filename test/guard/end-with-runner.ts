/**
 * Ends a worker whose runner was killed. Without it, the worker would go on with its test file, and keep the servers that it has started.
 * SIGKILL, because vitest replaces `process.exit`; the guard ends the rest.
 */
const KEY = Symbol.for('yaoki.test.end-with-runner')
const shared = globalThis as { [KEY]?: true }

if (!shared[KEY] && process.send) {
	shared[KEY] = true
	process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
}
