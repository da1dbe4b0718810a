/**
 * Timeouts of equal length, in the order in which they expire, which is the order in which they started. One
 * timer serves all of them, because setting and clearing a timer for each call costs ten times as much as the
 * call. The timer keeps running when its entry is removed; when it fires, it is set again for the first entry
 * in the list.
 *
 * A list belongs to one timer implementation: a timer set under fake timers must not block later real ones.
 * Where a timer ends with the request that set it, each call has a list of its own.
 */
import type { CancelTimer, Runtime } from './runtime.ts'

/** A timeout. The list is intrusive: the entries contain the links. */
export interface TimeoutEntry {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	/** When it was added. The call already has this number as an object, so it costs no memory. */
	startedAt: number | undefined
	/** The list that contains it; undefined if none does. */
	list: TimeoutList | undefined
	expire(): void
}

export class TimeoutList {
	readonly ms: number
	readonly runtime: Runtime
	readonly source: object
	/**
	 * The cached first entry; undefined until it is searched for. Updating it in every `add` is too expensive.
	 */
	first: TimeoutEntry | undefined
	last: TimeoutEntry | undefined
	timer: CancelTimer | undefined

	constructor(ms: number, runtime: Runtime, source: object) {
		this.ms = ms
		this.runtime = runtime
		this.source = source
	}

	add(entry: TimeoutEntry, now: number): void {
		const { last, timer } = this
		entry.list = this
		entry.startedAt = now
		entry.before = last
		entry.after = undefined
		if (last) last.after = entry
		else if (timer) timer.keepAlive?.(true)
		else this.arm(this.ms)
		this.last = entry
	}

	remove(entry: TimeoutEntry): void {
		const { before, after } = entry
		if (before) before.after = after
		if (after) after.before = before
		else this.last = before
		if (this.first === entry) this.first = after
		// An entry that an operation still references must not keep its former neighbors alive.
		entry.list = entry.before = entry.after = undefined
		const { timer } = this
		if (this.last || !timer) return
		if (timer.keepAlive) timer.keepAlive(false)
		else {
			timer()
			this.timer = undefined
		}
	}

	get oldest(): TimeoutEntry | undefined {
		this.first ??= this.last
		while (this.first?.before) this.first = this.first.before
		return this.first
	}

	arm(ms: number): void {
		this.timer = this.runtime.setTimer(ms, () => this.fire(), 'limit')
	}

	fire(): void {
		this.timer = undefined
		const now = this.runtime.now()
		for (let entry = this.oldest; entry && endOf(entry, this.ms) <= now; entry = this.oldest) {
			this.remove(entry)
			entry.expire()
		}
		const { oldest } = this
		if (!oldest) lists.get(this.source)?.delete(this.ms)
		else if (!this.timer) this.arm(endOf(oldest, this.ms) - now)
	}
}

const endOf = ({ startedAt = 0 }: TimeoutEntry, ms: number): number => startedAt + ms

const lists = new WeakMap<object, Map<number, TimeoutList>>()

/** Returns the list for timeouts of this length. `latest`: the list used before, usually the same one. */
export function findTimeoutList(runtime: Runtime, ms: number, latest: TimeoutList | undefined): TimeoutList {
	const source = runtime.timerSource?.() ?? runtime
	if (latest?.source === source && latest.ms === ms && latest.runtime === runtime) return latest
	const ofSource = lists.get(source) ?? new Map<number, TimeoutList>()
	lists.set(source, ofSource)
	const list = ofSource.get(ms) ?? new TimeoutList(ms, runtime, source)
	ofSource.set(ms, list)
	return list
}
