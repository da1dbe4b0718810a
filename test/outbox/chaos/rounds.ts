/**
 * Rounds of chaos: messages are enqueued in transactions while relays work, and one or two of those are killed at a moment that the seed decides.
 * A round is over when everything has arrived, and then the ledger is checked.
 */
import { Outbox, type Queryable, type Store } from 'yaoki/outbox'
import { seededRandom } from 'yaoki/testing'
import { faultsOf, type Round, repeatsOf } from './ledger.ts'
import { receiver } from './receiver.ts'
import type { RelayOrder } from './relay-process.ts'
import { Relays } from './relays.ts'

const LEASE_MS = 300
const KEYS = 4
/** No round takes that long unless something is stuck. */
const STUCK_MS = 30_000

/** A database that chaos can be made in. */
export interface Ground {
	readonly name: string
	readonly store: Store
	readonly order: RelayOrder['store']
	transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
	/** Ends the database and starts it again, where there is something to end. */
	restart?(): Promise<void>
}

export interface Totals {
	rounds: number
	messages: number
	kills: number
	restarts: number
	repeats: number
	leasesLost: number
	readonly faults: string[]
}

/** Makes rounds from the first to the last, and adds them to the totals. */
export async function makeRounds(
	ground: Ground,
	first: number,
	last: number,
	seed: string,
	totals: Totals,
	onRound: () => void,
): Promise<void> {
	const chance = seededRandom(`${seed} ${ground.name} ${first}`)
	await using other = await receiver(chance)
	const outbox = new Outbox({ store: ground.store })
	await outbox.migrate()
	const relays = new Relays({ url: other.url, leaseMs: LEASE_MS, store: ground.order })
	try {
		await relays.start()
		await relays.start()
		for (let number = first; number <= last; number++) {
			const isRestarted = number === Math.floor((first + last) / 2) && ground.restart !== undefined
			const round = await makeRound(`${seed}/${ground.name}/${number}`, isRestarted)
			totals.rounds++
			totals.messages += round.enqueued.length
			totals.repeats += repeatsOf(round)
			totals.faults.push(...faultsOf(round))
			onRound()
		}
		totals.kills += relays.killed.size
		totals.leasesLost += relays.lost.size
	} finally {
		await relays.end()
		await outbox.close()
	}

	async function makeRound(name: string, isRestarted: boolean): Promise<Round> {
		const from = other.receipts.length
		const enqueued: Round['enqueued'][number][] = []
		const enqueueing = enqueueAll(name, enqueued, isRestarted)
		for (let kills = chance() < 0.2 ? 2 : 1; kills > 0; kills--) {
			await pause(chance() * 120)
			await relays.kill(Math.floor(chance() * relays.count))
		}
		if (isRestarted) {
			await ground.restart?.()
			totals.restarts++
		}
		await enqueueing
		const ids = new Set(enqueued.map(({ id }) => id))
		const arrived = () => new Set(other.receipts.slice(from).map(({ id }) => id))
		const isComplete = () => {
			const here = arrived()
			return [...ids].every((id) => here.has(id))
		}
		await within(STUCK_MS, other.until(isComplete))
		const left = await untilEmpty()
		const { killed, lost } = relays
		const receipts = other.receipts.slice(from)
		return { seed: name, enqueued, receipts, killed, lost, isRestarted, left }
	}

	/** Some messages, in a few transactions; those that a restart broke are tried again, and only what was committed counts. */
	async function enqueueAll(
		name: string,
		enqueued: Round['enqueued'][number][],
		isRestarted: boolean,
	): Promise<void> {
		let number = 0
		for (let left = 3 + Math.floor(chance() * 4); left > 0; left--) {
			const batch = Array.from({ length: 1 + Math.floor(chance() * 8) }, () => {
				number++
				return { key: `${name}/${number % KEYS}`, number }
			})
			const messages = batch.map((payload) => ({ topic: 'chaos', key: payload.key, payload }))
			try {
				const receipts = await ground.transaction((tx) => outbox.enqueue(messages, { tx }))
				for (const [at, { id }] of receipts.entries())
					enqueued.push({ id, key: batch[at]?.key ?? '', number: batch[at]?.number ?? 0 })
			} catch (error) {
				// Whether it was committed can not be known, so it must not have been: the restart comes before the commit's answer or not at all.
				if (!isRestarted) throw error
				await pause(100)
			}
			await pause(chance() * 30)
		}
	}

	/** The last acks are on their way when the last message has arrived; those of killed relays come back with their leases. */
	async function untilEmpty(): Promise<number> {
		const startedAt = performance.now()
		for (;;) {
			const left = (await outbox.list({}, { limit: 1 }).catch(() => [undefined])).length
			if (left === 0 || performance.now() - startedAt > STUCK_MS) return left
			await pause(10)
		}
	}
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function within(ms: number, work: Promise<void>): Promise<void> {
	const timer = new AbortController()
	const timeout = new Promise<void>((resolve) => {
		const id = setTimeout(resolve, ms)
		timer.signal.addEventListener('abort', () => clearTimeout(id))
	})
	await Promise.race([work, timeout])
	timer.abort()
}
