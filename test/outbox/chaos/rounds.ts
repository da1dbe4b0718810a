/**
 * Rounds of chaos: each enqueues messages in transactions while relays run, kills one or two relays at a moment that the seed decides,
 * waits until the outbox is empty, and checks what the receiver got.
 */
import { YaokiError } from 'yaoki'
import { Outbox, OutboxStoreError, type Queryable } from 'yaoki/outbox'
import type { OutboxStore } from 'yaoki/outbox/store'
import { seededRandom } from 'yaoki/testing'
import { CANDIDATE_AFTER } from '../../../src/outbox/store/decisions/poison.ts'
import { countDuplicates, findFaults, type Round } from './findings.ts'
import { startReceiver } from './receiver.ts'
import { RelayFleet } from './relay-fleet.ts'
import type { RelayInput } from './relay-process.ts'
import type { Takeover } from './takeovers.ts'

const LEASE_MS = 300
const MAX_CRASHES = 5
const KEYS = 4
/** A round that takes this long is stuck. */
const STUCK_MS = 30_000

/** A database to run rounds on. */
export interface ChaosDatabase {
	readonly name: string
	readonly store: OutboxStore
	readonly relayStore: RelayInput['store']
	transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
	/** Starts to record expired leases. Runs after the migration. */
	recordTakeovers(): Promise<void>
	/** Returns the recorded expired leases of these messages. */
	takeovers(ids: readonly string[]): Promise<readonly Takeover[]>
	/** Crashes the database server and starts it again, if there is a server. */
	restart?(): Promise<void>
}

export interface Totals {
	rounds: number
	messages: number
	kills: number
	restarts: number
	duplicatesAfterKill: number
	duplicatesAfterLostLease: number
	deadLetters: number
	readonly faults: string[]
}

type Enqueued = Round['enqueued'][number]

/** Runs the rounds from `first` to `last` and adds them to the totals. */
export async function runRounds(
	database: ChaosDatabase,
	first: number,
	last: number,
	seed: string,
	totals: Totals,
	onRound: () => void,
): Promise<void> {
	const random = seededRandom(`${seed} ${database.name} ${first}`)
	await using receiver = await startReceiver(random)
	const outbox = new Outbox({ store: database.store })
	await outbox.migrate()
	await database.recordTakeovers()
	const input = { url: receiver.url, leaseMs: LEASE_MS, maxCrashes: MAX_CRASHES, store: database.relayStore }
	const relays = new RelayFleet(input)
	try {
		await relays.start()
		await relays.start()
		for (let number = first; number <= last; number++) {
			const restarts = number === Math.floor((first + last) / 2) && database.restart !== undefined
			const round = await runRound(`${seed}/${database.name}/${number}`, restarts)
			const { afterKill, afterLostLease } = countDuplicates(round)
			totals.rounds++
			totals.messages += round.enqueued.length
			totals.deadLetters += round.poison.length
			totals.duplicatesAfterKill += afterKill
			totals.duplicatesAfterLostLease += afterLostLease
			totals.faults.push(...findFaults(round))
			onRound()
		}
		totals.kills += relays.killed.size
	} finally {
		await relays.stop()
		await outbox.close()
	}

	async function runRound(name: string, restarts: boolean): Promise<Round> {
		const from = receiver.receipts.length
		const enqueued: Enqueued[] = []
		const enqueueing = enqueueAll(name, enqueued, restarts)
		for (let kills = random() < 0.2 ? 2 : 1; kills > 0; kills--) {
			await sleep(random() * 120)
			await relays.kill(Math.floor(random() * relays.size))
		}
		if (restarts) {
			await database.restart?.()
			totals.restarts++
		}
		await enqueueing
		const poison: string[] = []
		const left = await drain(poison)
		const receipts = receiver.receipts.slice(from)
		const ids = new Set([...receipts, ...enqueued].map(({ id }) => id))
		const takeovers = await database.takeovers([...ids])
		return { name, enqueued, receipts, takeovers, poison, killed: relays.killed, left }
	}

	/** Enqueues messages in a few transactions. A transaction that the restart breaks counts as not enqueued. */
	async function enqueueAll(name: string, enqueued: Enqueued[], restarts: boolean): Promise<void> {
		let number = 0
		for (let left = 3 + Math.floor(random() * 4); left > 0; left--) {
			const batch = Array.from({ length: 1 + Math.floor(random() * 8) }, () => {
				number++
				return { key: `${name}/${number % KEYS}`, number }
			})
			const messages = batch.map((payload) => ({ topic: 'chaos', key: payload.key, payload }))
			try {
				const receipts = await database.transaction((tx) => outbox.enqueue(messages, { tx }))
				for (const [at, { id }] of receipts.entries())
					enqueued.push({ id, key: batch[at]?.key ?? '', number: batch[at]?.number ?? 0 })
			} catch (error) {
				if (!restarts) throw error
				await sleep(100)
			}
			await sleep(random() * 30)
		}
	}

	/** Waits until the outbox is empty and returns what is left when it takes too long. The leases of killed relays have to expire first. */
	async function drain(poison: string[]): Promise<readonly string[]> {
		const giveUpAt = performance.now() + STUCK_MS
		for (;;) {
			// The database may still be starting.
			const left = await outbox.list().catch(() => undefined)
			if (left?.length === 0) return []
			if (performance.now() > giveUpAt)
				return left?.map(({ id, status, cause }) => `${id} (${cause ?? status})`) ?? ['the database']
			const crashed = left?.filter(({ cause }) => cause === 'crashed').map(({ id }) => id) ?? []
			if (crashed.length > 0) await discardPoison(crashed, poison)
			await sleep(10)
		}
	}

	/**
	 * Discards messages that became dead letters because their lease expired twice and then `maxCrashes` times alone, and adds them to `poison`. A dead letter with
	 * fewer expired leases stays and is reported as stuck. They are not replayed, because a replay starts to count attempts again.
	 */
	async function discardPoison(ids: readonly string[], poison: string[]): Promise<void> {
		const takeovers = await database.takeovers(ids)
		const count = (id: string) => takeovers.filter((takeover) => takeover.id === id).length
		const explained = ids.filter((id) => count(id) >= CANDIDATE_AFTER + MAX_CRASHES)
		poison.push(...explained.filter((id) => !poison.includes(id)))
		if (explained.length === 0) return
		try {
			await outbox.dead.discard({ ids: explained })
		} catch (error) {
			// The database may be busy or still starting: the next list has the messages again. Errors of pg have no class of this package.
			if (error instanceof YaokiError && !(error instanceof OutboxStoreError)) throw error
		}
	}
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
