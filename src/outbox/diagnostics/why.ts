/**
 * One sentence on why a message was not sent yet, for somebody who was woken up by it. It names the first thing in the way and nothing else, in the
 * order in which a relay meets them; what makes matters worse (no relay at all) is added. All is asked of the store and at a fixed
 * cost, so it can be asked of a queue of millions.
 */
import { isMessageId } from '../message/filter.ts'
import type { DestinationCircuit, RelayRow, StoredMessage } from '../store/rows.ts'
import type { CappedCount, Store } from '../store/store.ts'
import { formatDuration } from './duration.ts'
import { failureText } from './failure-text.ts'
import { isAlive, serves } from './relays.ts'
import { whyDead } from './why-dead.ts'

const COUNT_LIMIT = 1_000
/** From so many deaths on a relay runs a message alone, unless its `maxCrashes` is not the default of 3. */
const SUSPECT_AFTER = 2
/** Due and first, and still there after this: somebody holds it back on purpose. */
const LONG_MS = 5_000

/** What else is known when a message is explained. */
interface Scene {
	readonly now: number
	/** Alive, and they serve the message's destination. */
	readonly relays: readonly RelayRow[]
	/** Alive, whatever they serve. */
	readonly isRelayAlive: (id: string) => boolean
	readonly areAllGone: boolean
	readonly gate: DestinationCircuit | undefined
	readonly due: CappedCount
}

/** Why has this message not been delivered? One sentence. */
export async function whyNotSent(store: Store, id: string): Promise<string> {
	const message = isMessageId(id) ? await store.find(id.toLowerCase()) : undefined
	if (!message)
		return `No message ${id} is known: it was sent and no history is kept of it, it was discarded, or its transaction was never committed.`
	if (message.status === 'sent' || message.status === 'dead') {
		const now = await store.now()
		return message.status === 'sent' ? whySent(message, now) : whyDead(store, message, now)
	}
	const scene = await setScene(store, message.destination)
	if (message.lockedBy !== null) return whyInFlight(message, message.lockedBy, scene)
	return whyInQueue(message, scene) ?? (await whyBehind(store, message, scene)) ?? whyDue(message, scene)
}

async function setScene(store: Store, destination: string): Promise<Scene> {
	const [stats, rows, gates] = await Promise.all([
		store.stats(COUNT_LIMIT, destination),
		store.relays(),
		store.circuits([destination]),
	])
	const alive = rows.filter((relay) => isAlive(relay, stats.now))
	return {
		now: stats.now,
		relays: alive.filter((relay) => serves(relay, destination)),
		isRelayAlive: (id) => alive.some((relay) => relay.id === id),
		areAllGone: alive.length === 0,
		gate: gates[0],
		due: stats.destinations[0]?.due ?? NONE,
	}
}

const NONE: CappedCount = { count: 0, isCapped: false }

const whySent = ({ endedAt, attempts }: StoredMessage, now: number): string =>
	`It was sent ${ago(endedAt, now)}, at attempt ${attempts}.`

const ago = (time: number | null, now: number): string =>
	time === null ? 'some time ago' : `${formatDuration(now - time)} ago`

/** Undefined when there is a relay for it. */
function noRelay(destination: string, { relays, areAllGone }: Scene): string | undefined {
	if (relays.length > 0) return undefined
	return areAllGone ? 'no relay is running' : `none of the relays that run serves '${destination}'`
}

const besides = (text: string | undefined): string => (text === undefined ? '' : `, and besides ${text}`)

function whyInFlight(message: StoredMessage, relay: string, scene: Scene): string {
	const { now } = scene
	const leftMs = (message.leaseUntil ?? now) - now
	const missing = besides(noRelay(message.destination, scene))
	if (leftMs <= 0)
		return `Relay ${relay} had it and its lease ended ${formatDuration(-leftMs)} ago, so the next relay that looks takes it over${missing}.`
	if (!scene.isRelayAlive(relay))
		return `Relay ${relay} had it and seems to have died, so another takes it over when its lease ends in ${formatDuration(leftMs)}${missing}.`
	const since = message.lockedAt === null ? '' : ` for ${formatDuration(now - message.lockedAt)}`
	return `It is in flight at relay ${relay}${since}, attempt ${message.attempts}${failureText(message.error, ', after ')}.`
}

/** What is in the way of the message itself, of its destination, or of all. */
function whyInQueue(message: StoredMessage, scene: Scene): string | undefined {
	const { now } = scene
	const { destination, dueAt, expiresAt } = message
	const missing = noRelay(destination, scene)
	if (expiresAt !== null && expiresAt <= now)
		return `It expired ${formatDuration(now - expiresAt)} ago and becomes a dead letter as soon as a relay comes to it${besides(missing)}.`
	if (dueAt !== null && dueAt > now) return `${whyNotDue(message, dueAt - now)}${besides(missing)}.`
	if (missing !== undefined)
		return `It has been due for ${formatDuration(now - (dueAt ?? message.createdAt))} and ${missing}: start one that serves '${destination}'.`
	const held = scene.gate && whyHeld(scene.gate)
	if (held !== undefined) return `It is due, but its destination '${destination}' is held: ${held}.`
	if (message.crashes >= SUSPECT_AFTER)
		return `It is suspect, for processes died with it (${times(message.crashes)} so far), so it runs alone when its turn comes and becomes a dead letter if that goes on.`
	return undefined
}

function whyNotDue({ attempts, error, dueAt }: StoredMessage, inMs: number): string {
	if (attempts > 0 && error)
		return `It waits for its retry in ${formatDuration(inMs)} after failure ${attempts}${failureText(error, ': ')}`
	const at = dueAt === null ? '' : ` (${new Date(dueAt).toISOString()})`
	return `It is not due before its time, in ${formatDuration(inMs)}${at}`
}

function whyHeld({ state, pausedForMs, reason }: DestinationCircuit): string | undefined {
	const more = `for ${formatDuration(pausedForMs)} more`
	if (pausedForMs > 0) {
		if (reason === 'retry-after') return `it asked by Retry-After to be left alone ${more}`
		if (reason === 'probe') return `after an outage one message is tried to see whether it is back, ${more}`
		return `too many messages failed there and its circuit is open ${more}`
	}
	if (state === 'closed') return undefined
	return `its circuit is ${state}, and the next relay that looks sends one message to see whether it is back`
}

/**
 * Only where order is kept does a dead letter hold others up. Whether it is kept is otherwise known to the relays alone, so that of one that is merely
 * before it in the queue this can only say what may be.
 */
async function whyBehind(store: Store, message: StoredMessage, scene: Scene): Promise<string | undefined> {
	const { id, key, destination } = message
	if (key === null) return undefined
	const head = await store.findPredecessor(id)
	if (!head) return undefined
	if (head.status === 'dead')
		return `It is due and held up by dead letter ${head.id} of the same key '${key}'${failureText(head.error, ', which died of ')}: replay or discard that one.`
	return `It is due and, if '${destination}' keeps order, waits behind message ${head.id} of the same key '${key}', which ${standing(head, scene.now)}.`
}

function standing({ lockedBy, status, dueAt, attempts, error }: StoredMessage, now: number): string {
	if (status === 'processing') return `is in flight at relay ${lockedBy}`
	if (lockedBy !== null) return `relay ${lockedBy} left behind when it died`
	if (dueAt === null || dueAt <= now) return 'is due as well'
	const after = attempts > 0 ? failureText(error, ' after ') : ''
	return `is due in ${formatDuration(dueAt - now)}${after}`
}

function whyDue({ dueAt, createdAt, destination }: StoredMessage, { now, relays, due }: Scene): string {
	const lagMs = now - (dueAt ?? createdAt)
	const others = due.count - 1
	const since = `It has been due for ${formatDuration(lagMs)}`
	if (others > 0) {
		const many = due.isCapped ? `${others} or more others` : others === 1 ? '1 other' : `${others} others`
		const throughput = Math.round(relays.reduce((sum, relay) => sum + relay.throughput, 0))
		return `${since} and up to ${many} for '${destination}' may be before it, at ${throughput} sent a second by ${relays.length === 1 ? '1 relay' : `${relays.length} relays`}.`
	}
	if (lagMs < LONG_MS) return `${since} and is next: a relay takes it within a moment.`
	return `${since} and nothing is before it, so its relay has no room (concurrency, maxConcurrent or rate of '${destination}'), or can not reach the database.`
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`)
