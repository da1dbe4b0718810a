/**
 * A hedge is a branch of the call that begins with a wait: it is created together with the call, in the caller's
 * async context, and parked until its time comes. The first branch is the call itself, so a call that settles in time
 * pays for nothing else.
 */
import { recordRequestOnce } from '../budget/deposit.ts'
import { type BoundLayer, Call } from '../engine/call.ts'
import type { CallOptions } from '../engine/call-options.ts'
import { interrupt } from '../engine/interrupt.ts'
import { runBranch, runInterruptibly } from '../engine/interruptible-runner.ts'
import { GO, PARK, type Step } from '../engine/layer.ts'
import type { Emit, ObservableLayer } from '../engine/policy.ts'
import { abortScope, type Scope, type SignalLink, scopeSignal } from '../engine/scope.ts'
import { YaokiError } from '../errors/errors.ts'
import { findTimeoutList, type TimeoutEntry, type TimeoutList } from '../runtime/timeout-list.ts'
import { LatencyHistogram } from './latency.ts'
import type { HedgeSettings } from './options.ts'

/** With fewer latencies, a percentile is meaningless. */
const FEWEST = 20

/** The abort reason of the other requests when one has ended the call. */
const lost = (): YaokiError => new YaokiError('YAOKI_CANCELLED', 'another request of this call ended first')

export class HedgeLayer implements ObservableLayer {
	readonly runner: typeof runInterruptibly = runInterruptibly
	readonly latencies: LatencyHistogram = new LatencyHistogram()
	settings: HedgeSettings
	emit: Emit | undefined

	constructor(settings: HedgeSettings) {
		this.settings = settings
	}

	/** The delay before a hedge; undefined if it is not known yet. */
	get delayMs(): number | undefined {
		const { delayMs, percentile } = this.settings
		if (delayMs >= 0) return delayMs
		return this.latencies.count < FEWEST ? undefined : Math.ceil(this.latencies.percentile(percentile) ?? 0)
	}

	enter(call: Call, bound: BoundLayer<HedgeLayer>): Step {
		if (call.options?.idempotent === false) return GO
		const { budget } = this.settings
		const { runtime } = bound
		if (budget) recordRequestOnce(call, budget, runtime)
		const hedged = new HedgedCall(call, bound)
		call.scope = hedged
		return call.enterLayer(bound, hedged)
	}

	/** Only calls that do not settle immediately are hedged. */
	onPending(call: Call, bound: BoundLayer): void {
		const hedged = call.layerState(bound)
		if (!(hedged instanceof HedgedCall) || hedged.since !== undefined) return
		hedged.since = call.now(bound.runtime)
		const { delayMs } = this
		if (delayMs !== undefined) prepare(hedged, 1, delayMs)
	}

	/** For a hedge: its time has come. For the call itself: all others have ended, or one has won. */
	resume(call: Call, bound: BoundLayer): Step {
		const hedged = call.layerState(bound)
		return hedged instanceof Branch ? send(hedged) : call.runLeave()
	}

	leave(call: Call, bound: BoundLayer): Step {
		const hedged = call.layerState(bound)
		if (hedged instanceof Branch) return hedged.leave()
		if (!(hedged instanceof HedgedCall)) return GO
		const { winner, hedges } = hedged
		const isInFlight = hedges.some(({ state }) => state === 'sent')
		// An outer layer has already interrupted the call: later results are ignored.
		const isInterrupted = call.rare?.interruption
		if (!call.ok && !winner && isInFlight && !hedged.hasFailed && !isInterrupted) {
			if (!isFinalFailure(call, bound)) {
				hedged.hasFailed = true
				return PARK
			}
		} else if (winner && !isInterrupted) {
			call.ok = winner.hasSucceeded
			call.value = winner.call.value
			call.stop = winner.stop
			// The call was not interrupted, but has the outcome of another request.
			call.rareState.ending = undefined
		} else if (call.ok)
			this.latencies.record(hedged.since === undefined ? 0 : bound.runtime.now() - hedged.since)
		hedged.end()
		return GO
	}
}

/** Returns true if the other requests would fail alike, or a hook threw: then there is nothing left to wait for. */
const isFinalFailure = (call: Call, bound: BoundLayer): boolean =>
	call.stop === 'hook-threw' || call.classify(bound).kind === 'permanent'

/** The call itself, which is the first request. */
class HedgedCall implements Scope {
	readonly bound: BoundLayer<HedgeLayer>
	readonly call: Call
	/** Undefined while the operation may still settle immediately. */
	since: number | undefined
	/** The scope around it; undefined when this one is over. */
	within: Scope | undefined
	link: SignalLink | undefined
	/** Hedges that wait for their time, are in flight or have ended. */
	readonly hedges: Branch[] = []
	/** The hedge that has ended the call. */
	winner: Branch | undefined
	/** True if the call itself failed, so that only the hedges are waited for. */
	hasFailed = false

	constructor(call: Call, bound: BoundLayer<HedgeLayer>) {
		this.call = call
		this.bound = bound
		this.within = call.scope
	}

	get abortsItself(): boolean {
		return true
	}

	abortedBy(): CallOptions | undefined {
		return this.within && { signal: scopeSignal(this.within) }
	}

	end(): void {
		for (const hedge of this.hedges) hedge.cancel()
		this.link?.unlink?.()
		if (this.within) this.call.scope = this.within
		this.within = undefined
	}

	/** A hedge has ended. */
	ended(hedge: Branch): void {
		const { call, bound, winner, hedges, within } = this
		if (winner || !within) return
		if (hedge.hasSucceeded) {
			// This scope is aborted below. The winner's signal must not be, even if it is first read later.
			hedge.call.rareState.parentScope = within
			const now = bound.runtime.now()
			bound.layer.latencies.record(now - hedge.sentAt)
			// The first request has taken at least this long. Without it, the percentile would learn only from fast calls.
			bound.layer.latencies.record(now - (this.since ?? now))
			bound.layer.emit?.(call, bound, { type: 'hedge', outcome: 'won', hedge: hedge.number })
		}
		if (hedge.hasSucceeded || hedge.isFinalFailure) {
			this.winner = hedge
			const error = lost()
			if (this.hasFailed) {
				abortScope(this, error)
				call.wake?.()
			} else interrupt(call, bound, this, error, 'interrupted')
		} else if (this.hasFailed && !hedges.some(({ state }) => state === 'sent')) call.wake?.()
	}
}

/** Parks the hedge with this number for `delayMs`. */
function prepare(hedged: HedgedCall, number: number, delayMs: number): void {
	const { call, bound } = hedged
	const { runtime } = bound
	const child = new Call(call.pipeline, call.options, call.operation)
	const { times } = call.rare ?? {}
	child.rare = {
		branchOf: call,
		branchRun: call.run + 1,
		branchIndex: bound.index,
		parentScope: hedged,
		times,
	}
	child.attempt = call.attempt
	const hedge = new Branch(hedged, child, number)
	hedged.hedges.push(hedge)
	// The outer layers belong to the call. A pending branch shows them state that they already know.
	for (let { outer } = bound; outer; { outer } = outer) child.enterLayer(outer, call.layerState(outer))
	child.enterLayer(bound, hedge)
	findTimeoutList(runtime, delayMs, undefined).add(hedge, runtime.now())
	const start = call.rare?.branch ?? runBranch
	start(child, PARK, () => hedge.ended())
}

/** Starts a hedge, if it is still useful and the budget and the deadline allow it. */
function send(hedge: Branch): Step {
	const { hedged, call, number } = hedge
	const { layer, runtime } = hedged.bound
	const { budget, maxHedges } = layer.settings
	const now = runtime.now()
	const usualMs = layer.latencies.count < FEWEST ? 0 : (layer.latencies.percentile(50) ?? 0)
	if (!hedged.within || hedged.hasFailed || call.options?.deadline?.shouldRetry(usualMs) === false)
		return call.reject(lost())
	const isAllowed = !budget || budget.canRetry(now)
	const outcome = isAllowed ? 'sent' : 'no-budget'
	layer.emit?.(hedged.call, hedged.bound, { type: 'hedge', outcome, hedge: number })
	if (!isAllowed) return call.reject(lost())
	budget?.recordRetry(now)
	hedge.state = 'sent'
	hedge.sentAt = call.startedAt = now
	const { delayMs } = layer
	if (number < maxHedges && delayMs !== undefined) prepare(hedged, number + 1, delayMs)
	return GO
}

/** One of the requests after the first. */
class Branch implements TimeoutEntry {
	readonly hedged: HedgedCall
	readonly call: Call
	readonly number: number
	state: 'waiting' | 'sent' | 'ended' = 'waiting'
	sentAt = 0
	hasSucceeded = false
	isFinalFailure = false
	/** Why the call ends, if a hook threw. */
	stop: Call['stop']
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	startedAt: number | undefined
	list: TimeoutList | undefined

	constructor(hedged: HedgedCall, call: Call, number: number) {
		this.hedged = hedged
		this.call = call
		this.number = number
	}

	expire(): void {
		this.call.wake?.()
	}

	/** It ends here: the outer layers receive the outcome once, from the call itself. */
	leave(): Step {
		const { call, state, hedged } = this
		this.hasSucceeded = call.ok
		this.isFinalFailure = !call.ok && state === 'sent' && isFinalFailure(call, hedged.bound)
		this.stop = call.stop === 'hook-threw' ? call.stop : undefined
		// Whatever ended it, a retry inside it has not decided for the call itself.
		call.stop = 'interrupted'
		call.current = undefined
		call.rareState.interruption = undefined
		const step = call.runLeave()
		// Its runner would throw a failure, and nothing would catch it.
		call.ok = true
		return step
	}

	ended(): void {
		const wasSent = this.state === 'sent'
		this.state = 'ended'
		if (wasSent) this.hedged.ended(this)
	}

	/** Another request has won, or the call no longer waits for a result. */
	cancel(): void {
		const { state, call } = this
		this.list?.remove(this)
		this.state = 'ended'
		// A hedge that only waits for its time is dropped.
		if (state === 'ended' || (state === 'waiting' && !call.options)) return
		const error = lost()
		interrupt(call, undefined, call, error, 'interrupted')
	}
}
