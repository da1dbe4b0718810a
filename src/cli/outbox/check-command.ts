/** `yaoki outbox check`: a health check for monitoring, by its exit code. */
import { type Command, defineCommand } from '../command.ts'
import { integer, text } from '../option-tables.ts'
import { DATABASE_OPTIONS } from './database-target.ts'
import { checkHealth, renderHealth } from './health-checks.ts'
import { parseDuration } from './parse-time.ts'

export const check: Command = defineCommand({
	examples: [
		['yaoki outbox check', 'one line per check'],
		['yaoki outbox check --max-lag 30s --max-dead 10 --quiet', 'with other limits'],
	],
	options: {
		...DATABASE_OPTIONS,
		maxLag: text('5m', 'how late the oldest due message may be', { default: '5m' }),
		maxDead: integer('N', 'how many dead letters are acceptable', { default: 0, min: 0 }),
		maxSkew: text('5s', 'how much the clocks of this machine and the database may differ', { default: '5s' }),
	},
	positionals: {},
	async run(args, io) {
		const limits = {
			lagMs: parseDuration('--max-lag', args.maxLag),
			skewMs: parseDuration('--max-skew', args.maxSkew),
			dead: args.maxDead,
		}
		const { withOutbox } = await import('./open-outbox.ts')
		return withOutbox(args, io, async ({ outbox, store, target }) => {
			const checks = await checkHealth(outbox, store, target, limits, io.runtime)
			const ok = checks.every((one) => one.ok)
			io.result({ database: target.name, ok, checks }, () => renderHealth(checks, io.style))
			return ok ? 'ok' : 'checkFailed'
		})
	},
})
