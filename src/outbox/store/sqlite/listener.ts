/**
 * Detects commits of other connections, in this process or others. SQLite has no notifications, but
 * `PRAGMA data_version` changes with each commit of another connection. Reading it takes microseconds and a
 * few bytes of shared memory: a hundred reads a second cost less than a thousandth of a core, hold no
 * snapshot open that would keep the log from being truncated, and work wherever SQLite does. Watching the log
 * file (`fs.watch`) would be some milliseconds faster, but it reports writes instead of commits, loses the
 * file when the last connection closes, and does not work on some file systems.
 *
 * Commits of other relays notify too. A claim that finds nothing writes only the time, at most once in 100
 * ms, so relays do not wake each other endlessly.
 */
import type { CancelTimer, Runtime } from '../../../core/runtime/runtime.ts'
import type { SqliteConnection } from '../../../sql/sqlite-connection.ts'

const POLL_MS = 10
const POLL_AFTER_ERROR_MS = 1_000
const VERSION = 'PRAGMA data_version'

/** Returns a function that stops polling. The timer does not keep the process alive. */
export function listen(
	connection: SqliteConnection,
	runtime: Runtime,
	onNotify: () => void,
	onError: (error: unknown) => void,
): () => void {
	let latest: number | undefined
	let timer: CancelTimer | undefined
	const poll = (): void => {
		let nextMs = POLL_MS
		let hasChanged = false
		try {
			const version = connection.number(VERSION)
			hasChanged = latest !== undefined && version !== latest
			latest = version
		} catch (error) {
			nextMs = POLL_AFTER_ERROR_MS
			onError(error)
		}
		timer = runtime.setTimer(nextMs, poll, 'housekeeping')
		if (hasChanged) onNotify()
	}
	poll()
	return () => timer?.()
}
