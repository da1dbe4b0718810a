/**
 * Explains in a sentence or two why a message has not been sent, for an engineer on call. It names the first
 * obstacle, in the order in which a relay meets them; a missing relay is added. The cost is fixed, whatever
 * the size of the queue.
 */
import { formatCount, formatDuration, formatNumber } from '../../text/format.ts'
import { isMessageId } from '../message/filter.ts'
import type { StoredError } from '../message/message.ts'
import type { ShownStore } from '../message/redact.ts'
import { CANDIDATE_AFTER } from '../store/decisions/poison.ts'
import type {
	DestinationCircuit,
	OperatorPause,
	PauseReason,
	RelayRow,
	StoredMessage,
} from '../store/rows.ts'
import type { OutboxStore } from '../store/store.ts'
import type { CappedCount } from '../store/store-stats.ts'
import { isAlive, serves } from './relays.ts'

const COUNT_LIMIT = 1_000
/** A message that is due and first for this time is held back by a limit. */
const STUCK_AFTER_MS = 5_000
/** How many dead letters of a key are read to find the first. */
const SAME_KEY_LIMIT = 10
const MAX_ERROR_LENGTH = 200
/** How many attempts of a message are read to find out that it was sent. */
const ATTEMPT_LIMIT = 100

interface Situation {
	readonly now: number
	/** Relays that are alive and serve the destination. */
	readonly relays: readonly RelayRow[]
	readonly isRelayAlive: (id: string) => boolean
	readonly hasRelays: boolean
	readonly circuit: DestinationCircuit | undefined
	readonly due: CappedCount
}

/** `shown` is the store with redacted messages. */
export async function explainMessage(store: OutboxStore, shown: ShownStore, id: string): Promise<string> {
	const message = isMessageId(id) ? await shown.find(id.toLowerCase()) : undefined
	if (!message) return explainMissing(store, shown, id)
	if (message.status === 'sent') {
		const { endedAt, attempts } = message
		const ago = endedAt === null ? '' : ` ${formatDuration((await store.now()) - endedAt)} ago`
		return `Sent${ago} on attempt ${attempts}.`
	}
	if (message.status === 'dead') return explainDead(store, shown, message)
	const situation = await readSituation(store, message.destination)
	if (message.lockedBy !== null) return explainClaimed(message, message.lockedBy, situation)
	const reason = explainObstacle(message, situation) ?? (await explainPredecessor(shown, message, situation))
	return reason ?? explainDue(message, situation)
}

/** The attempt log outlives a message that was sent. */
async function explainMissing(store: OutboxStore, shown: ShownStore, id: string): Promise<string> {
	const attempts = isMessageId(id) ? await shown.attempts(id.toLowerCase(), ATTEMPT_LIMIT, undefined) : []
	const sent = attempts.findLast(({ outcome }) => outcome === 'sent')
	if (sent) {
		const agoMs = (await store.now()) - sent.startedAt - sent.durationMs
		return `Sent ${formatDuration(Math.max(0, agoMs))} ago on attempt ${sent.attempt}. The message is not in the history.`
	}
	return `Message ${id} not found: it was sent and no history is kept, it was discarded, or its transaction was not committed.`
}

async function readSituation(store: OutboxStore, destination: string): Promise<Situation> {
	const [stats, rows, circuits] = await Promise.all([
		store.stats(COUNT_LIMIT, destination),
		store.relays(),
		store.circuits([destination]),
	])
	const alive = rows.filter((relay) => isAlive(relay, stats.now))
	return {
		now: stats.now,
		relays: alive.filter((relay) => serves(relay, destination)),
		isRelayAlive: (id) => alive.some((relay) => relay.id === id),
		hasRelays: alive.length > 0,
		circuit: circuits[0],
		due: stats.destinations[0]?.due ?? { count: 0, isCapped: false },
	}
}

/** Returns the problem if no relay serves the destination. */
function missingRelay(destination: string, { relays, hasRelays }: Situation): string | undefined {
	if (relays.length > 0) return undefined
	return hasRelays ? `no running relay serves '${destination}'` : 'no relay is running'
}

const also = (problem: string | undefined): string => (problem === undefined ? '' : ` Also, ${problem}.`)

function explainClaimed(message: StoredMessage, relay: string, situation: Situation): string {
	const { now } = situation
	const leftMs = (message.leaseUntil ?? now) - now
	const missing = also(missingRelay(message.destination, situation))
	if (leftMs <= 0)
		return `Relay ${relay} claimed it, but the lease expired ${formatDuration(-leftMs)} ago; the next relay that polls takes over.${missing}`
	if (!situation.isRelayAlive(relay))
		return `Relay ${relay} claimed it and sends no heartbeats; another relay takes over when the lease expires in ${formatDuration(leftMs)}.${missing}`
	const since = message.lockedAt === null ? '' : ` for ${formatDuration(now - message.lockedAt)}`
	return `In flight at relay ${relay}${since}, attempt ${message.attempts}${errorText(message.error, ', previous error: ')}.`
}

/** Returns an obstacle of the message itself, of its destination, or of all messages. */
function explainObstacle(message: StoredMessage, situation: Situation): string | undefined {
	const { now, circuit } = situation
	const { destination, dueAt, expiresAt, crashes } = message
	const missing = missingRelay(destination, situation)
	const operatorPause = circuit?.operatorPause
	const paused =
		operatorPause && also(`destination '${destination}' is paused ${describeOperatorPause(operatorPause)}`)
	const others = also(missing) + (paused ?? '')
	if (expiresAt !== null && expiresAt <= now)
		return `Expired ${formatDuration(now - expiresAt)} ago; it becomes a dead letter when a relay claims it.${others}`
	if (dueAt !== null && dueAt > now) return `${explainNotDue(message, dueAt, now)}${others}`
	if (missing !== undefined)
		return `Due for ${formatDuration(now - (dueAt ?? message.createdAt))}, but ${missing}. Start a relay that serves '${destination}'.${paused ?? ''}`
	const pause = circuit && explainPause(circuit)
	if (pause !== undefined)
		return `Due, but destination '${destination}' is paused${circuit?.operatorPause ? '' : ':'} ${pause}.`
	if (crashes >= CANDIDATE_AFTER)
		return `Poison candidate: ${formatCount(crashes, 'process', 'processes')} crashed while it was claimed. It runs alone when it is next, and becomes a dead letter if that crashes its process repeatedly.`
	return undefined
}

function explainNotDue({ attempts, error }: StoredMessage, dueAt: number, now: number): string {
	const inMs = formatDuration(dueAt - now)
	if (attempts > 0 && error)
		return `Next attempt in ${inMs}, after ${formatCount(attempts, 'failed attempt')}${errorText(error, ' (', ')')}.`
	return `Scheduled for ${new Date(dueAt).toISOString()} (in ${inMs}).`
}

function explainPause({ state, pausedForMs, reason, operatorPause }: DestinationCircuit): string | undefined {
	if (operatorPause) return describeOperatorPause(operatorPause)
	const inMs = formatDuration(pausedForMs)
	if (pausedForMs > 0) {
		if (reason === 'retry-after') return `it returned Retry-After; sending resumes in ${inMs}`
		if (reason === 'probe') return `a relay is probing it after an outage; the probe ends within ${inMs}`
		return `its circuit is open ${describeOpenReason(reason)}; the next probe is in ${inMs}`
	}
	if (state === 'closed') return undefined
	const why = state === 'open' && reason !== 'circuit-open' ? ` ${describeOpenReason(reason)}` : ''
	return `its circuit is ${state}${why}; the next relay that polls probes it`
}

/** Returns why relays opened a circuit, within a sentence. */
export function describeOpenReason(reason: PauseReason | null): string {
	switch (reason) {
		case 'certificate':
			return 'because the TLS connection failed or its certificate was rejected'
		case 'credentials':
			return 'because its credentials are missing or were rejected (401 or 403)'
		case 'disabled':
			return 'because it is disabled'
		case 'permanent-failures':
			return 'because different messages in a row failed permanently'
		default:
			return 'after too many failures'
	}
}

/** Returns who paused a destination, why, and until when. */
export function describeOperatorPause({ by, reason, pausedForMs }: Omit<OperatorPause, 'pausedAt'>): string {
	const end = pausedForMs === Infinity ? 'until it is resumed' : `for another ${formatDuration(pausedForMs)}`
	return `by ${by}${reason === null ? '' : ` (${reason})`}, ${end}`
}

/** A queued predecessor may be no obstacle: only relays know whether a destination keeps order. */
async function explainPredecessor(
	shown: ShownStore,
	{ id, key, destination }: StoredMessage,
	{ now }: Situation,
): Promise<string | undefined> {
	const first = key === null ? undefined : await shown.findPredecessor(id)
	if (!first) return undefined
	if (first.status === 'dead')
		return `Due, but blocked by dead letter ${first.id} with the same key '${key}'${errorText(first.error, ' (', ')')}. Replay or discard that one.`
	return `Due. If '${destination}' keeps order, it waits for message ${first.id} with the same key '${key}', which ${describeState(first, now)}.`
}

function describeState({ lockedBy, status, dueAt, attempts, error }: StoredMessage, now: number): string {
	if (status === 'processing') return `is in flight at relay ${lockedBy}`
	if (lockedBy !== null) return `was claimed by relay ${lockedBy}, whose lease expired`
	if (dueAt === null || dueAt <= now) return 'is also due'
	const after = attempts > 0 ? errorText(error, ' after ') : ''
	return `is due in ${formatDuration(dueAt - now)}${after}`
}

function explainDue(message: StoredMessage, { now, relays, due }: Situation): string {
	const { dueAt, createdAt, destination } = message
	const lagMs = now - (dueAt ?? createdAt)
	const others = due.count - 1
	const since = `Due for ${formatDuration(lagMs)}`
	if (others > 0) {
		const count = due.isCapped
			? `${formatNumber(others)} or more other messages`
			: `up to ${formatCount(others, 'other message')}`
		const throughput = Math.round(relays.reduce((sum, relay) => sum + relay.throughput, 0))
		return `${since}; ${count} for '${destination}' may be ahead of it. Throughput: ${formatNumber(throughput)} msg/s by ${formatCount(relays.length, 'relay')}.`
	}
	if (lagMs < STUCK_AFTER_MS) return `${since} and next: a relay claims it within a moment.`
	return `${since} with no message ahead of it: the relay has no free slot (concurrency, maxConcurrent or rate of '${destination}'), or cannot reach the database.`
}

async function explainDead(store: OutboxStore, shown: ShownStore, message: StoredMessage): Promise<string> {
	const now = await store.now()
	const { id, endedAt, cause, error, attempts, crashes, expiresAt, key } = message
	// With history, a discarded message can still be read.
	if ((await store.countDead({ ids: [id] }, 1)).count === 0) {
		const ago = endedAt === null ? '' : ` ${formatDuration(now - endedAt)} ago`
		return `Discarded${ago} as a dead letter; it will not be sent${errorText(error, ' (last error: ', ')')}.`
	}
	const dead = endedAt === null ? 'Dead' : `Dead for ${formatDuration(now - endedAt)}`
	const last = errorText(error, ' (', ')')
	switch (cause) {
		case 'expired': {
			const at = expiresAt === null ? '' : ` at ${new Date(expiresAt).toISOString()}`
			return `${dead}: expired${at} before it was sent${last}. Replay it with a later expiresAt, or discard it.`
		}
		case 'crashed':
			return `${dead}: ${formatCount(crashes, 'process', 'processes')} crashed while it was claimed${last}. Find out why before you replay it, or discard it.`
		case 'predecessor-dead':
			return `${dead}: an earlier message with the same key '${key}' became a dead letter${await describePredecessor(shown, message)}. Replay that one first, then this one.`
		case 'permanent':
			return `${dead}: permanent failure on attempt ${attempts}${last}. Fix the cause, then replay or discard it.`
		default:
			return `${dead}: retries exhausted after ${formatCount(attempts, 'attempt')}${last}. Fix the cause, then replay or discard it.`
	}
}

/** Returns the dead letter that caused the other dead letters of its key, if it is still there. */
async function describePredecessor(shown: ShownStore, message: StoredMessage): Promise<string> {
	const { id, key, destination } = message
	if (key === null) return ''
	const messages = await shown.list({ destination, key, status: 'dead' }, SAME_KEY_LIMIT)
	const first = messages.find((one) => one.id !== id && one.cause !== 'predecessor-dead')
	return first ? ` (${first.id}${errorText(first.error, ': ')})` : ''
}

/** Returns an error within a sentence; an empty text without one. */
function errorText(error: StoredError | null, before: string, after = ''): string {
	if (error === null) return ''
	const { type, message } = error
	const text = message === '' ? type : `${type}: ${message}`
	const short =
		text.length > MAX_ERROR_LENGTH ? `${text.slice(0, MAX_ERROR_LENGTH)}...` : text.replace(/\.$/, '')
	return `${before}${short}${after}`
}
