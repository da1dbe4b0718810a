/**
 * Applies random operations to a store and to a queue in an array; after each, both must return the same. Every destination uses one
 * `afterDeadLetter` policy.
 */
import assert from 'node:assert/strict'
import type { AfterDeadLetter, ClaimRef, NewRow, Settlement } from '../../../src/outbox/store/rows.ts'
import type { OutboxStore } from '../../../src/outbox/store/store.ts'
import type { OutboxStoreUnderTest } from '../../../src/outbox/testing/index.ts'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import { type Entry, QueueModel } from './queue-model.ts'

const MINUTE = 60_000
/** Half a minute more, so that no key expires exactly at the time of a call. */
const LIFETIME = { dedupeForMs: 8.5 * MINUTE }
const ALL = 100_000
const OPERATOR = { by: 'ada@ops', reason: null }
const DESTINATIONS: readonly (readonly [
	name: string,
	afterDeadLetter: AfterDeadLetter,
	isOrdered: boolean,
])[] = [
	['free', 'skip', false],
	['going', 'skip', true],
	['blocking', 'block', true],
	['parking', 'dead-letter-rest', true],
]

interface Claim {
	readonly owner: string
	readonly held: ClaimRef
	readonly destination: string
}

class Run {
	readonly #model = new QueueModel()
	readonly #opened: OutboxStoreUnderTest
	readonly #store: OutboxStore
	readonly #random: () => number
	/** What was claimed at some time, held still or not. */
	readonly #claims: Claim[] = []
	readonly #sent = new Set<string>()
	#ids = 0

	constructor(opened: OutboxStoreUnderTest, seed: number) {
		this.#opened = opened
		this.#store = opened.store
		this.#random = seededRandom(seed)
	}

	#below(limit: number): number {
		return Math.floor(this.#random() * limit)
	}

	#pick<T>(values: readonly T[]): T {
		const value = values[this.#below(values.length)]
		assert.ok(value !== undefined)
		return value
	}

	async #now(): Promise<number> {
		const request = { owner: 'x', leaseMs: 1, poisonCandidates: false, poisonAfter: 9 }
		const target = { destination: 'unused', limit: 1, since: 0, isOrdered: false, isProbe: false }
		return (await this.#store.claim({ ...request, targets: [target] })).now
	}

	#row(now: number): NewRow {
		const [destination] = this.#pick(DESTINATIONS)
		const key = this.#below(3) ? `k${this.#below(4)}` : null
		// A replay would overtake new messages behind dead followers; the contract does not define that.
		const isParked = this.#model.at('dead').some((each) => each.destination === 'parking' && each.key === key)
		return {
			id: `01890a5d-ac96-7000-8000-${(++this.#ids).toString(16).padStart(12, '0')}`,
			topic: 't',
			destination: destination === 'parking' && isParked ? 'free' : destination,
			key,
			payload: `{"n":${this.#ids}}`,
			headers: null,
			dedupeKey: this.#below(4) ? null : `d${this.#below(40)}`,
			notBefore: this.#below(4) ? null : now + (this.#below(6) + 1) * MINUTE,
			expiresAt: null,
			maxRetries: null,
		}
	}

	async insert(): Promise<void> {
		const now = await this.#now()
		const rows = Array.from({ length: 1 + this.#below(6) }, () => this.#row(now))
		const isRolledBack = this.#below(8) === 0
		const isOwn = !isRolledBack && this.#below(2) === 0
		const end = isRolledBack ? 'rollback' : 'commit'
		const inserted = isOwn
			? await this.#store.insert(rows, undefined, LIFETIME)
			: await this.#opened.transaction((tx) => this.#store.insert(rows, tx, LIFETIME), end)
		if (!isRolledBack)
			assert.deepEqual(inserted.duplicates, this.#model.insert(rows, now, LIFETIME.dedupeForMs))
	}

	async claim(): Promise<void> {
		const [destination, , isOrdered] = this.#pick(DESTINATIONS)
		const keys = isOrdered && this.#below(4) === 0 ? ['k0', 'k2'] : undefined
		const target = { destination, limit: 1 + this.#below(6), isOrdered, isProbe: this.#below(5) === 0, keys }
		const isForSuspects = this.#below(4) === 0
		// Half a minute more, so that no lease ends exactly at the time of a call.
		const leaseMs = (1 + this.#below(4)) * MINUTE + MINUTE / 2
		const request = { owner: `r${this.#below(3)}`, leaseMs, poisonCandidates: isForSuspects, poisonAfter: 3 }
		// Of several keys whichever come first is the store's own choice, so all of them may.
		const limited = keys ? { ...target, limit: ALL } : target
		const { now, rows } = await this.#store.claim({ ...request, targets: [{ ...limited, since: 0 }] })
		const expected = this.#model.claim({ ...request, target: limited }, now)
		const given = rows.map(({ id, attempt }) => ({ id, attempt }))
		assert.deepEqual(keys ? byId(given) : given, keys ? byId(expected) : expected)
		for (const row of rows) {
			assert.equal(row.crashes, this.#model.entry(row.id)?.crashes)
			this.#claims.push({ owner: request.owner, held: { id: row.id, attempt: row.attempt }, destination })
		}
	}

	#outcome(held: ClaimRef, destination: string): Settlement {
		const error = { type: 'Error', message: 'boom', fingerprint: 'f' }
		const afterDeadLetter = DESTINATIONS.find(([name]) => name === destination)?.[1] ?? 'block'
		const inMs = this.#below(5) * MINUTE
		return this.#pick<Settlement>([
			{ type: 'sent', ...held },
			{ type: 'sent', ...held },
			{ type: 'retry', ...held, inMs, delayMs: inMs, error },
			{ type: 'release', ...held },
			{ type: 'release', ...held, inMs },
			{ type: 'dead', ...held, cause: 'permanent', error, afterDeadLetter },
		])
	}

	/** Some of what an owner claimed at any time: much of it is lost by now. */
	#someOf(owner: string): Claim[] {
		const mine = this.#claims.filter((claim) => claim.owner === owner).slice(-12)
		const chosen = mine.filter(() => this.#below(2) === 0)
		return chosen.filter(({ held }, n) => chosen.findIndex((other) => other.held.id === held.id) === n)
	}

	async settle(): Promise<void> {
		const owner = `r${this.#below(3)}`
		const outcomes = this.#someOf(owner).map(({ held, destination }) => this.#outcome(held, destination))
		const keepHistory = this.#below(2) === 0
		const now = await this.#now()
		const lost = await this.#store.settle(owner, outcomes, keepHistory)
		assert.deepEqual([...lost].sort(), this.#model.settle(owner, outcomes, keepHistory, now).sort())
		for (const { type, id } of outcomes)
			if (type === 'sent' && !lost.includes(id)) {
				assert.ok(!this.#sent.has(id), 'no message is acknowledged twice')
				this.#sent.add(id)
			}
	}

	async renew(): Promise<void> {
		const owner = `r${this.#below(3)}`
		const held = this.#someOf(owner).map((claim) => claim.held)
		const leaseMs = (1 + this.#below(4)) * MINUTE + MINUTE / 2
		const now = await this.#now()
		const lost = await this.#store.renew(owner, leaseMs, held)
		assert.deepEqual([...lost].sort(), this.#model.renew(owner, leaseMs, held, now).sort())
	}

	async archive(): Promise<void> {
		const [destination] = this.#pick(DESTINATIONS)
		const key = `k${this.#below(4)}`
		const now = await this.#now()
		const isMeant = (entry: Entry): boolean => entry.destination === destination && entry.key === key
		const move = this.#below(3)
		const keepHistory = this.#below(2) === 0
		const filter = { destination, key }
		const done =
			move === 0
				? await this.#store.discard(filter, ALL, OPERATOR, keepHistory)
				: move === 1
					? await this.#store.replay(filter, ALL, OPERATOR)
					: await this.#store.retryNow({ destination }, ALL)
		const expected =
			move === 0
				? this.#model.discard(isMeant, keepHistory)
				: move === 1
					? this.#model.replay(isMeant, now)
					: this.#model.retryNow(destination, now)
		// A message that is already due may be included or not; it stays due.
		if (move === 2) for (const id of expected) assert.ok(done.includes(id))
		else assert.deepEqual([...done].sort(), expected.sort())
	}

	async hold(): Promise<void> {
		const [destination] = this.#pick(DESTINATIONS)
		const forMs = this.#below(4) * MINUTE + MINUTE / 2
		this.#model.hold(destination, forMs, await this.#now())
		await this.#store.pause(destination, forMs, 'retry-after')
	}

	async advance(): Promise<void> {
		await this.#opened.advance((1 + this.#below(4)) * MINUTE)
	}

	/** Both return the same; then the model takes the store's times, which may be some milliseconds off. */
	async compare(): Promise<void> {
		const now = await this.#now()
		const listed = new Map((await this.#store.list({}, ALL)).map((message) => [message.id, message]))
		const known = [...this.#model.at('queue'), ...this.#model.at('dead')]
		assert.deepEqual(byId([...listed.values()]).map(idOf), byId(known).map(idOf))
		for (const entry of known) {
			const message = listed.get(entry.id)
			assert.ok(message)
			assert.equal(message.status === 'dead', entry.place === 'dead')
			assert.deepEqual(
				[message.attempts, message.crashes, message.cause],
				[entry.attempts, entry.crashes, entry.cause],
			)
			if (entry.place === 'dead') continue
			assert.ok(Math.abs((message.dueAt ?? 0) - entry.dueAt) < MINUTE / 2, 'it is due when it should be')
			entry.dueAt = message.dueAt ?? 0
			if (entry.lockedBy === null) assert.equal(message.lockedBy, null)
			if (entry.lockedBy === null || entry.leaseUntil <= now) continue
			assert.deepEqual([message.status, message.lockedBy], ['processing', entry.lockedBy])
			assert.ok(Math.abs((message.leaseUntil ?? 0) - entry.leaseUntil) < MINUTE / 2)
			entry.leaseUntil = message.leaseUntil ?? 0
		}
	}

	async figures(): Promise<void> {
		const { destinations } = await this.#store.stats(ALL)
		for (const [name] of DESTINATIONS) {
			const counts = destinations.find((each) => each.destination === name)
			const inQueue =
				(counts?.due.count ?? 0) + (counts?.scheduled.count ?? 0) + (counts?.inFlight.count ?? 0)
			const mine = (place: Entry['place']) =>
				this.#model.at(place).filter((entry) => entry.destination === name).length
			assert.deepEqual([inQueue, counts?.dead.count ?? 0], [mine('queue'), mine('dead')])
		}
		const now = await this.#now()
		const isDue = (entry: Entry): boolean => entry.dueAt <= now
		const due = new Set(
			this.#model
				.at('queue')
				.filter(isDue)
				.map((entry) => entry.destination),
		)
		assert.deepEqual([...(await this.#store.dueDestinations(ALL)).names].sort(), [...due].sort())
		for (const entry of this.#model.at('history')) assert.ok(await this.#store.find(entry.id))
	}

	async step(): Promise<void> {
		const { insert, claim, settle, renew, advance, archive, hold } = Run.prototype
		const moves = [
			insert,
			insert,
			claim,
			claim,
			claim,
			claim,
			settle,
			settle,
			settle,
			renew,
			advance,
			advance,
		]
		await this.#pick([...moves, ...moves, archive, archive, hold]).call(this)
		await this.compare()
	}
}

const idOf = ({ id }: { readonly id: string }): string => id

const byId = <T extends { readonly id: string }>(rows: readonly T[]): T[] =>
	[...rows].sort((a, b) => (a.id < b.id ? -1 : 1))

/** One run of random moves. It rejects at the first difference, and says at which step of which seed that was. */
export async function storeModel(
	open: () => Promise<OutboxStoreUnderTest>,
	seed: number,
	steps: number = 150,
): Promise<void> {
	const opened = await open()
	let step = 0
	try {
		await opened.store.migrate()
		const run = new Run(opened, seed)
		for (; step < steps; step++) {
			await run.step()
			if (step % 10 === 9) await run.figures()
		}
	} catch (error) {
		throw new Error(`seed ${seed}, step ${step}: ${error instanceof Error ? error.message : error}`, {
			cause: error,
		})
	} finally {
		await opened.close()
	}
}
