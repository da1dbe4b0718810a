/** Checks of relays, pauses and the clock. */
import { serves } from '../../../outbox/diagnostics/relays.ts'
import type { DestinationStats, OutboxStats } from '../../../outbox/diagnostics/stats.ts'
import { describeOpenReason } from '../../../outbox/diagnostics/why.ts'
import { formatCount, formatDuration, joinList } from '../../../text/format.ts'
import { failed, formatCapped, type HealthCheck, passed } from './health-check.ts'

/** Names in a message; a list of a hundred is not read. */
const MAX_NAMES = 5

const countPending = ({ due, scheduled, inFlight }: DestinationStats): number =>
	due.count + scheduled.count + inFlight.count

/** Messages without a relay cause no error anywhere. By default one is needed while some are pending. */
export function checkRelays(stats: OutboxStats, minRelays: number | undefined): HealthCheck {
	const { relays, endedRelays, now } = stats
	const pending = stats.destinations.filter((one) => countPending(one) > 0)
	const running = formatCount(relays.length, 'running relay')
	const required = minRelays ?? (pending.length > 0 ? 1 : 0)
	const lastSeen = endedRelays.reduce((latest, { seenAt }) => Math.max(latest, seenAt.getTime()), 0)
	const ended =
		endedRelays.length === 0
			? ''
			: `, ${formatCount(endedRelays.length, 'relay')} ended without stopping ${formatDuration(now.getTime() - lastSeen)} ago`
	const oldest = Math.max(0, ...pending.map(({ oldestAgeMs }) => oldestAgeMs ?? 0))
	const since = lastSeen > 0 ? lastSeen : now.getTime() - oldest
	if (relays.length < required) {
		const { due, scheduled, inFlight } = stats.totals
		const messages = {
			count: due.count + scheduled.count + inFlight.count,
			isCapped: due.isCapped || scheduled.isCapped,
		}
		return failed(
			'relays',
			`${running}, ${required} required: ${formatCapped(messages, 'message')} pending${oldest > 0 ? `, the oldest for ${formatDuration(oldest)}` : ''}${ended}`,
			since,
			'start a relay, or restart the one that ended',
		)
	}
	const unserved = pending
		.filter(({ destination }) => !relays.some((relay) => serves(relay, destination)))
		.map(({ destination }) => destination)
	if (unserved.length === 0 || minRelays === 0) return passed('relays', `${running}${ended}`)
	return failed(
		'relays',
		`${running}, none for the messages of ${joinList(unserved, 'and', MAX_NAMES)}${ended}`,
		since,
		`start a relay that serves ${unserved.length === 1 ? 'it' : 'them'}, or correct the destination of the messages`,
	)
}

/** Returns the destinations to which relays do not send at the moment, or only probes. */
export const pausedDestinations = ({ circuits }: OutboxStats): OutboxStats['circuits'] =>
	circuits.filter(({ state, pausedForMs }) => state !== 'closed' || pausedForMs > 0)

/** Returns why a destination is paused; for an operator's pause with the name and the reason. */
export function pauseReason({ reason, operatorPause }: OutboxStats['circuits'][number]): string | null {
	if (!operatorPause) return reason
	const { by, reason: why } = operatorPause
	return why === null ? `by ${by}` : `by ${by}: ${why}`
}

const LASTING_REASONS: readonly string[] = ['certificate', 'credentials', 'disabled', 'permanent-failures']

/** Returns why a circuit is open if that is no ordinary outage, which would end by itself. */
const describeFault = ({ reason, state }: OutboxStats['circuits'][number]): string | undefined =>
	reason !== null && LASTING_REASONS.includes(reason)
		? `circuit ${state} ${describeOpenReason(reason)}`
		: undefined

export function checkPaused(stats: OutboxStats, flags: string): HealthCheck {
	const paused = pausedDestinations(stats)
	if (paused.length === 0) return passed('paused', 'no destination is paused')
	const texts = paused.map((circuit) => {
		const { destination, state, pausedForMs } = circuit
		const forTime = pausedForMs === Infinity ? ' until resumed' : ` for ${formatDuration(pausedForMs)}`
		const fault = describeFault(circuit)
		const reason = fault === undefined ? (pauseReason(circuit) ?? `circuit ${state}`) : `${fault},`
		return `${destination} (${reason}${pausedForMs > 0 ? forTime : fault ? ' ready for a probe' : ''})`
	})
	const names = new Set(paused.map(({ destination }) => destination))
	const ages = stats.destinations
		.filter(({ destination }) => names.has(destination))
		.flatMap(({ oldestAgeMs }) => oldestAgeMs ?? [])
	const oldest = ages.length === 0 ? null : Math.max(...ages)
	const byOperator = paused.find(({ operatorPause }) => operatorPause !== undefined)
	return failed(
		'paused',
		`paused: ${joinList(texts, 'and', MAX_NAMES)}${oldest === null ? '' : `, the oldest message waits for ${formatDuration(oldest)}`}`,
		byOperator?.operatorPause?.pausedAt.getTime() ?? (oldest === null ? null : stats.now.getTime() - oldest),
		byOperator === undefined
			? 'fix the destination; relays then resume by themselves'
			: `resume it when it is ready: yaoki outbox resume ${byOperator.destination}${flags}`,
	)
}

/** The database read its time between `before` and `after`: a difference within that is unknown. */
export function checkClock(stats: OutboxStats, before: number, after: number, limit: number): HealthCheck {
	const { clockBehindMs } = stats
	const databaseTime = stats.now.getTime()
	if (clockBehindMs > limit) {
		const effect =
			databaseTime - after > limit
				? 'the outbox continues from that time'
				: 'messages enqueued before that are not sent until it reaches their time'
		return failed(
			'clock',
			`the clock of the database was set back: it is ${formatDuration(clockBehindMs)} behind a time that it recorded earlier, and ${effect}`,
			null,
			'correct the clock of the machine that runs the database',
		)
	}
	const skew = Math.max(0, before - databaseTime, databaseTime - after)
	if (skew === 0) return passed('clock', 'the clocks of this machine and the database agree')
	const message = `the clocks of this machine and the database differ by ${formatDuration(skew)}`
	if (skew <= limit) return passed('clock', message)
	return failed(
		'clock',
		message,
		null,
		'synchronize both clocks (NTP); notBefore and expiresAt are computed by the application and compared by the database',
	)
}
