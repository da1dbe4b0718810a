/**
 * Independent models of what the policies may do. A soak compares every event with them. They record a violation instead of throwing,
 * because an error thrown into a call would only become the outcome of that call.
 */
import type { CircuitState } from 'yaoki'

/** What must not happen, with its time. The first few are enough to find the cause with the seed. */
export class Violations {
	readonly texts: string[] = []
	count = 0

	note(now: number, what: string): void {
		if (this.count++ < 5) this.texts.push(`at ${now} ms: ${what}`)
	}
}

const TENTHS = 10

/** A retry budget: counts calls and retries in tenths of the window. */
export class BudgetModel {
	/** Retries for a hundred calls. */
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

	/** Returns how many more retries are allowed; negative if this one was too many. */
	retry(now: number): number {
		this.#tenthOf(now).retries++
		this.#retries++
		const earned = Math.floor((this.percent * this.#calls) / 100)
		return Math.max(earned, Math.floor((this.perSecond * this.#windowMs) / 1_000)) - this.#retries
	}

	/** Changes the window. Counts stay, as if they had just happened. */
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

/** A call that was admitted while the circuit was half-open. */
export interface Probe {
	readonly startedAt: number
	/** Returns true if it has ended and the model has not counted it yet. */
	isGone?(): boolean
}

/** A circuit breaker that counts consecutive failures. */
export class CircuitModel {
	rules: CircuitRules
	state: CircuitState = 'closed'
	/** Increases with every state change. Outcomes of another generation do not count. */
	generation = 0
	opened = 0
	readonly #violations: Violations
	/** False if the model does not see every outcome. Then it only checks which calls are admitted, and when. */
	readonly #isComplete: boolean
	#failures: number[] = []
	#successes = 0
	#halfOpenFrom = 0
	#probes = new Set<Probe>()

	constructor(rules: CircuitRules, violations: Violations, isComplete: boolean) {
		this.rules = rules
		this.#violations = violations
		this.#isComplete = isComplete
	}

	changed(from: CircuitState, to: CircuitState, now: number): void {
		const { failureThreshold, successThreshold, resetTimeoutMs } = this.rules
		const complain = (what: string) => this.#violations.note(now, `the circuit ${what}`)
		if (from !== this.state) complain(`was ${this.state} but reported ${from}`)
		if (to === 'open') {
			this.opened++
			// The outcome that opens it is not counted here yet.
			if (this.#isComplete && from === 'closed' && this.#recent(now) + 1 < failureThreshold)
				complain(`opened after ${this.#recent(now) + 1} failures`)
			// A hung probe expired at its time limit, although the breaker notices only now.
			const [oldest] = this.#probes
			const dueAt = (oldest?.startedAt ?? Infinity) + resetTimeoutMs
			this.#halfOpenFrom = Math.min(now, dueAt) + resetTimeoutMs
		} else if (to === 'half-open') {
			if (now < this.#halfOpenFrom) complain(`admitted a probe ${this.#halfOpenFrom - now} ms early`)
		} else if (this.#isComplete && this.#successes + 1 < successThreshold)
			complain(`closed after ${this.#successes + 1} successful probes`)
		this.state = to
		this.generation++
		this.#failures = []
		this.#successes = 0
		this.#probes = new Set()
	}

	/** A call that was just admitted starts. Returns the generation that its outcome counts for. */
	admit(probe: Probe): number {
		const { startedAt } = probe
		if (this.state === 'open') this.#violations.note(startedAt, 'a call started while the circuit was open')
		if (this.state === 'half-open') {
			for (const other of this.#probes) if (other.isGone?.()) this.#probes.delete(other)
			this.#probes.add(probe)
			if (this.#probes.size > this.rules.halfOpenMaxConcurrent)
				this.#violations.note(startedAt, `${this.#probes.size} probes were in flight`)
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
			this.#violations.note(
				now,
				`the circuit was ${this.state} after ${this.#failures.length} consecutive failures`,
			)
	}

	#recent(now: number): number {
		const failures = this.#failures
		while (now - (failures[0] ?? now) > this.rules.monitorWindowMs) failures.shift()
		return failures.length
	}
}
