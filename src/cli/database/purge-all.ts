/** `purge` runs as a cron job: a long run says how far it is, and Ctrl-C ends it after a batch. */
import { formatCount } from '../../text/format.ts'
import type { CommandIo } from '../io.ts'

const NOTE_EVERY_MS = 5_000

/** Deletes batches until one is not full. `noun` is what is deleted, such as `key`. */
export async function purgeAll(
	io: CommandIo,
	noun: string,
	batchSize: number,
	purge: (limit: number) => number | Promise<number>,
): Promise<void> {
	let purged = 0
	let notedAt = io.runtime.now()
	for (;;) {
		const count = await purge(batchSize)
		purged += count
		if (count < batchSize || io.signal.aborted) break
		if (io.runtime.now() - notedAt < NOTE_EVERY_MS) continue
		notedAt = io.runtime.now()
		io.note(`Deleted ${formatCount(purged, noun)} so far.`)
	}
	const isComplete = !io.signal.aborted
	io.result(
		{ purged, isComplete },
		`Deleted ${formatCount(purged, `expired ${noun}`)}.${isComplete ? '' : ' There may be more.'}`,
	)
}
