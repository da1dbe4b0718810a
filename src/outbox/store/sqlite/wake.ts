/**
 * Hearing of other connections' commits, of this process or of others. SQLite has no bell, but it counts: `PRAGMA data_version` is another
 * number after each commit of somebody else. Asking takes some microseconds and reads a few bytes of memory that the processes share,
 * so asking a hundred times a second costs less than a thousandth of a core, leaves no snapshot open that would keep the log
 * from being cut, and works wherever SQLite does. Watching the log's file (`fs.watch`) would be quicker to tell by some milliseconds; but it tells
 * of writes and not of commits, loses the file when the last connection closes, and is deaf on some file systems.
 *
 * Every commit rings, those of other relays as well; a claim that then finds nothing writes nothing, so that it rings nobody in turn.
 */
import type { CancelTimer, Runtime } from '../../../core/runtime/runtime.ts'
import type { Connection } from './connection.ts'

const LOOK_EVERY_MS = 10
/** After an error. */
const LOOK_AGAIN_MS = 1_000
const VERSION = 'PRAGMA data_version'

/** Answers how to stop. Its timer lets the process end. */
export function listen(
	connection: Connection,
	runtime: Runtime,
	onRing: () => void,
	onError: (error: unknown) => void,
): () => void {
	// Nobody else can write to it.
	if (connection.isPrivate) return () => undefined
	let latest: number | undefined
	let timer: CancelTimer | undefined
	const look = (): void => {
		let nextMs = LOOK_EVERY_MS
		let isNew = false
		try {
			const version = connection.number(VERSION)
			isNew = latest !== undefined && version !== latest
			latest = version
		} catch (error) {
			nextMs = LOOK_AGAIN_MS
			onError(error)
		}
		timer = runtime.setTimer(nextMs, look, 'housekeeping')
		if (isNew) onRing()
	}
	look()
	return () => timer?.()
}
