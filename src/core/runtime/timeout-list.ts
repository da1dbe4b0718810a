/**
 * Limits of one length, in the order in which they end: as all last equally long, that is the order in which they began.
 * One timer serves them all, since setting and clearing one for each call costs ten times as much as the call. The timer is left to run when the
 * limit it was set for is no longer needed, and then set again for the one that is first by then.
 *
 * A list belongs to what its timer is made of, too: one that was set under fake timers must not keep later ones waiting.
 */
import type { CancelTimer, Runtime } from './runtime.ts'

/** What ends when its time has come. An intrusive list: the links are in the members. */
export interface TimeoutEntry {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	/** When it was added; that and not the end, for then the number is shared with who else has it. */
	startedAt: number | undefined
	/** The list that it is in; undefined when it is in none. */
	list: TimeoutList | undefined
	expire(): void
}

export class TimeoutList {
	readonly ms: number
	readonly runtime: Runtime
	readonly source: object
	/** Where the next to end was found; undefined when nobody has looked for it. Storing it for each limit costs too much. */
	first: TimeoutEntry | undefined
	last: TimeoutEntry | undefined
	timer: CancelTimer | undefined

	constructor(ms: number, runtime: Runtime, source: object) {
		this.ms = ms
		this.runtime = runtime
		this.source = source
	}

	add(limit: TimeoutEntry, now: number): void {
		const { last, timer } = this
		limit.list = this
		limit.startedAt = now
		limit.before = last
		limit.after = undefined
		if (last) last.after = limit
		else if (timer) timer.keepAlive?.(true)
		else this.arm(this.ms)
		this.last = limit
	}

	remove(limit: TimeoutEntry): void {
		const { before, after } = limit
		if (before) before.after = after
		if (after) after.before = before
		else this.last = before
		if (this.first === limit) this.first = after
		// Who has left and is kept alive by hung work must not keep alive all that once stood beside it.
		limit.list = limit.before = limit.after = undefined
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
		for (let limit = this.oldest; limit && endOf(limit, this.ms) <= now; limit = this.oldest) {
			this.remove(limit)
			limit.expire()
		}
		const { oldest } = this
		if (!oldest) lists.get(this.source)?.delete(this.ms)
		else if (!this.timer) this.arm(endOf(oldest, this.ms) - now)
	}
}

const endOf = ({ startedAt = 0 }: TimeoutEntry, ms: number): number => startedAt + ms

const lists = new WeakMap<object, Map<number, TimeoutList>>()

/** The list for limits of this length. `latest` is the one that was used before, which mostly is the same. */
export function timeoutList(runtime: Runtime, ms: number, latest: TimeoutList | undefined): TimeoutList {
	const source = runtime.timerSource?.() ?? runtime
	if (latest?.source === source && latest.ms === ms && latest.runtime === runtime) return latest
	const ofSource = lists.get(source) ?? new Map<number, TimeoutList>()
	lists.set(source, ofSource)
	const list = ofSource.get(ms) ?? new TimeoutList(ms, runtime, source)
	ofSource.set(ms, list)
	return list
}
