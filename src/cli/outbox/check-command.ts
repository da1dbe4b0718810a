/** `yaoki outbox check`: a health check for monitoring, by its exit code. Each check is one line, so that a failed one can be read in a log. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { OutboxStats } from '../../outbox/diagnostics/stats.ts'
import type { Outbox } from '../../outbox/index.ts'
import type { Store } from '../../outbox/store/store.ts'
import { formatCount, formatDuration, joinList } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import type { Style } from '../../text/style.ts'
import { type Command, defineCommand } from '../command.ts'
import { integer, text } from '../option-tables.ts'
import { DATABASE_OPTIONS, type DatabaseTarget, describeTarget } from './database-target.ts'
import type { OpenOutbox } from './open-outbox.ts'
import { parseDuration } from './parse-time.ts'
import { pausedDestinations, pauseReason } from './render-status.ts'

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
	async run(args, io) {
		const limits = {
			lagMs: parseDuration('--max-lag', args.maxLag),
			skewMs: parseDuration('--max-skew', args.maxSkew),
			dead: args.maxDead,
		}
		const { withOutbox } = await import('./open-outbox.ts')
		return withOutbox(args, io, async (open) => {
			const checks = await checkHealth(open, limits, io.runtime)
			const ok = checks.every((one) => one.ok)
			io.result({ database: open.target.name, ok, checks }, () =>
				checks.map((one) => renderCheck(one, io.style)).join('\n'),
			)
			return ok ? 'ok' : 'checkFailed'
		})
	},
})

export interface HealthCheck {
	readonly name: 'schema' | 'clock' | 'lag' | 'dead' | 'relays' | 'paused' | 'poison'
	readonly ok: boolean
	readonly message: string
}

async function checkHealth(
	{ outbox, store, target }: OpenOutbox,
	limits: { readonly lagMs: number; readonly skewMs: number; readonly dead: number },
	runtime: Runtime,
): Promise<readonly HealthCheck[]> {
	const schema = await checkSchema(store, target)
	// All other checks need the tables.
	if (!schema.ok) return [schema]
	const before = runtime.wallNow()
	const stats = await outbox.stats()
	const after = runtime.wallNow()
	return [
		schema,
		checkClock(stats.now.getTime(), before, after, limits.skewMs),
		checkLag(stats, limits.lagMs),
		checkDead(stats, limits.dead),
		checkRelays(stats),
		checkPaused(stats),
		await checkPoison(outbox),
	]
}

async function checkSchema(store: Store, target: DatabaseTarget): Promise<HealthCheck> {
	const found = await store.schemaVersion()
	const required = store.migrations.at(-1)?.version ?? 0
	if (found === required) return { name: 'schema', ok: true, message: `tables have version ${found}` }
	const state = found === 0 ? `${describeTarget(target)} has no tables` : `tables have version ${found}`
	const action =
		found < required ? `run yaoki outbox migrate${target.flags}` : 'install the newer release that made them'
	return { name: 'schema', ok: false, message: `${state}, this release needs version ${required}; ${action}` }
}

/** The database read its time between `before` and `after`; a difference within that range cannot be detected. */
function checkClock(databaseTime: number, before: number, after: number, limit: number): HealthCheck {
	const skew = Math.max(0, before - databaseTime, databaseTime - after)
	const message =
		skew === 0
			? 'the clocks of this machine and the database agree'
			: `the clocks of this machine and the database differ by ${formatDuration(skew)}`
	return { name: 'clock', ok: skew <= limit, message }
}

function checkLag({ totals: { oldestLagMs } }: OutboxStats, limit: number): HealthCheck {
	const message =
		oldestLagMs === null ? 'no message is due' : `oldest due message is ${formatDuration(oldestLagMs)} late`
	return { name: 'lag', ok: (oldestLagMs ?? 0) <= limit, message }
}

function checkDead({ totals: { dead } }: OutboxStats, limit: number): HealthCheck {
	const count = formatCount(dead.count, 'dead letter')
	return { name: 'dead', ok: dead.count <= limit, message: dead.isCapped ? `at least ${count}` : count }
}

/** Messages without a relay cause no error anywhere, so only a check finds them. */
function checkRelays({ destinations, relays }: OutboxStats): HealthCheck {
	const served = new Set(relays.flatMap((relay) => relay.destinations))
	const unserved = destinations
		.filter(({ due, destination }) => due.count > 0 && !served.has(destination) && !served.has('*'))
		.map(({ destination }) => destination)
	const running = formatCount(relays.length, 'running relay')
	if (unserved.length === 0) return { name: 'relays', ok: true, message: running }
	const message = `${running}, none for the due messages of ${joinList(unserved)}`
	return { name: 'relays', ok: false, message }
}

function checkPaused(stats: OutboxStats): HealthCheck {
	const paused = pausedDestinations(stats).map((circuit) => {
		const { destination, state, pausedForMs } = circuit
		const forTime = pausedForMs === Infinity ? ' until resumed' : ` for ${formatDuration(pausedForMs)}`
		const reason = pauseReason(circuit) ?? `circuit ${state}`
		return `${destination} (${reason}${pausedForMs > 0 ? forTime : ''})`
	})
	if (paused.length === 0) return { name: 'paused', ok: true, message: 'no destination is paused' }
	return { name: 'paused', ok: false, message: `paused: ${paused.join(', ')}` }
}

/** Poison messages are old and therefore among the first; a health check must not read millions. */
const POISON_SCAN_LIMIT = 1000
/** One crash may be a restart. From two on, relays isolate the message because it may be the cause. */
const POISON_CRASHES = 2

async function checkPoison(outbox: Outbox): Promise<HealthCheck> {
	const [pending, processing, { count: dead }] = await Promise.all([
		outbox.list({ status: 'pending' }, { limit: POISON_SCAN_LIMIT }),
		outbox.list({ status: 'processing' }, { limit: POISON_SCAN_LIMIT }),
		outbox.dead.count({ cause: 'crashed' }),
	])
	const ids = [...pending, ...processing]
		.filter(({ crashes }) => crashes >= POISON_CRASHES)
		.map(({ id }) => id)
	const parts = [
		...(ids.length > 0 ? [`relay processes crashed repeatedly with ${joinList(ids, 'and', 1)}`] : []),
		...(dead > 0 ? [`${formatCount(dead, 'dead letter')} crashed a relay process`] : []),
	]
	const message = parts.join('; ') || 'no message crashed a relay process repeatedly'
	return { name: 'poison', ok: parts.length === 0, message }
}

const renderCheck = ({ name, ok, message }: HealthCheck, style: Style): string =>
	`${ok ? style.green('ok    ') : style.red('failed')}  ${name.padEnd(6)}  ${sanitizeLine(message)}`
