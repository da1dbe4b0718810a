/** What is looked at to say that an outbox is well. Each is one line, so that the one that failed can be read in a log. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { OutboxStats } from '../../outbox/diagnostics/stats.ts'
import type { Outbox } from '../../outbox/index.ts'
import type { Store } from '../../outbox/store/store.ts'
import { formatDuration, formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import type { Style } from '../../text/style.ts'
import { counted } from './status-text.ts'
import type { Target } from './target.ts'
import { placeOf } from './trouble.ts'

export interface Check {
	readonly name: 'schema' | 'clock' | 'lag' | 'dead' | 'relays' | 'held' | 'suspects'
	readonly ok: boolean
	readonly told: string
}

export interface Limits {
	readonly lagMs: number
	readonly skewMs: number
	readonly dead: number
}

/** Suspects are old, so they are among the first; and nobody waits for a check that reads millions. */
const LOOKED_AT = 1000

export async function checked(
	outbox: Outbox,
	store: Store,
	target: Target,
	limits: Limits,
	runtime: Runtime,
): Promise<readonly Check[]> {
	const schema = await schemaCheck(store, target)
	// Without its tables nothing else can be asked.
	if (!schema.ok) return [schema]
	const askedAt = runtime.wallNow()
	const stats = await outbox.stats()
	const heardAt = runtime.wallNow()
	return [
		schema,
		clockCheck(stats.now.getTime(), askedAt, heardAt, limits.skewMs),
		lagCheck(stats, limits.lagMs),
		deadCheck(stats, limits.dead),
		relayCheck(stats),
		heldCheck(stats),
		await suspectCheck(outbox),
	]
}

async function schemaCheck(store: Store, target: Target): Promise<Check> {
	const found = await store.schemaVersion()
	const needed = store.migrations.at(-1)?.version ?? 0
	if (found === needed) return { name: 'schema', ok: true, told: `the tables are of version ${found}` }
	const what = found === 0 ? `${placeOf(target)} has no tables` : `the tables are of version ${found}`
	const next =
		found < needed ? `run yaoki outbox migrate${target.flags}` : 'install the newer release that made them'
	return { name: 'schema', ok: false, told: `${what}, and this release needs ${needed}; ${next}` }
}

/** The database's time was read somewhere between asking and hearing: within that it can not be told from a right one. */
function clockCheck(there: number, askedAt: number, heardAt: number, limit: number): Check {
	const away = Math.max(0, askedAt - there, there - heardAt)
	const told =
		away === 0
			? "this machine's clock and the database's agree"
			: `the clocks are ${formatDuration(away)} apart`
	return { name: 'clock', ok: away <= limit, told }
}

function lagCheck({ totals: { oldestLagMs } }: OutboxStats, limit: number): Check {
	const told =
		oldestLagMs === null ? 'nothing is due' : `the oldest message is due for ${formatDuration(oldestLagMs)}`
	return { name: 'lag', ok: (oldestLagMs ?? 0) <= limit, told }
}

function deadCheck({ totals: { dead } }: OutboxStats, limit: number): Check {
	const told =
		dead.count === 0 ? 'no dead letters' : `${counted(dead)} dead ${dead.count === 1 ? 'letter' : 'letters'}`
	return { name: 'dead', ok: dead.count <= limit, told }
}

/** A message that nobody is there to send is the failure that makes no noise. */
function relayCheck({ destinations, relays }: OutboxStats): Check {
	const served = new Set(relays.flatMap((relay) => relay.destinations))
	const alone = destinations
		.filter(({ due, destination }) => due.count > 0 && !served.has(destination) && !served.has('*'))
		.map(({ destination }) => destination)
	const running = `${formatNumber(relays.length)} ${relays.length === 1 ? 'relay is' : 'relays are'} running`
	if (alone.length === 0) return { name: 'relays', ok: true, told: running }
	return { name: 'relays', ok: false, told: `${running}, and none sends what is due for ${alone.join(', ')}` }
}

function heldCheck({ gates }: OutboxStats): Check {
	const held = gates
		.filter(({ state, pausedForMs }) => state !== 'closed' || pausedForMs > 0)
		.map(({ destination, state, pausedForMs, reason }) => {
			const until = pausedForMs > 0 ? ` for ${formatDuration(pausedForMs)}` : ''
			return `${destination} (${reason ?? `breaker ${state}`}${until})`
		})
	if (held.length === 0) return { name: 'held', ok: true, told: 'no destination is held back' }
	return { name: 'held', ok: false, told: `held back: ${held.join(', ')}` }
}

/** Once may be a restart. From twice on relays try a message alone, for it may be what kills them. */
const SUSPECT_AFTER = 2

async function suspectCheck(outbox: Outbox): Promise<Check> {
	const [pending, processing, { count: buried }] = await Promise.all([
		outbox.list({ status: 'pending' }, { limit: LOOKED_AT }),
		outbox.list({ status: 'processing' }, { limit: LOOKED_AT }),
		outbox.dead.count({ cause: 'crashed' }),
	])
	const [first, ...more] = [...pending, ...processing].filter(({ crashes }) => crashes >= SUSPECT_AFTER)
	const graves =
		buried === 0
			? ''
			: `${formatNumber(buried)} dead ${buried === 1 ? 'letter' : 'letters'} killed their process`
	if (!first)
		return {
			name: 'suspects',
			ok: buried === 0,
			told: graves || 'no message is suspected to kill its process',
		}
	const others = more.length === 0 ? '' : ` and ${formatNumber(more.length)} more`
	const told = `processes died with ${first.id}${others}${graves && `; ${graves}`}`
	return { name: 'suspects', ok: false, told }
}

export function checksText(checks: readonly Check[], paint: Style): string {
	return checks
		.map(({ name, ok, told }) => {
			const mark = ok ? paint.green('ok    ') : paint.red('failed')
			return `${mark}  ${name.padEnd(8)}  ${sanitizeLine(told)}`
		})
		.join('\n')
}
