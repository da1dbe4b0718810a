/** `yaoki outbox check`: is all well? For a health check or a cron job, by its exit code. */
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from './target.ts'
import { readDuration } from './times.ts'

export const command: Command = defineCommand({
	examples: [
		{ command: 'yaoki outbox check', description: 'a line for each check' },
		{
			command: 'yaoki outbox check --max-lag 30s --max-dead 10 --quiet',
			description: 'with limits of your own',
		},
	],
	options: {
		...DATABASE_OPTIONS,
		maxLag: {
			type: 'string',
			placeholder: '5m',
			description: 'how long a message may be due',
			default: '5m',
		},
		maxDead: {
			type: 'integer',
			placeholder: 'N',
			description: 'how many dead letters there may be',
			default: 0,
			min: 0,
		},
		maxSkew: {
			type: 'string',
			placeholder: '5s',
			description: "how far this machine's clock may be from the database's",
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
			io.result({ database: target.name, ok, checks }, () => checksText(checks, io.style))
			return ok ? 'ok' : 'checkFailed'
		})
	},
})
