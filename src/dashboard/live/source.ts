/** One policy, pipeline, client or interceptor that a dashboard observes. */
import type { Call } from '../../core/engine/call.ts'
import type { Observation, ObservedPipeline } from '../../core/observe/observation.ts'
import { combineEnds } from '../../core/observe/subscribe.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { RetryRow } from '../contract.ts'
import { Circuits } from './circuits.ts'
import { listenToFailures } from './failure-listeners.ts'
import { Problems } from './problems.ts'
import { BUCKET_MS, type CountKind, LIMIT_REASONS, Rates } from './rates.ts'
import type { ShownTexts } from './shown-texts.ts'
import { errorOf, type FailureOutcome, isUnhealthy, rejectionReason } from './take-failure.ts'

/** The steps of the last minute. */
const MINUTE = 6

export class Source {
	readonly name: string
	readonly observation: Observation
	readonly circuits: Circuits
	readonly problems: Problems
	readonly #rates: Rates
	readonly #runtime: Runtime

	constructor(name: string, observation: Observation, runtime: Runtime, texts: ShownTexts) {
		this.name = name
		this.observation = observation
		this.#runtime = runtime
		this.#rates = new Rates(runtime.now())
		this.circuits = new Circuits(name, observation, runtime, texts)
		this.problems = new Problems(name, this.#rates)
	}

	/** Calls `onFailure` with every call in which something failed. Returns a function that ends this. */
	observe(onFailure: (call: Call) => void): () => void {
		return this.observation.calls?.((pipeline) => this.#attach(pipeline, onFailure)) ?? (() => {})
	}

	#attach({ compiled, listen }: ObservedPipeline, onFailure: (call: Call) => void): () => void {
		let before = this.#runtime.now()
		return combineEnds([
			listen(() => {}, { visit: (policy) => this.circuits.watch(policy) }),
			listenToFailures(compiled, (call, successes) => {
				const now = this.#runtime.now()
				// Assumed to be spread evenly over the time since the failure before.
				const share = Math.min(1, BUCKET_MS / (now - before || 1))
				before = now
				this.#rates.add(now, 'success', successes * share)
				onFailure(call)
			}),
		])
	}

	/** Counts a call whose record is closed. `outcome` is undefined if a retry succeeded. */
	count(call: Call, outcome: FailureOutcome, now: number): void {
		const add = (kind: CountKind, amount = 1) => this.#rates.add(now, kind, amount)
		if (call.attempt > 0) {
			add('retry', call.attempt)
			add('retried')
			if (outcome === undefined) add('retried-success')
		}
		if (outcome === undefined) {
			add('success')
			return
		}
		const reason = rejectionReason(errorOf(call))
		const limit = LIMIT_REASONS.find((one) => one === reason)
		if (limit) add(limit)
		if (outcome === 'rejected') add('rejected')
		// The callers of a call with a fallback have received a result.
		else if (outcome === 'failure') add('failure')
		if (reason === undefined && isUnhealthy(call)) add('unhealthy')
	}

	retryRow(now: number): RetryRow {
		const rates = this.#rates
		const retried = rates.sum(now, 'retried', MINUTE)
		return {
			source: this.name,
			retriesPerSecond: rates.perSecond(now, 'retry', MINUTE),
			successRate: retried > 0 ? rates.sum(now, 'retried-success', MINUTE) / retried : null,
			meanRetries: retried > 0 ? rates.sum(now, 'retry', MINUTE) / retried : null,
			failuresPerSecond: rates.perSecond(now, 'failure', MINUTE),
			rejectedPerSecond: rates.perSecond(now, 'rejected', MINUTE),
			failures: rates.series(now, 'failure'),
			retries: rates.series(now, 'retry'),
		}
	}
}
