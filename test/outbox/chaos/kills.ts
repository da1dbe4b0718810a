/**
 * Kills relays continuously while messages arrive, without waiting for the outbox to empty: with a short lease some messages are claimed during
 * several kills in a row. None of them crashes a process, so none may become a dead letter.
 */
import { Outbox } from 'yaoki/outbox'
import { seededRandom } from 'yaoki/testing'
import { startReceiver } from './receiver.ts'
import { RelayFleet } from './relay-fleet.ts'
import type { ChaosDatabase } from './rounds.ts'

export interface KillOptions {
	readonly kills: number
	readonly leaseMs: number
	readonly maxCrashes: number
	readonly seed: string
}

export interface KillTotals {
	kills: number
	messages: number
	/** Innocent messages that became dead letters. */
	crashed: number
	/** Messages that are still in the outbox after the relays had time to send them. */
	left: number
	/** Messages that no receiver got and that are not in the outbox. */
	lost: number
}

const RELAYS = 2
const MEAN_MS = 600
const HANDLER_MS = 50
const BACKLOG = 3_000
const DRAIN_MS = 300_000

export async function runKills(database: ChaosDatabase, given: KillOptions): Promise<KillTotals> {
	const { leaseMs, maxCrashes, seed } = given
	const random = seededRandom(`${seed} ${database.name} kills`)
	await using receiver = await startReceiver(random, { maxMs: HANDLER_MS, failing: 0 })
	const outbox = new Outbox({ store: database.store })
	await outbox.migrate()
	const relays = new RelayFleet({
		url: receiver.url,
		leaseMs,
		maxCrashes,
		store: database.relayStore,
		isOrdered: false,
	})
	const ids = new Set<string>()
	const received = (): ReadonlySet<string> => new Set(receiver.receipts.map(({ id }) => id))
	const enqueue = async (count: number): Promise<void> => {
		const messages = Array.from({ length: count }, (_, number) => ({ topic: 'kills', payload: { number } }))
		const receipts = await database.transaction((tx) => outbox.enqueue(messages, { tx }))
		for (const { id } of receipts) ids.add(id)
	}
	const countLeft = async (): Promise<number> => {
		const { totals } = await outbox.stats()
		return totals.due.count + totals.scheduled.count + totals.inFlight.count
	}
	try {
		await enqueue(BACKLOG)
		for (let n = 0; n < RELAYS; n++) await relays.start()
		while (relays.killed.size < given.kills) {
			await sleep(-Math.log(1 - random()) * MEAN_MS)
			await relays.kill(Math.floor(random() * relays.size))
			if (ids.size - received().size < BACKLOG / 2) await enqueue(BACKLOG / 2)
		}
		const giveUpAt = performance.now() + DRAIN_MS
		let left = await countLeft()
		for (; left > 0 && performance.now() < giveUpAt; left = await countLeft()) await sleep(100)
		const { count: crashed } = await outbox.dead.count({ cause: 'crashed' })
		const arrived = received()
		let lost = 0
		for (const id of ids) if (!arrived.has(id) && !(await outbox.find(id))) lost++
		return { kills: relays.killed.size, messages: ids.size, crashed, left, lost }
	} finally {
		await relays.stop()
		await outbox.close()
	}
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
