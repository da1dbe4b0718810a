import { recordRequestOnce } from '../budget/budget.ts'
import type { BoundLayer, Call } from '../engine/call.ts'
import { runInterruptibly } from '../engine/interruptible-runner.ts'
import type { Step } from '../engine/layer.ts'
import type { Emit, ObservableLayer } from '../engine/policy.ts'
import { nextStart } from '../explain/exhausted-retries.ts'
import {
	Branch,
	delayAfterFailure,
	FEWEST_LATENCIES,
	HedgedCall,
	type HedgeRule,
	type Hedging,
	prepare,
	send,
} from './hedged-call.ts'
import { LatencyHistogram } from './latency.ts'
import type { HedgeSettings } from './options.ts'

export class HedgeLayer implements ObservableLayer, Hedging {
	/** Undefined for a call that must not be sent twice. */
	declare readonly callState: HedgedCall | Branch | undefined
	readonly runner: typeof runInterruptibly = runInterruptibly
	readonly latencies: LatencyHistogram = new LatencyHistogram()
	settings: HedgeSettings
	emit: Emit | undefined
	/** Default: a permanent failure ends the call; after another failure no more hedges are sent. */
	rule: HedgeRule | undefined

	constructor(settings: HedgeSettings) {
		this.settings = settings
	}

	/** The delay before a hedge; undefined if it is not known yet. */
	get delayMs(): number | undefined {
		const { delayMs, percentile } = this.settings
		if (delayMs >= 0) return delayMs
		return this.latencies.count < FEWEST_LATENCIES
			? undefined
			: Math.ceil(this.latencies.percentile(percentile) ?? 0)
	}

	enter(call: Call, bound: BoundLayer<HedgeLayer>): Step {
		if (call.options?.idempotent === false) return 'continue'
		const { budget } = this.settings
		if (budget) recordRequestOnce(call, budget, bound.runtime)
		const hedged = new HedgedCall(call, bound)
		call.scope = hedged
		return call.enterLayer(bound, hedged)
	}

	/** Only calls that do not settle immediately are hedged. */
	onPending(call: Call, bound: BoundLayer<HedgeLayer>): void {
		const hedged = call.layerState(bound)
		if (!(hedged instanceof HedgedCall)) return
		// The last hedge may have ended after the call itself had failed, and before its wait began.
		hedged.wakeIfLast()
		if (hedged.since !== undefined) return
		hedged.since = call.now(bound.runtime)
		const { delayMs } = this
		if (delayMs !== undefined) prepare(hedged, 1, delayMs)
	}

	/** The time of a hedge has come; or the call itself resumes, because all hedges have ended or one has won. */
	resume(call: Call, bound: BoundLayer<HedgeLayer>): Step {
		const hedged = call.layerState(bound)
		if (hedged instanceof Branch) return send(hedged)
		const isExpired = call.options?.deadline?.isExpired && hedged instanceof HedgedCall && hedged.isInFlight
		if (isExpired && this.rule?.expired) {
			call.value = this.rule.expired(call)
			call.stop = 'deadline'
		}
		return call.runLeave()
	}

	leave(call: Call, bound: BoundLayer<HedgeLayer>): Step {
		const hedged = call.layerState(bound)
		if (hedged instanceof Branch) return hedged.leave()
		if (!(hedged instanceof HedgedCall)) return 'continue'
		const { winner } = hedged
		// An outer layer has already interrupted the call: later results are ignored.
		const isInterrupted = call.rare?.interruption
		if (!call.ok && !winner && hedged.isPending && !hedged.hasFailed && !isInterrupted) {
			const delayMs = delayAfterFailure(call, hedged.bound, Infinity)
			if (delayMs !== undefined) {
				hedged.hasFailed = true
				hedged.reschedule(delayMs)
				if (hedged.isPending) return 'park'
			}
		} else if (winner && !isInterrupted) {
			call.ok = winner.hasSucceeded
			call.value = winner.call.value
			call.stop = winner.stop
			// The call was not interrupted, but has the outcome of another request.
			call.rareState.ending = undefined
		} else if (call.ok)
			this.latencies.record(hedged.since === undefined ? 0 : bound.runtime.now() - hedged.since)
		// The rule makes each of these requests a retry of the one before.
		else if (this.rule && hedged.hasFailed && !isInterrupted) call.rareState.finalSince = nextStart()
		hedged.end()
		return 'continue'
	}
}
