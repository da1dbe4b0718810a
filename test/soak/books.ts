/**
 * What the policies may do, counted once more from outside and in another way: a soak compares every event with these books.
 * They note a breach instead of throwing it, for an error thrown into a call would only become that call's outcome.
 */
import type { CircuitState } from 'yaoki'

/** What must not happen, told with its time. The first few are enough to find it by its seed. */
export class Breaches {
	readonly texts: string[] = []
	count = 0

	note(now: number, what: string): void {
		if (this.count++ < 5) this.texts.push(`at ${now} ms: ${what}`)
	}
}

const TENTHS = 10

/** A retry budget: each call and retry by the tenth of the window in which it was. */
export class BudgetBook {
	/** Of a hundred calls. */
	percent: number
	perSecond: number
	#windowMs: number
	#origin: number | undefined
	#tenths: { readonly tenth: number; calls: number; retries: number }[] = []
	#calls = 0
	#retries = 0

	constructor(percent: number, perSecond: number, windowMs: number) {
		this.percent = percent
		this.perSecond = perSecond
		this.#windowMs = windowMs
	}

	call(now: number): void {
		this.#tenthOf(now).calls++
		this.#calls++
	}

	/** Answers how many more there may be; below 0, this one was too many. */
	retry(now: number): number {
		this.#tenthOf(now).retries++
		this.#retries++
		const earned = Math.floor((this.percent * this.#calls) / 100)
		return Math.max(earned, Math.floor((this.perSecond * this.#windowMs) / 1_000)) - this.#retries
	}

	/** Another window: what was counted stays, as though it had just happened. */
	resize(now: number, windowMs: number): void {
		if (windowMs === this.#windowMs) return
		this.#tenthOf(now)
		this.#windowMs = windowMs
		this.#origin = now
		this.#tenths = [{ tenth: 0, calls: this.#calls, retries: this.#retries }]
	}

	#tenthOf(now: number) {
		this.#origin ??= now
		const tenth = Math.floor(((now - this.#origin) * TENTHS) / this.#windowMs)
		for (let [oldest] = this.#tenths; oldest && oldest.tenth <= tenth - TENTHS; [oldest] = this.#tenths) {
			this.#calls -= oldest.calls
			this.#retries -= oldest.retries
			this.#tenths.shift()
		}
		const latest = this.#tenths.at(-1)
		if (latest?.tenth === tenth) return latest
		const fresh = { tenth, calls: 0, retries: 0 }
		this.#tenths.push(fresh)
		return fresh
	}
}

export interface CircuitRules {
	readonly failureThreshold: number
	readonly successThreshold: number
	readonly resetTimeoutMs: number
	readonly halfOpenMaxConcurrent: number
	readonly monitorWindowMs: number
}

/** One that was let through while half-open. */
export interface Probe {
	readonly startedAt: number
	/** Has it ended, though the book was not told yet? */
	isGone?(): boolean
}

/** A circuit breaker that counts failures in a row. */
export class CircuitBook {
	rules: CircuitRules
	state: CircuitState = 'closed'
	/** Changes with the state: what began in another one counts for nothing. */
	generation = 0
	opened = 0
	readonly #breaches: Breaches
	/** Does the book see every outcome that the breaker sees? If not, it watches only who is let in and when. */
	readonly #isComplete: boolean
	#failures: number[] = []
	#successes = 0
	#halfOpenFrom = 0
	#probes = new Set<Probe>()

	constructor(rules: CircuitRules, breaches: Breaches, isComplete: boolean) {
		this.rules = rules
		this.#breaches = breaches
		this.#isComplete = isComplete
	}

	changed(from: CircuitState, to: CircuitState, now: number): void {
		const { failureThreshold, successThreshold, resetTimeoutMs } = this.rules
		const complain = (what: string) => this.#breaches.note(now, `the circuit ${what}`)
		if (from !== this.state) complain(`was ${this.state} and told that it was ${from}`)
		if (to === 'open') {
			this.opened++
			// The outcome that opens it is not written down here yet.
			if (this.#isComplete && from === 'closed' && this.#recent(now) + 1 < failureThreshold)
				complain(`opened after ${this.#recent(now) + 1} failures`)
			// A probe that hangs was given up when its time was up, though nobody looked until now.
			const [oldest] = this.#probes
			const dueAt = (oldest?.startedAt ?? Infinity) + resetTimeoutMs
			this.#halfOpenFrom = Math.min(now, dueAt) + resetTimeoutMs
		} else if (to === 'half-open') {
			if (now < this.#halfOpenFrom) complain(`let a probe in ${this.#halfOpenFrom - now} ms early`)
		} else if (this.#isComplete && this.#successes + 1 < successThreshold)
			complain(`closed after ${this.#successes + 1} good probes`)
		this.state = to
		this.generation++
		this.#failures = []
		this.#successes = 0
		this.#probes = new Set()
	}

	/** The work is called for somebody who was just let in. Answers the generation that this counts for. */
	admit(probe: Probe): number {
		const { startedAt } = probe
		if (this.state === 'open') this.#breaches.note(startedAt, 'work was called while the circuit was open')
		if (this.state === 'half-open') {
			for (const other of this.#probes) if (other.isGone?.()) this.#probes.delete(other)
			this.#probes.add(probe)
			if (this.#probes.size > this.rules.halfOpenMaxConcurrent)
				this.#breaches.note(startedAt, `${this.#probes.size} probes were under way`)
		}
		return this.generation
	}

	end(probe: Probe, generation: number, now: number, outcome: 'good' | 'bad' | 'neither'): void {
		this.#probes.delete(probe)
		if (generation !== this.generation || outcome === 'neither') return
		if (outcome === 'good') {
			this.#successes++
			this.#failures = []
			return
		}
		this.#failures.push(now)
		if (this.#isComplete && this.#recent(now) >= this.rules.failureThreshold)
			this.#breaches.note(
				now,
				`the circuit was ${this.state} after ${this.#failures.length} failures in a row`,
			)
	}

	#recent(now: number): number {
		const failures = this.#failures
		while (now - (failures[0] ?? now) > this.rules.monitorWindowMs) failures.shift()
		return failures.length
	}
}
