/** `yaoki outbox check`: is all well? For a health check or a cron job, by its exit code. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from './target.ts'
import { readDuration } from './times.ts'

export const command: Command = defineCommand({
	name: 'outbox check',
	summary: 'checks that all is well; the exit code is 4 if it is not',
	examples: [
		{ run: 'yaoki outbox check', shows: 'a line for each check' },
		{ run: 'yaoki outbox check --max-lag 30s --max-dead 10 --quiet', shows: 'with limits of your own' },
	],
	options: {
		...DATABASE_OPTIONS,
		maxLag: { type: 'string', value: '5m', does: 'how long a message may be due', default: '5m' },
		maxDead: {
			type: 'integer',
			value: 'N',
			does: 'how many dead letters there may be',
			default: 0,
			least: 0,
		},
		maxSkew: {
			type: 'string',
			value: '5s',
			does: "how far this machine's clock may be from the database's",
			default: '5s',
		},
	},
	positionals: {},
	async run(asked, io) {
		const limits = {
			lagMs: readDuration('--max-lag', asked.maxLag),
			skewMs: readDuration('--max-skew', asked.maxSkew),
			dead: asked.maxDead,
		}
		const { withOutbox } = await import('./open.ts')
		const { checked, checksText } = await import('./checks.ts')
		return withOutbox(asked, io, async ({ outbox, store, target }) => {
			const checks = await checked(outbox, store, target, limits, io.runtime)
			const ok = checks.every((check) => check.ok)
			io.answer({ database: target.name, ok, checks }, () => checksText(checks, io.paint))
			return ok ? 'ok' : 'checkFailed'
		})
	},
})
