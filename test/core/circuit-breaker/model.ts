/**
 * The breaker once more, slowly and obviously: lists that are searched each time instead of rings and running sums, and a
 * generation that is an object instead of a number. Whatever the circuit does has to be what this does.
 */
import { computeDelayMs } from '../../../src/core/backoff/formula.ts'
import type { CircuitBreakerStats } from '../../../src/core/circuit-breaker/circuit.ts'
import type { CircuitSettings } from '../../../src/core/circuit-breaker/options.ts'
import type { CircuitState } from '../../../src/core/events/events.ts'
import { ModelWindow } from './model-window.ts'

/** A call that was let in. */
export interface ModelCall {
	readonly generation: object
	readonly startedAt: number
}

export class CircuitModel {
	settings: CircuitSettings
	state: CircuitState = 'closed'
	/** The random number, always the same. */
	draw: number
	/** How often each thing happened that a run of histories should have seen. */
	readonly tally: Record<string, number>
	#generation = {}
	#window = new ModelWindow()
	/** Failures since the latest success. Failures that were too old at the next failure are removed. */
	#streak: number[] = []
	/** The open times since it was last closed, as the backoff made them. */
	#delays: number[] = []
	#failedProbes = -1
	#until = 0
	#rejected = 0
	#successes = 0
	/** Failed probes of this half-open state. */
	#failures = 0
	#probes: ModelCall[] = []
	readonly #holders = new Set<symbol>()
	/** The state to which the last holder returns. */
	#found: CircuitState = 'closed'

	constructor(settings: CircuitSettings, draw = 0.5, tally: Record<string, number> = {}) {
		this.settings = settings
		this.draw = draw
		this.tally = tally
	}

	/** Undefined means rejected. */
	admit(now: number): ModelCall | undefined {
		this.look(now)
		const call = { generation: this.#generation, startedAt: now }
		if (this.state === 'closed') return call
		if (this.state === 'isolated') return this.#reject('rejected while isolated')
		if (this.state === 'open') {
			if (now < this.#until) return this.#reject('rejected while open')
			this.#successes = this.#failures = 0
			this.#turn('half-open')
		}
		if (this.#probes.length >= this.settings.halfOpenMaxConcurrent)
			return this.#reject('rejected while half-open')
		const probe = { generation: this.#generation, startedAt: now }
		this.#probes.push(probe)
		return probe
	}

	settle(
		call: ModelCall | undefined,
		now: number,
		durationMs: number,
		failed: boolean,
		retryAfterMs?: number,
	): void {
		this.look(now)
		if (call?.generation !== this.#generation) {
			this.#count('late result')
			return
		}
		const slow = durationMs >= this.settings.slowCallMs
		if (this.state === 'half-open') {
			if (!this.#probes.includes(call)) return
			this.#probes = this.#probes.filter((probe) => probe !== call)
			this.#judge(failed || slow, now, retryAfterMs)
			return
		}
		this.#window.add({ at: now, failed, slow })
		this.#streak =
			failed && this.settings.failureThreshold < Infinity ? [...this.#recentStreak(now), now] : []
		const rule = this.#tripped(now)
		if (!rule) return
		this.#count(`opened by ${rule}`)
		this.#open(now, retryAfterMs)
	}

	ignore(call: ModelCall | undefined, now: number): void {
		this.look(now)
		this.#probes = this.#probes.filter((probe) => probe !== call)
	}

	/** What a timer would have done by now. */
	look(now: number): void {
		for (const probe of [...this.#probes]) {
			const dueAt = probe.startedAt + this.settings.probeTimeoutMs
			if (now < dueAt || !this.#probes.includes(probe)) return
			this.#count('hung probe')
			this.#probes = this.#probes.filter((other) => other !== probe)
			this.#judge(true, dueAt)
		}
	}

	#judge(failed: boolean, now: number, retryAfterMs?: number): void {
		const { successThreshold, halfOpenFailureRate } = this.settings
		if (failed) this.#failures++
		else this.#successes++
		const isTooBad = this.#failures > 0 && this.#failures / successThreshold >= halfOpenFailureRate
		if (isTooBad) this.#open(now, retryAfterMs)
		else if (this.#failures + this.#successes >= successThreshold) {
			if (this.#failures > 0) this.#count('closed in spite of a failed probe')
			this.#close()
		}
	}

	reset(): void {
		const { state } = this
		this.#close()
		if (state !== 'isolated') return
		this.#found = 'closed'
		this.#turn('isolated')
	}

	isolate(now: number): () => void {
		this.look(now)
		const holder = Symbol()
		if (this.#holders.size === 0) {
			this.#found = this.state
			this.#turn('isolated')
		}
		this.#holders.add(holder)
		return () => {
			if (!this.#holders.delete(holder) || this.#holders.size > 0) return
			this.#count(`released to ${this.#found}`)
			if (this.#found === 'closed') this.#rejected = 0
			this.#turn(this.#found)
		}
	}

	update(settings: CircuitSettings, now: number): void {
		this.look(now)
		this.#window = this.#window.under(settings, this.settings, now)
		if (settings.failureThreshold === Infinity) this.#streak = []
		this.settings = settings
	}

	/** Another process takes over, so much later, with a clock of its own. Its calls are gone, and so is isolation. */
	restart(before: number, after: number, passedMs: number): void {
		this.look(before)
		const passed = Math.max(0, passedMs)
		if (this.#holders.size > 0) this.#turn(this.#found)
		this.#holders.clear()
		this.#window = this.#window.movedTo(after - passed, this.settings, before)
		const { failureThreshold } = this.settings
		this.#streak = this.#streak
			.filter((_, place, all) => place >= all.length - failureThreshold)
			.map((at) => after - passed - (before - at))
		const left = Math.max(0, this.#until - before)
		this.#until = after + Math.max(0, Math.min(left, this.#longestOpenMs()) - passed)
		this.#rejected = 0
		this.#turn(this.state === 'closed' ? 'closed' : 'open')
	}

	stats(now: number): CircuitBreakerStats {
		this.look(now)
		const { state } = this
		const probed = Array.from({ length: this.#successes + this.#failures }, (_, place) => ({
			failed: place < this.#failures,
			slow: false,
		}))
		const calls = state === 'half-open' ? probed : this.#window.recent(this.settings, now)
		const failureCount = calls.filter((call) => call.failed).length
		const slowCallCount = calls.filter((call) => call.slow).length
		return {
			state,
			failureCount,
			successCount: calls.length - failureCount,
			errorRate: calls.length ? failureCount / calls.length : 0,
			slowCallCount,
			slowCallRate: calls.length ? slowCallCount / calls.length : 0,
			consecutiveFailures: this.#recentStreak(now).length,
			rejectedCount: this.#rejected,
			retryAfterMs: this.#retryAfterMs(now),
			canProbe: state === 'open' && now >= this.#until,
		}
	}

	#longestOpenMs(): number {
		return Math.max(this.settings.resetTimeoutMs, this.settings.maxRetryAfterMs)
	}

	#retryAfterMs(now: number): number {
		if (this.state === 'closed') return 0
		if (this.state === 'isolated') return Infinity
		const { halfOpenMaxConcurrent, probeTimeoutMs } = this.settings
		const [oldest] = this.#probes
		if (this.state === 'open') return Math.max(0, this.#until - now)
		return oldest && this.#probes.length >= halfOpenMaxConcurrent
			? Math.min(oldest.startedAt + probeTimeoutMs - now, this.#delays.at(-1) || Infinity)
			: 0
	}

	#recentStreak(now: number): number[] {
		return this.#streak.filter((at) => now - at <= this.settings.monitorWindowMs)
	}

	#tripped(now: number): string | undefined {
		const { failureThreshold, errorRateThreshold, slowCallRateThreshold, minimumRequests } = this.settings
		if (this.#recentStreak(now).length >= failureThreshold) return 'consecutive failures'
		const calls = this.#window.recent(this.settings, now)
		if (calls.length < minimumRequests) return undefined
		if (calls.filter((call) => call.failed).length / calls.length >= errorRateThreshold) return 'error rate'
		const isSlow = calls.filter((call) => call.slow).length / calls.length >= slowCallRateThreshold
		return isSlow ? 'slow calls' : undefined
	}

	#open(at: number, retryAfterMs = 0): void {
		const { resetBackoff, resetTimeoutMs, maxRetryAfterMs } = this.settings
		this.#failedProbes++
		const previous = this.#delays.at(-1) ?? resetBackoff?.baseDelayMs ?? 0
		const delay = resetBackoff
			? computeDelayMs(resetBackoff, this.#failedProbes, previous, { random: () => this.draw })
			: resetTimeoutMs
		this.#delays.push(delay)
		this.#until = at + Math.max(delay, Math.min(retryAfterMs, maxRetryAfterMs))
		if (this.#failedProbes) this.#count('reopened')
		this.#turn('open')
	}

	#close(): void {
		this.#window = new ModelWindow()
		this.#streak = []
		this.#delays = []
		this.#failedProbes = -1
		this.#rejected = 0
		if (this.state === 'half-open') this.#count('closed again')
		this.#turn('closed')
	}

	#turn(to: CircuitState): void {
		this.state = to
		this.#generation = {}
		this.#probes = []
	}

	#reject(how: string): undefined {
		this.#rejected++
		this.#count(how)
	}

	#count(what: string): void {
		this.tally[what] = (this.tally[what] ?? 0) + 1
	}
}
