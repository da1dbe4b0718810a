/**
 * Calls to several hosts through every kind of policy: last good values, a bulkhead and a breaker for each host, a budget that retries
 * and hedges share, a rate limit. The breaker is inside the retry, so it counts every attempt. Some operations never settle, so their
 * slots are abandoned.
 */

import {
	type Bulkhead,
	bulkhead,
	type CircuitBreaker,
	circuitBreaker,
	Deadline,
	fallback,
	hedge,
	keyed,
	lastGoodValue,
	pipeline,
	rateLimiter,
	retry,
	retryBudget,
	timeout,
} from 'yaoki'
import { seededRandom, virtualRuntime } from 'yaoki/testing'
import type { CallbackOperation } from '../../src/testing/callback-runner.ts'
import { CountedTimers, EventHash, FaultSchedule, runAttempt } from './fault-schedule.ts'
import { BudgetModel, CircuitModel, Violations } from './models.ts'

interface TrackedCall {
	readonly key: string
	readonly deadlineAt: number
	starts: number
	running: number
	isAborted: boolean
	answer: { readonly error: unknown; readonly at: number } | undefined
}

export interface HostsReport {
	readonly violations: readonly string[]
	readonly hash: number
	readonly counts: Readonly<Record<string, number>>
	readonly unanswered: number
	readonly pendingTimers: number
	/** For all hosts together. */
	readonly concurrent: number
	readonly queued: number
}

const HOSTS = ['a', 'b', 'c', 'd', 'e']
const MAX_CONCURRENT = 4
const MAX_QUEUE = 5
const ABANDON_AFTER_MS = 60_000
const STARTS = 20
const STARTS_IN_MS = 1_000
const RULES = {
	failureThreshold: 4,
	successThreshold: 2,
	resetTimeoutMs: 5_000,
	halfOpenMaxConcurrent: 2,
	monitorWindowMs: 10_000,
}

/** The calls that hold a slot of the bulkhead of one host. */
class SlotModel {
	readonly #holders = new Set<TrackedCall>()

	/** How many calls hold a slot. An operation that hangs loses it some time after its call settled. */
	heldAt(now: number): number {
		for (const call of this.#holders) {
			const { answer, running } = call
			if (answer && (!running || now >= answer.at + ABANDON_AFTER_MS)) this.#holders.delete(call)
		}
		return this.#holders.size
	}

	add(call: TrackedCall): void {
		this.#holders.add(call)
	}
}

export function soakHosts({ seed, calls }: { readonly seed: string; readonly calls: number }): HostsReport {
	const lastsMs = calls * 100
	const random = seededRandom(seed)
	const clock = virtualRuntime({ seed: `policies ${seed}` })
	const timers = new CountedTimers(clock)
	const violations = new Violations()
	const eventHash = new EventHash()
	const counts: Record<string, number> = {}
	const faults = new Map(
		HOSTS.map((host) => [host, new FaultSchedule({ random, lastsMs, fairMs: 200_000, neverShare: 0.3 })]),
	)
	const slotModels = new Map<Bulkhead, SlotModel>()
	const circuitModels = new Map<CircuitBreaker, CircuitModel>()
	const budgetModel = new BudgetModel(20, 1, 10_000)
	/** The times of recent attempts. */
	const starts: number[] = []
	let unanswered = 0
	/** The call whose operation has just settled, while the policies handle it. Another call may use its slot already. */
	let ending: TrackedCall | undefined

	const count = (what: string) => {
		counts[what] = (counts[what] ?? 0) + 1
	}
	const violation = (what: string) => violations.note(clock.now(), what)
	const spend = (what: string) => {
		count(what)
		const left = budgetModel.retry(clock.now())
		if (left < 0) violation(`${what}: exceeds the budget`)
		if (left === 0) count('budget spent')
	}
	const few = { runtime: clock, maxKeys: 4, idleMs: 20_000 }
	const keyOf = ({ key = '' }: { key?: string | undefined }) => key
	const bulkheads = keyed(
		keyOf,
		() => {
			count('bulkheads')
			const made = bulkhead({
				maxConcurrent: MAX_CONCURRENT,
				maxQueue: MAX_QUEUE,
				queueTimeoutMs: 1_000,
				abandonAfterMs: ABANDON_AFTER_MS,
			})
			slotModels.set(made, new SlotModel())
			return made
		},
		few,
	)
	const breakers = keyed(
		keyOf,
		() => {
			count('breakers')
			const model = new CircuitModel(RULES, violations, false)
			const made = circuitBreaker({
				...RULES,
				onStateChange(from, to) {
					if (to === 'open') count('opened')
					model.changed(from, to, clock.now())
				},
			})
			circuitModels.set(made, model)
			return made
		},
		few,
	)
	// A budget counts a call that the bulkhead admits, whether or not its operation runs, and so does the model.
	const doorkeeper = keyed(
		() => {
			budgetModel.call(clock.now())
			return 'all'
		},
		() => pipeline(),
	)
	const budget = retryBudget({ maxRetryRatio: 0.2, minRetriesPerSecond: 1, runtime: clock })
	const hedges = hedge({ delayMs: 120, maxHedges: 2, budget })
	hedges.subscribe((event) => {
		if (event.type !== 'hedge') return
		if (event.outcome === 'sent') spend('hedges')
		else count(`hedge ${event.outcome}`)
		if (event.call === 'once') violation('a call that is not idempotent was hedged')
	})
	const limiter = rateLimiter({
		algorithm: 'sliding-window',
		limit: STARTS,
		intervalMs: STARTS_IN_MS,
		maxWaitMs: 300,
	})
	limiter.subscribe(() => count('rate-limited'))
	const stack = pipeline(
		{ runtime: clock },
		fallback(lastGoodValue(30_000), {
			when: (error) => Object(error).name !== 'BulkheadRejectedError',
			orElse: [() => 'nothing better'],
		}),
		bulkheads,
		doorkeeper,
		retry({ baseDelayMs: 40, maxDelayMs: 500, budget, onRetry: () => spend('retries') }),
		hedges,
		limiter,
		breakers,
		timeout(400),
	)

	/** Between events the bulkhead knows every slot in use, and no queue is too long. */
	const quiet = () => {
		for (const [, made] of bulkheads.entries()) {
			const { concurrent, queued } = made.stats
			const held = slotModels.get(made)?.heldAt(clock.now()) ?? 0
			if (concurrent > MAX_CONCURRENT || queued > MAX_QUEUE)
				violation(`${concurrent} in flight, ${queued} queued`)
			if (held > concurrent) violation(`${held} hold one of ${concurrent} slots`)
		}
	}

	const admitted = (call: TrackedCall) => {
		const made = bulkheads.get(call.key)
		const model = made && slotModels.get(made)
		model?.add(call)
		const most = ending && !ending.answer ? MAX_CONCURRENT + 1 : MAX_CONCURRENT
		const held = model?.heldAt(clock.now()) ?? Infinity
		if (held > most) violation(`${held} calls hold a slot of ${call.key}`)
	}

	const workOf =
		(call: TrackedCall): CallbackOperation<string> =>
		(context, done) => {
			const now = clock.now()
			if (call.starts++ === 0) admitted(call)
			if (call.answer) violation('an attempt started after the call settled')
			if (call.isAborted) violation('an attempt started after the abort')
			if (now >= call.deadlineAt) violation('an attempt started after the deadline')
			starts.push(now)
			if (starts.length > STARTS && now - (starts.shift() ?? now) < STARTS_IN_MS)
				violation(`more than ${STARTS} starts in ${STARTS_IN_MS} ms`)
			let isRunning = true
			call.running++
			const breaker = breakers.get(call.key)
			const model = breaker && circuitModels.get(breaker)
			if (!model) violation('no breaker admitted the call')
			const signal = model?.state === 'half-open' ? context.signal : undefined
			const probe = { startedAt: now, isGone: () => !isRunning || signal?.aborted === true }
			model?.admit(probe)
			const outcome = faults.get(call.key)?.outcome(now, !ending)
			if (!outcome) throw new Error(`no faults for ${call.key}`)
			runAttempt(outcome, context, timers, done, (answer) => {
				if (!isRunning) violation('a signal was aborted after its operation settled')
				isRunning = false
				call.running--
				if (call.answer) count('settled late')
				model?.end(probe, -1, clock.now(), 'neither')
				ending = call
				answer()
				ending = undefined
			})
		}

	const abort = (call: TrackedCall, controller: AbortController) => {
		quiet()
		if (call.answer) return
		const reason = new Error('I changed my mind')
		const isRunning = call.running > 0
		call.isAborted = true
		count('aborted')
		controller.abort(reason)
		// As with promises, the call continues when this callback has returned, in the same instant.
		clock.setTimer(0, () => {
			if (!isRunning && Object(call.answer).error !== reason)
				violation('an abort did not settle the call immediately')
		})
		quiet()
	}

	const arrive = (id: number) => {
		quiet()
		if (id < calls)
			timers.set(random() < 0.1 ? 0 : (-Math.log(1 - random()) * lastsMs) / calls, () => arrive(id + 1))
		const now = clock.now()
		const key = HOSTS[Math.floor(HOSTS.length * random() ** 3)] ?? 'a'
		const controller = random() < 0.03 ? new AbortController() : undefined
		const deadlineMs = random() < 0.05 ? 1_000 * random() : Infinity
		const call: TrackedCall = {
			key,
			deadlineAt: now + deadlineMs,
			starts: 0,
			running: 0,
			isAborted: false,
			answer: undefined,
		}
		unanswered++
		const isOnce = random() < 0.1
		clock.run(
			stack,
			workOf(call),
			(error, value) => {
				if (call.answer) violation(`call ${id} settled twice`)
				call.answer = { error, at: clock.now() }
				unanswered--
				if (error && !call.isAborted && Object(error).name !== 'BulkheadRejectedError')
					violation(`the fallback let ${String(error)} through`)
				const { name } = Object(error ?? {})
				count(error ? String(name) : String(value))
				eventHash.add(id, clock.now(), call.starts, error ? String(name).length : 0)
			},
			{
				key,
				signal: controller?.signal,
				deadline: deadlineMs < Infinity ? Deadline.after(deadlineMs, { runtime: clock }) : undefined,
				...(isOnce ? { idempotent: false, name: 'once' } : {}),
			},
		)
		if (controller) timers.set(300 * random(), () => abort(call, controller))
		quiet()
	}

	timers.set(0, () => arrive(1))
	while (timers.pending + unanswered > 0 && clock.now() < 2 * lastsMs + 3_600_000) clock.runTimers(1_000)
	// Until the slots of operations that never settle are abandoned.
	clock.runTimers(ABANDON_AFTER_MS)
	let [concurrent, queued] = [0, 0]
	for (const made of slotModels.keys()) {
		concurrent += made.stats.concurrent
		queued += made.stats.queued
	}
	return {
		violations: violations.texts,
		hash: eventHash.hash,
		counts,
		unanswered,
		pendingTimers: clock.pendingTimers,
		concurrent,
		queued,
	}
}
