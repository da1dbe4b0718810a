/**
 * A hedge is a branch of the call that begins with a wait: it is created together with the call, in the
 * caller's async context, and parked until its time comes. The first branch is the call itself, so a call
 * that settles in time pays for nothing else.
 */
import { type BoundLayer, Call, type Layer } from '../engine/call.ts'
import type { CallOptions } from '../engine/call-options.ts'
import { interrupt } from '../engine/interrupt.ts'
import { runBranch } from '../engine/interruptible-runner.ts'
import type { Step } from '../engine/layer.ts'
import type { Emit } from '../engine/policy.ts'
import { abortScope, type Scope, type SignalLink, scopeSignal } from '../engine/scope.ts'
import { YaokiError } from '../errors/errors.ts'
import { findTimeoutList, type TimeoutEntry, type TimeoutList } from '../runtime/timeout-list.ts'
import type { LatencyHistogram } from './latency.ts'
import type { HedgeSettings } from './options.ts'

/** With fewer latencies, a percentile is meaningless. */
export const FEWEST_LATENCIES = 20

/** The abort reason of the other requests when one has ended the call. */
const lost = (): YaokiError => new YaokiError('YAOKI_CANCELLED', 'another request of this call ended first')

/** When hedges are sent, apart from the delay. */
export interface HedgeRule {
	canSend(call: Call): boolean
	/**
	 * Returns the delay before the next hedge after a request has failed: 0 sends it now, Infinity sends no
	 * more. Undefined: the failure ends the call.
	 */
	delayAfterFailure(call: Call): number | undefined
	/**
	 * Returns the error if the deadline passes while hedges are in flight. Default: the first request's error.
	 */
	expired?(call: Call): unknown
}

/** The layer that hedges calls. */
export interface Hedging extends Layer {
	readonly callState?: HedgedCall | Branch | undefined
	readonly settings: HedgeSettings
	readonly latencies: LatencyHistogram
	readonly emit: Emit | undefined
	readonly rule: HedgeRule | undefined
	readonly delayMs: number | undefined
}

/** Returns undefined if the call ends, because the other requests would fail too or a hook threw. */
export function delayAfterFailure(
	call: Call,
	bound: BoundLayer<Hedging>,
	defaultMs: number,
): number | undefined {
	if (call.stop === 'hook-threw') return undefined
	const { kind } = call.classify(bound)
	const { rule } = bound.layer
	if (rule) return rule.delayAfterFailure(call)
	return kind === 'permanent' ? undefined : defaultMs
}

/** Replaces a delay: the next hedge is sent when its time comes. */
const AS_PLANNED = -1

/** The call itself, which is the first request. */
export class HedgedCall implements Scope {
	readonly bound: BoundLayer<Hedging>
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
	/** True if no more hedges are sent. */
	isStopped = false

	constructor(call: Call, bound: BoundLayer<Hedging>) {
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

	/** True while the outcome depends on hedges. */
	get isInFlight(): boolean {
		return !this.winner && this.isPending
	}

	/** True while a hedge is in flight, or will be sent. */
	get isPending(): boolean {
		return this.hedges.some(({ state }) => state === 'sent' || (state !== 'ended' && !this.isStopped))
	}

	/** Sends the next hedge after this delay; Infinity sends no more. */
	reschedule(delayMs: number): void {
		const { runtime } = this.bound
		const next = this.hedges.at(-1)
		if (delayMs === Infinity) this.isStopped = true
		if (delayMs < 0 || this.isStopped || next?.state !== 'waiting') return
		next.list?.remove(next)
		if (delayMs > 0) findTimeoutList(runtime, delayMs, undefined).add(next, runtime.now())
		else next.expire()
	}

	ended(hedge: Branch): void {
		const { call, bound, winner, within } = this
		if (winner || !within) return
		if (hedge.hasSucceeded) {
			// This scope is aborted below. The winner's signal must not be, even if it is first read later.
			const { branch } = hedge.call.rareState
			if (branch) branch.scope = within
			const now = bound.runtime.now()
			bound.layer.latencies.record(now - hedge.sentAt)
			// The first request has taken at least this long. Without it, the percentile would learn only from fast
			// calls.
			bound.layer.latencies.record(now - (this.since ?? now))
			bound.layer.emit?.(call, bound, { type: 'hedge', outcome: 'won', hedge: hedge.number })
		}
		if (hedge.delayAfterMs === undefined) {
			this.winner = hedge
			const error = lost()
			if (this.hasFailed) {
				abortScope(this, error)
				call.wake?.()
			} else interrupt(call, bound, this, error, 'interrupted')
			return
		}
		this.reschedule(hedge.delayAfterMs)
		this.wakeIfLast()
	}

	/** Ends the wait if the call itself has failed, and no hedge is left to wait for. */
	wakeIfLast(): void {
		if (this.within && this.hasFailed && !this.isInFlight) this.call.wake?.()
	}
}

/** Parks the hedge with this number for `delayMs`. */
export function prepare(hedged: HedgedCall, number: number, delayMs: number): void {
	const { call, bound } = hedged
	const { runtime } = bound
	const child = new Call(call.pipeline, call.options, call.operation)
	const { times, startBranch = runBranch } = call.rare ?? {}
	child.rare = { branch: { parent: call, run: call.run + 1, index: bound.index, scope: hedged }, times }
	child.attempt = call.attempt
	const hedge = new Branch(hedged, child, number)
	hedged.hedges.push(hedge)
	// The outer layers belong to the call. A pending branch shows them state that they already know. It has not
	// entered the inner layers: with the state of the call there, a limiter let too many requests start.
	child.states = call.states?.slice(0, bound.index)
	child.enterLayer(bound, hedge)
	findTimeoutList(runtime, delayMs, undefined).add(hedge, runtime.now())
	startBranch(child, 'park', () => hedge.ended())
}

/** Starts a hedge, if it is still useful and the budget and the deadline allow it. */
export function send(hedge: Branch): Step {
	const { hedged, call, number } = hedge
	const { layer, runtime } = hedged.bound
	const { budget, maxHedges } = layer.settings
	const now = runtime.now()
	const usualMs = layer.latencies.count < FEWEST_LATENCIES ? 0 : (layer.latencies.percentile(50) ?? 0)
	const isUseful = hedged.within && !hedged.isStopped && layer.rule?.canSend(call) !== false
	if (!isUseful || call.options?.deadline?.shouldRetry(usualMs) === false) return call.reject(lost())
	const isAllowed = !budget || budget.canRetry(now)
	const outcome = isAllowed ? 'sent' : 'no-budget'
	layer.emit?.(hedged.call, hedged.bound, { type: 'hedge', outcome, hedge: number })
	if (!isAllowed) return call.reject(lost())
	budget?.recordRetry(now)
	hedge.state = 'sent'
	hedge.sentAt = call.startedAt = now
	const { delayMs } = layer
	if (number < maxHedges && delayMs !== undefined) prepare(hedged, number + 1, delayMs)
	return 'continue'
}

/** One of the requests after the first. */
export class Branch implements TimeoutEntry {
	readonly hedged: HedgedCall
	readonly call: Call
	readonly number: number
	/** `due`: its time has come, but it has not been sent yet. */
	state: 'waiting' | 'due' | 'sent' | 'ended' = 'waiting'
	sentAt = 0
	hasSucceeded = false
	/** The delay before the next hedge, if this one has failed and the call goes on. */
	delayAfterMs: number | undefined
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
		this.state = 'due'
		this.call.wake?.()
	}

	/** Ends the branch here: the outer layers receive the outcome once, from the call itself. */
	leave(): Step {
		const { call, state, hedged } = this
		this.hasSucceeded = call.ok
		if (!call.ok && state === 'sent') this.delayAfterMs = delayAfterFailure(call, hedged.bound, AS_PLANNED)
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
		else this.hedged.wakeIfLast()
	}

	/** Another request has won, or the call no longer waits for a result. */
	cancel(): void {
		const { state, call } = this
		this.list?.remove(this)
		this.state = 'ended'
		// A hedge that only waits for its time is dropped.
		if (state === 'ended' || (state === 'waiting' && !call.options)) return
		interrupt(call, undefined, call, lost(), 'interrupted')
	}
}
