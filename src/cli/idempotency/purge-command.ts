/** `idempotency purge` deletes keys whose retention is over. It runs as a cron job, so a long run says how far it is, and Ctrl-C ends it after a batch. */
import { formatCount } from '../../text/format.ts'
import { type Command, defineCommand } from '../command.ts'
import { IDEMPOTENCY_DATABASE_OPTIONS } from '../database/database-target.ts'
import { integer } from '../option-tables.ts'

/** How often a long run is reported. */
const NOTE_EVERY_MS = 5_000

export const purge: Command = defineCommand({
	examples: [
		['yaoki idempotency purge', 'for a cron job: delete keys whose retention is over'],
		['yaoki idempotency purge --batch-size 100', 'with shorter transactions'],
	],
	options: {
		...IDEMPOTENCY_DATABASE_OPTIONS,
		batchSize: integer('N', 'keys that one statement deletes', { min: 1, max: 100_000, default: 1_000 }),
	},
	async run(args, io) {
		const { withStore } = await import('./open-store.ts')
		return withStore(args, io, async (store, target) => {
			if (target.kind === 'redis') {
				io.result({ purged: 0, isComplete: true }, 'Redis deletes expired keys by itself.')
				return 'ok' as const
			}
			let purged = 0
			let notedAt = io.runtime.now()
			for (;;) {
				const count = await store.purge(args.batchSize)
				purged += count
				if (count < args.batchSize || io.signal.aborted) break
				if (io.runtime.now() - notedAt < NOTE_EVERY_MS) continue
				notedAt = io.runtime.now()
				io.note(`Deleted ${formatCount(purged, 'key')} so far.`)
			}
			const isComplete = !io.signal.aborted
			io.result(
				{ purged, isComplete },
				`Deleted ${formatCount(purged, 'expired key')}.${isComplete ? '' : ' There may be more.'}`,
			)
			return 'ok' as const
		})
	},
})
