/** `yaoki outbox check`: a health check for monitoring, by its exit code. Each check is one line. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { OutboxStats } from '../../outbox/diagnostics/stats.ts'
import type { Outbox } from '../../outbox/index.ts'
import { CANDIDATE_AFTER } from '../../outbox/store/decisions/poison.ts'
import type { OutboxStore } from '../../outbox/store/store.ts'
import { formatCount, formatDuration, joinList } from '../../text/format.ts'
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS, type DatabaseTarget, describeTarget } from '../database/database-target.ts'
import { integer, text } from '../option-tables.ts'
import { failed, formatCapped, type HealthCheck, passed, renderCheck } from './health/health-check.ts'
import { checkQueue, type QueueLimits } from './health/queue-checks.ts'
import { checkClock, checkPaused, checkRelays } from './health/relay-checks.ts'
import { checkWebhooks, readTroubledEndpoints, withoutTroubled } from './health/webhook-checks.ts'
import { type OpenOutbox, withOutbox } from './open-outbox.ts'
import { parseDuration } from './parse-time.ts'

export const check: Command = defineCommand({
	examples: [
		['yaoki outbox check', 'one line per check'],
		['yaoki outbox check --max-lag 30s --max-age 10m --min-relays 2', 'with other limits'],
		['yaoki outbox check --json --max-dead 10', 'for a program'],
	],
	options: {
		...DATABASE_OPTIONS,
		maxLag: text('5m', 'how late the oldest due message may be', { default: '5m' }),
		maxAge: text('1h', 'how long the oldest message may wait, retries included', { default: '1h' }),
		maxAttempts: integer('N', 'how many attempts a waiting message may have made', { default: 10, min: 0 }),
		maxFailing: integer('PERCENT', "percent of a destination's queue that may be failing; 100 disables it", {
			default: 50,
			min: 0,
			max: 100,
		}),
		maxBlocked: integer('N', 'how many messages of a destination may wait behind blocked keys', {
			default: 0,
			min: 0,
		}),
		maxDead: integer('N', 'how many dead letters are acceptable', { default: 0, min: 0 }),
		minRelays: integer('N', 'how many relays must run; default 1 while messages are pending', { min: 0 }),
		maxEndpointFailing: text('1d', 'how long an endpoint of webhooks may fail', { default: '1d' }),
		timeout: text('10s', 'how long the whole check may take; then the exit code is 5', { default: '10s' }),
		maxSkew: text('5s', 'allowed clock difference to the database, or set-back of its clock', {
			default: '5s',
		}),
	},
	async run(args, io) {
		const limits = {
			lagMs: parseDuration('--max-lag', args.maxLag),
			ageMs: parseDuration('--max-age', args.maxAge),
			attempts: args.maxAttempts,
			failingShare: args.maxFailing / 100,
			blocked: args.maxBlocked,
			skewMs: parseDuration('--max-skew', args.maxSkew),
			dead: args.maxDead,
			minRelays: args.minRelays,
			endpointFailingMs: parseDuration('--max-endpoint-failing', args.maxEndpointFailing),
		}
		const timeoutMs = parseDuration('--timeout', args.timeout)
		return withOutbox({ ...args, timeoutMs }, io, async (open) => {
			const checks = await checkHealth(open, limits, io.runtime)
			const ok = checks.every((one) => one.ok)
			io.result({ database: open.target.name, ok, checks }, () =>
				checks.map((one) => renderCheck(one, io.style)).join('\n'),
			)
			return ok ? 'ok' : 'checkFailed'
		})
	},
})

interface Limits extends QueueLimits {
	readonly skewMs: number
	readonly dead: number
	readonly minRelays: number | undefined
	readonly endpointFailingMs: number
}

async function checkHealth(
	{ outbox, store, target }: OpenOutbox,
	limits: Limits,
	runtime: Runtime,
): Promise<readonly HealthCheck[]> {
	const schema = await checkSchema(store, target)
	// All other checks need the tables.
	if (!schema.ok) return [schema]
	const before = runtime.wallNow()
	const stats = await outbox.stats()
	const after = runtime.wallNow()
	const troubled = await readTroubledEndpoints(store.endpoints)
	const others = withoutTroubled(stats, troubled)
	return [
		schema,
		checkClock(stats, before, after, limits.skewMs),
		...checkQueue(others, limits, target.flags),
		await checkDead(outbox, stats, limits.dead, target.flags),
		checkRelays(stats, limits.minRelays),
		checkPaused(others, target.flags),
		checkWebhooks(stats, troubled, limits.endpointFailingMs, target.flags),
		await checkPoison(outbox, target.flags),
	]
}

async function checkSchema(store: OutboxStore, target: DatabaseTarget): Promise<HealthCheck> {
	const found = await store.schemaVersion()
	const required = store.migrations.at(-1)?.version ?? 0
	if (found === required) return passed('schema', `tables have version ${found}`)
	const state = found === 0 ? `${describeTarget(target)} has no tables` : `tables have version ${found}`
	const action =
		found < required ? `run yaoki outbox migrate${target.flags}` : 'install the newer release that made them'
	return failed('schema', `${state}, this release needs version ${required}`, null, action)
}

async function checkDead(
	outbox: Outbox,
	{ totals: { dead }, now }: OutboxStats,
	limit: number,
	flags: string,
): Promise<HealthCheck> {
	const count = formatCapped(dead, 'dead letter')
	if (dead.count <= limit) return passed('dead', count)
	const [first] = await outbox.list({ status: 'dead' }, { limit: 1 })
	const diedAt = first?.endedAt?.getTime() ?? null
	const since = diedAt === null ? '' : `, the first ${formatDuration(now.getTime() - diedAt)} ago`
	return failed('dead', `${count}${since}`, diedAt, `their causes: yaoki outbox list --groups${flags}`)
}

/** Poison messages are old and therefore among the first; a health check must not read millions. */
const POISON_SCAN_LIMIT = 1000

async function checkPoison(outbox: Outbox, flags: string): Promise<HealthCheck> {
	const [pending, processing, { count: dead }] = await Promise.all([
		outbox.list({ status: 'pending' }, { limit: POISON_SCAN_LIMIT }),
		outbox.list({ status: 'processing' }, { limit: POISON_SCAN_LIMIT }),
		outbox.dead.count({ cause: 'crashed' }),
	])
	const suspects = [...pending, ...processing].filter(({ crashes }) => crashes >= CANDIDATE_AFTER)
	const ids = suspects.map(({ id }) => id)
	const parts = [
		...(ids.length > 0 ? [`relay processes crashed repeatedly with ${joinList(ids, 'and', 1)}`] : []),
		...(dead > 0 ? [`${formatCount(dead, 'dead letter')} crashed a relay process`] : []),
	]
	if (parts.length === 0) return passed('poison', 'no message crashed a relay process repeatedly')
	const [first] = suspects
	const command = first === undefined ? 'list --cause crashed' : `show ${first.id}`
	return failed(
		'poison',
		parts.join('; '),
		first?.createdAt.getTime() ?? null,
		`find out why before you replay it: yaoki outbox ${command}${flags}`,
	)
}
