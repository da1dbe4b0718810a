/** Checks of queued messages. Each names the worst destination: usually one cause is behind all. */
import { serves } from '../../../outbox/diagnostics/relays.ts'
import type { DestinationStats, OutboxStats } from '../../../outbox/diagnostics/stats.ts'
import type { BlockedKeys } from '../../../outbox/store/store-stats.ts'
import { formatCount, formatDuration, formatNumber, formatPercent } from '../../../text/format.ts'
import { andMore, failed, formatCapped, type HealthCheck, passed } from './health-check.ts'

export interface QueueLimits {
	readonly lagMs: number
	readonly ageMs: number
	readonly attempts: number
	/** A share from 0 to 1. */
	readonly failingShare: number
	readonly blocked: number
}

/** `flags` select the database in the commands of the actions. */
export const checkQueue = (
	stats: OutboxStats,
	limits: QueueLimits,
	flags: string,
): readonly HealthCheck[] => [
	checkLag(stats, limits.lagMs, flags),
	checkAge(stats, limits.ageMs, flags),
	checkAttempts(stats, limits.attempts, flags),
	checkFailing(stats, limits.failingShare, flags),
	checkBlocked(stats, limits.blocked, flags),
]

/** Returns the destinations with a value above the limit, the highest first. */
const above = (
	{ destinations }: OutboxStats,
	limit: number,
	figureOf: (one: DestinationStats) => number | null,
): readonly DestinationStats[] =>
	destinations
		.filter((one) => (figureOf(one) ?? 0) > limit)
		.sort((a, b) => (figureOf(b) ?? 0) - (figureOf(a) ?? 0))

const listErrors = (destination: string, flags: string): string =>
	`its errors: yaoki outbox list --status pending --destination ${destination}${flags}`

const before = ({ now }: OutboxStats, ms: number | null): number | null =>
	ms === null ? null : now.getTime() - ms

function checkLag(stats: OutboxStats, limit: number, flags: string): HealthCheck {
	const { oldestLagMs } = stats.totals
	const [worst, ...others] = above(stats, limit, (one) => one.oldestLagMs)
	if (worst !== undefined)
		return failed(
			'lag',
			`oldest due message of ${worst.destination}${andMore(others.length)} is ${formatDuration(worst.oldestLagMs ?? 0)} late`,
			before(stats, worst.oldestLagMs),
			`see which relays serve it and how fast: yaoki outbox status${flags}`,
		)
	return passed(
		'lag',
		oldestLagMs === null ? 'no message is due' : `oldest due message is ${formatDuration(oldestLagMs)} late`,
	)
}

function checkAge(stats: OutboxStats, limit: number, flags: string): HealthCheck {
	const { oldestAgeMs } = stats.totals
	const [worst, ...others] = above(stats, limit, (one) => one.oldestAgeMs)
	if (worst !== undefined)
		return failed(
			'age',
			`oldest message of ${worst.destination}${andMore(others.length)} has not been sent for ${formatDuration(worst.oldestAgeMs ?? 0)}`,
			before(stats, worst.oldestAgeMs),
			listErrors(worst.destination, flags),
		)
	return passed(
		'age',
		oldestAgeMs === null
			? 'no message waits to be sent'
			: `oldest message waits for ${formatDuration(oldestAgeMs)}`,
	)
}

function checkAttempts(stats: OutboxStats, limit: number, flags: string): HealthCheck {
	const { maxAttempts } = stats.totals
	const [worst, ...others] = above(stats, limit, (one) => one.maxAttempts)
	if (worst !== undefined)
		return failed(
			'attempts',
			`a message of ${worst.destination}${andMore(others.length)} has made ${formatNumber(worst.maxAttempts)} attempts, the oldest one waits for ${formatDuration(worst.oldestAgeMs ?? 0)}`,
			before(stats, worst.oldestAgeMs),
			listErrors(worst.destination, flags),
		)
	return passed(
		'attempts',
		maxAttempts === 0
			? 'no waiting message has made an attempt'
			: `no message has made more than ${formatCount(maxAttempts, 'attempt')}`,
	)
}

/** Fewer failing messages than this are found by their age and attempts. */
const MIN_FAILING = 10
/** Failures that are retried successfully within this time are normal at a high throughput. */
const BRIEF_FAILURE_MS = 60_000

/**
 * Sent messages leave the queue, so a fast destination with few failures has almost only failing messages
 * queued. It is healthy if they are few compared with what its relays send in a second, and recent.
 */
function isHealthy(
	{ destination, failing, oldestAgeMs }: DestinationStats,
	{ relays }: OutboxStats,
): boolean {
	if (failing.count < MIN_FAILING) return true
	const perSecond = relays
		.filter((relay) => serves(relay, destination))
		.reduce((sum, { throughput }) => sum + throughput, 0)
	return failing.count <= perSecond && (oldestAgeMs ?? 0) <= BRIEF_FAILURE_MS
}

function checkFailing(stats: OutboxStats, limit: number, flags: string): HealthCheck {
	const [worst, ...others] = above(stats, limit, (one) => one.failingShare).filter(
		(one) => !isHealthy(one, stats),
	)
	if (worst === undefined) {
		const { failing } = stats.totals
		return passed(
			'failing',
			failing.count === 0 ? 'no message is failing' : `${formatCapped(failing, 'message')} failing`,
		)
	}
	const { due, scheduled, inFlight, failing, failingShare, oldestAgeMs, destination } = worst
	const queued = {
		count: due.count + scheduled.count + inFlight.count,
		isCapped: due.isCapped || scheduled.isCapped || inFlight.isCapped,
	}
	return failed(
		'failing',
		`${formatNumber(failing.count)}${failing.isCapped ? '+' : ''} of ${formatNumber(queued.count)}${queued.isCapped ? '+' : ''} messages of ${destination}${andMore(others.length)} failed their latest attempt (${formatPercent(failingShare ?? 0, 0)}), the oldest waits for ${formatDuration(oldestAgeMs ?? 0)}`,
		before(stats, oldestAgeMs),
		listErrors(destination, flags),
	)
}

const waiting = ({ blockedByDead, blockedByRetry }: DestinationStats): number =>
	blockedByDead.messages.count + blockedByRetry.messages.count

/** Messages behind a dead letter or a failing message cause no error anywhere: they are due and not sent. */
function checkBlocked(stats: OutboxStats, limit: number, flags: string): HealthCheck {
	const [worst, ...others] = above(stats, limit, waiting)
	if (worst === undefined) {
		const count = stats.destinations.reduce((sum, one) => sum + waiting(one), 0)
		return passed(
			'blocked',
			count === 0
				? 'no key is blocked'
				: `${formatCapped({ count, isCapped: false }, 'message')} behind blocked keys`,
		)
	}
	const { blockedByDead, blockedByRetry, destination } = worst
	const isDead = blockedByDead.messages.count >= blockedByRetry.messages.count
	const { keys, messages, worst: key } = isDead ? blockedByDead : blockedByRetry
	const where = `of ${destination}${andMore(others.length)}`
	const message = `${formatCapped(messages, 'message')} ${where} ${messages.count === 1 ? 'waits' : 'wait'} behind ${formatCapped(keys, 'blocked key')}${describeKey(key, isDead)}`
	const id = key?.id ?? ''
	const action = isDead
		? `replay or discard that dead letter: yaoki outbox replay ${id}${flags}`
		: `see why it fails: yaoki outbox why ${id}${flags}`
	return failed('blocked', message, before(stats, key?.forMs ?? null), action)
}

function describeKey(key: BlockedKeys['worst'], isDead: boolean): string {
	if (key === null) return ''
	const { id, forMs, messages } = key
	const cause = isDead ? `dead letter ${id}` : `message ${id}, which keeps failing,`
	return `: ${formatCapped(messages, 'message')} of '${key.key}' behind ${cause} for ${formatDuration(forMs)}`
}
