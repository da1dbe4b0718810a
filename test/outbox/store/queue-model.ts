/**
 * A queue in an array, the simplest form of the contract: what a store must do, without SQL, indexes or batches. Times are the
 * store's own where they were read back, so that a database whose clock runs on can be compared as well.
 */
import type { AfterDeadLetter, ClaimRef, NewRow, Settlement } from '../../../src/outbox/store/rows.ts'

export interface Entry {
	readonly id: string
	readonly seq: number
	readonly destination: string
	readonly key: string | null
	place: 'queue' | 'dead' | 'history'
	dueAt: number
	attempts: number
	crashes: number
	lockedBy: string | null
	leaseUntil: number
	cause: string | null
	isBlocking: boolean
}

interface ModelTarget {
	readonly destination: string
	readonly limit: number
	readonly isOrdered: boolean
	readonly isProbe: boolean
	readonly keys: readonly string[] | undefined
}

export interface ModelClaim {
	readonly owner: string
	readonly leaseMs: number
	readonly poisonCandidates: boolean
	readonly poisonAfter: number
	readonly target: ModelTarget
}

export class QueueModel {
	readonly entries: Entry[] = []
	readonly heldUntil: Map<string, number> = new Map()
	readonly #keys = new Map<string, { readonly id: string; readonly expiresAt: number }>()
	#seq = 0

	at(place: Entry['place']): Entry[] {
		return this.entries.filter((entry) => entry.place === place)
	}

	entry(id: string): Entry | undefined {
		return this.entries.find((entry) => entry.id === id)
	}

	/** Returns the id of the message that has the key; undefined if the key is free. */
	#holder(dedupeKey: string, now: number): string | undefined {
		const holder = this.#keys.get(dedupeKey)
		if (holder === undefined) return undefined
		const place = this.entry(holder.id)?.place
		return holder.expiresAt > now || place === 'queue' || place === 'dead' ? holder.id : undefined
	}

	insert(rows: readonly NewRow[], now: number, dedupeForMs: number): Map<string, string> {
		const duplicates = new Map<string, string>()
		for (const { id, destination, key, dedupeKey, notBefore } of rows) {
			const holder = dedupeKey === null ? undefined : this.#holder(dedupeKey, now)
			if (holder !== undefined) {
				duplicates.set(id, holder)
				continue
			}
			if (dedupeKey !== null) this.#keys.set(dedupeKey, { id, expiresAt: (notBefore ?? now) + dedupeForMs })
			this.entries.push({
				id,
				destination,
				key,
				seq: ++this.#seq,
				place: 'queue',
				dueAt: notBefore ?? now,
				attempts: 0,
				crashes: 0,
				lockedBy: null,
				leaseUntil: 0,
				cause: null,
				isBlocking: false,
			})
		}
		return duplicates
	}

	/** Returns true if it is the first message of its key, and no later one is in flight. */
	#isHead({ destination, key, seq }: Entry, now: number): boolean {
		if (key === null) return true
		const isLaterInFlight = (other: Entry): boolean =>
			other.seq > seq && other.lockedBy !== null && other.leaseUntil > now
		const ofKey = this.at('queue').filter((other) => other.destination === destination && other.key === key)
		if (ofKey.some(isLaterInFlight)) return false
		return !this.entries.some(
			(other) =>
				other.destination === destination &&
				other.key === key &&
				other.seq < seq &&
				(other.place === 'queue' || (other.place === 'dead' && other.isBlocking)),
		)
	}

	claim({ owner, leaseMs, poisonCandidates, poisonAfter, target }: ModelClaim, now: number): ClaimRef[] {
		if ((this.heldUntil.get(target.destination) ?? 0) > now && !target.isProbe) return []
		const given = this.at('queue')
			.filter((entry) => entry.destination === target.destination && entry.dueAt <= now)
			.filter((entry) => entry.lockedBy === null || entry.leaseUntil <= now)
			.filter(
				(entry) => entry.crashes + (entry.lockedBy === null ? 0 : 1) >= poisonAfter === poisonCandidates,
			)
			.filter((entry) => !target.isOrdered || this.#isHead(entry, now))
			.filter((entry) => target.keys === undefined || (entry.key !== null && target.keys.includes(entry.key)))
			.sort((a, b) => a.dueAt - b.dueAt || a.seq - b.seq)
			.slice(0, target.limit)
		for (const entry of given) {
			entry.crashes += entry.lockedBy === null ? 0 : 1
			entry.attempts++
			entry.lockedBy = owner
			entry.leaseUntil = now + leaseMs
		}
		return given.map(({ id, attempts }) => ({ id, attempt: attempts }))
	}

	#held(owner: string, { id, attempt }: ClaimRef): Entry | undefined {
		const entry = this.entry(id)
		return entry?.place === 'queue' && entry.lockedBy === owner && entry.attempts === attempt
			? entry
			: undefined
	}

	renew(owner: string, leaseMs: number, held: readonly ClaimRef[], now: number): string[] {
		return held.flatMap((each) => {
			const entry = this.#held(owner, each)
			if (entry) entry.leaseUntil = now + leaseMs
			return entry ? [] : [each.id]
		})
	}

	settle(owner: string, outcomes: readonly Settlement[], keepHistory: boolean, now: number): string[] {
		return outcomes.flatMap((outcome) => {
			const entry = this.#held(owner, outcome)
			if (!entry) return [outcome.id]
			entry.lockedBy = null
			if (outcome.type === 'sent') this.#end(entry, keepHistory)
			else if (outcome.type === 'dead') this.#bury(entry, outcome.cause, outcome.afterDeadLetter)
			else if (outcome.type === 'retry') {
				entry.dueAt = now + outcome.inMs
				entry.crashes = 0
			} else {
				entry.attempts--
				if (outcome.inMs !== undefined) entry.dueAt = now + outcome.inMs
			}
			return []
		})
	}

	#end(entry: Entry, keepHistory: boolean): void {
		if (keepHistory) entry.place = 'history'
		else this.entries.splice(this.entries.indexOf(entry), 1)
	}

	#bury(entry: Entry, cause: string, afterDeadLetter: AfterDeadLetter): void {
		entry.place = 'dead'
		entry.cause = cause
		entry.isBlocking = afterDeadLetter === 'block'
		if (afterDeadLetter !== 'dead-letter-rest' || entry.key === null) return
		for (const other of this.at('queue'))
			if (other.destination === entry.destination && other.key === entry.key && other.seq > entry.seq)
				this.#bury(other, 'predecessor-dead', 'skip')
	}

	replay(isMeant: (entry: Entry) => boolean, now: number): string[] {
		const letters = this.at('dead').filter(isMeant)
		for (const entry of letters) {
			entry.place = 'queue'
			entry.dueAt = now
			entry.attempts = 0
			entry.crashes = 0
			entry.cause = null
			entry.isBlocking = false
		}
		return letters.map((entry) => entry.id)
	}

	discard(isMeant: (entry: Entry) => boolean, keepHistory: boolean): string[] {
		const letters = this.at('dead').filter(isMeant)
		for (const entry of letters) this.#end(entry, keepHistory)
		return letters.map((entry) => entry.id)
	}

	retryNow(destination: string, now: number): string[] {
		const waiting = this.at('queue').filter(
			(entry) =>
				entry.destination === destination &&
				entry.lockedBy === null &&
				entry.dueAt > now &&
				entry.attempts > 0,
		)
		for (const entry of waiting) entry.dueAt = now
		return waiting.map((entry) => entry.id)
	}

	hold(destination: string, forMs: number, now: number): void {
		this.heldUntil.set(destination, Math.max(this.heldUntil.get(destination) ?? 0, now + forMs))
	}
}
