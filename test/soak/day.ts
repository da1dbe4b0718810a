/**
 * A virtual day of calls through bulkhead, breaker, retry with a budget, and timeout. The dependency fails in many ways, callers abort,
 * operators change settings and the wall clock jumps. After every event the policies are compared with independent models.
 */

import { bulkhead, circuitBreaker, Deadline, pipeline, retry, retryBudget, timeout } from 'yaoki'
import { seededRandom, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import type { CallbackOperation } from '../../src/testing/callback-runner.ts'
import { CountedTimers, EventHash, FaultSchedule, runAttempt } from './fault-schedule.ts'
import { BudgetModel, CircuitModel, type Probe, Violations } from './models.ts'

/** A call as its caller sees it. */
interface TrackedCall extends Probe {
	readonly id: number
	readonly deadlineAt: number
	/** The generation of the circuit at the first attempt; -1 before it. */
	generation: number
	startedAt: number
	/** The number of attempts, and of those in flight. */
	starts: number
	running: number
	/** The start and the timeout of the latest attempt. */
	attemptAt: number
	attemptMs: number
	isLatestRunning: boolean
	isAborted: boolean
	answer: { readonly error: unknown } | undefined
}

/** What happened in a day. The test requires that all of it happened. */
export interface DayReport {
	readonly violations: readonly string[]
	readonly hash: number
	readonly counts: Readonly<Record<string, number>>
	readonly unanswered: number
	readonly running: number
	readonly pendingTimers: number
	readonly concurrent: number
	readonly queued: number
}

const DAY_MS = 86_400_000
const EVERY_HOUR = 3_600_000

export function soakDay({ seed, calls }: { readonly seed: string; readonly calls: number }): DayReport {
	return new Day(seed, calls).run()
}

class Day {
	readonly #calls: number
	readonly #random: () => number
	readonly #clock: VirtualRuntime
	readonly #timers: CountedTimers
	readonly #faults: FaultSchedule
	readonly #eventHash = new EventHash()
	readonly #violations = new Violations()
	readonly #counts: Record<string, number> = {}
	readonly #lastsMs: number
	readonly #circuit: CircuitModel
	readonly #budgetModel = new BudgetModel(20, 1, 10_000)
	readonly #limits = { maxConcurrent: 8, maxQueue: 20, timeoutMs: 400 }
	/** Calls that hold a slot: they have started, and are not settled or have an operation in flight. */
	#holding = 0
	/** Calls that have neither started nor settled. */
	#waiting = 0
	#unanswered = 0
	#running = 0
	#latestStarted = 0
	/** The call whose operation has just settled, while the policies handle it. */
	#ending: TrackedCall | undefined

	readonly #bulkhead
	readonly #breaker
	readonly #retry
	readonly #timeout = timeout(400)
	readonly #budget
	readonly #stack

	constructor(seed: string, calls: number) {
		this.#calls = calls
		// Fewer calls make a shorter day, because a day with less traffic would never fill a queue.
		this.#lastsMs = (DAY_MS * calls) / 1_000_000
		const random = seededRandom(seed)
		const clock = virtualRuntime({ seed: `policies ${seed}` })
		const rules = {
			failureThreshold: 5,
			successThreshold: 2,
			resetTimeoutMs: 10_000,
			halfOpenMaxConcurrent: 1,
			monitorWindowMs: 20_000,
		}
		this.#random = random
		this.#clock = clock
		this.#timers = new CountedTimers(clock)
		this.#faults = new FaultSchedule({ random, lastsMs: this.#lastsMs, fairMs: 600_000, neverShare: 0 })
		this.#circuit = new CircuitModel(rules, this.#violations, true)
		this.#bulkhead = bulkhead({ maxConcurrent: 8, maxQueue: 20, queueTimeoutMs: 2_000 })
		this.#breaker = circuitBreaker({
			...rules,
			onStateChange: (from, to) => this.#circuit.changed(from, to, clock.now()),
		})
		this.#budget = retryBudget({ maxRetryRatio: 0.2, minRetriesPerSecond: 1, runtime: clock })
		this.#retry = retry({
			maxRetries: 3,
			baseDelayMs: 50,
			maxDelayMs: 1_000,
			budget: this.#budget,
			onRetry: () => this.#retried(),
		})
		this.#stack = pipeline({ runtime: clock }, this.#bulkhead, this.#breaker, this.#retry, this.#timeout)
	}

	run(): DayReport {
		const clock = this.#clock
		this.#timers.set(0, () => this.#arrive(1))
		this.#timers.set(EVERY_HOUR / 2, () => this.#operate())
		// Bounded, so that a call that never settles is reported.
		const endMs = 2 * this.#lastsMs + EVERY_HOUR
		while (this.#timers.pending + this.#unanswered > 0 && clock.now() < endMs) clock.runTimers(10_000)
		const { concurrent, queued } = this.#bulkhead.stats
		return {
			violations: this.#violations.texts,
			hash: this.#eventHash.hash,
			counts: { ...this.#counts, opened: this.#circuit.opened },
			unanswered: this.#unanswered,
			running: this.#running,
			pendingTimers: clock.pendingTimers,
			concurrent,
			queued,
		}
	}

	#arrive(id: number): void {
		this.#checkBalance()
		const now = this.#clock.now()
		const random = this.#random
		if (id < this.#calls) {
			// Less traffic at night, more at noon, and bursts.
			const daily = 1 + 0.9 * Math.sin((now / this.#lastsMs) * 2 * Math.PI)
			const gap = (-Math.log(1 - random()) * this.#lastsMs) / this.#calls / (daily + 0.05)
			this.#timers.set(random() < 0.05 ? 0 : gap, () => this.#arrive(id + 1))
		}
		if (id % 1_000 === 0) this.#countTimers()
		this.#call(id, now)
		this.#checkBalance()
	}

	#call(id: number, now: number): void {
		const random = this.#random
		const controller = random() < 0.03 ? new AbortController() : undefined
		const deadlineMs = random() < 0.05 ? 1_000 * random() : Infinity
		const call: TrackedCall = {
			id,
			deadlineAt: now + deadlineMs,
			generation: -1,
			startedAt: 0,
			starts: 0,
			running: 0,
			attemptAt: 0,
			attemptMs: 0,
			isLatestRunning: false,
			isAborted: false,
			answer: undefined,
			isGone: () => this.#ending === call,
		}
		const queuedBefore = this.#waiting
		this.#waiting++
		this.#unanswered++
		const deadline = deadlineMs < Infinity ? Deadline.after(deadlineMs, { runtime: this.#clock }) : undefined
		const options = controller || deadline ? { signal: controller?.signal, deadline } : undefined
		this.#clock.run(this.#stack, this.#operationFor(call), (error) => this.#answered(call, error), options)
		if (this.#waiting > queuedBefore && this.#waiting > this.#limits.maxQueue)
			this.#violation(`${this.#waiting} calls are in the queue`)
		if (controller) this.#timers.set(300 * random(), () => this.#abort(call, controller))
	}

	#operationFor(call: TrackedCall): CallbackOperation<string> {
		return (context, done) => {
			const now = this.#clock.now()
			if (call.starts++ === 0) this.#admitted(call, now)
			if (context.attempt !== call.starts - 1)
				this.#violation(`the context has attempt ${context.attempt} instead of ${call.starts - 1}`)
			if (call.answer) this.#violation('an attempt started after the call settled')
			if (call.isAborted) this.#violation('an attempt started after the abort')
			if (now >= call.deadlineAt) this.#violation('an attempt started after the deadline')
			const attempt = call.starts
			call.running++
			this.#running++
			call.attemptAt = now
			call.attemptMs = this.#limits.timeoutMs
			call.isLatestRunning = true
			let isRunning = true
			runAttempt(this.#faults.outcome(now, !this.#ending), context, this.#timers, done, (answer) => {
				if (!isRunning) this.#violation('a signal was aborted after its operation settled')
				isRunning = false
				call.running--
				this.#running--
				if (attempt === call.starts) call.isLatestRunning = false
				if (call.answer) this.#count('settled late')
				this.#leaveSlot(call)
				// From here on another call may use the slot, before the caller of this one is notified.
				this.#ending = call
				answer()
				this.#ending = undefined
			})
		}
	}

	#admitted(call: TrackedCall, now: number): void {
		this.#waiting--
		this.#holding++
		const { maxConcurrent } = this.#limits
		const isEnding = this.#ending && !this.#ending.answer
		if (this.#holding > (isEnding ? maxConcurrent + 1 : maxConcurrent))
			this.#violation(`${this.#holding} calls hold a slot`)
		if (call.id < this.#latestStarted) this.#violation(`call ${call.id} was overtaken`)
		this.#latestStarted = call.id
		call.startedAt = now
		call.generation = this.#circuit.admit(call)
		this.#budgetModel.call(now)
	}

	#retried(): void {
		this.#count('retries')
		const left = this.#budgetModel.retry(this.#clock.now())
		if (left < 0) this.#violation('a retry exceeded the budget')
		if (left === 0) this.#count('budget spent')
	}

	#answered(call: TrackedCall, error: unknown): void {
		const now = this.#clock.now()
		if (call.answer) this.#violation(`call ${call.id} settled twice`)
		call.answer = { error }
		this.#unanswered--
		const { name = 'fine', code = '' } = Object(error ?? {})
		this.#count(error ? `${name} ${code}` : 'fine')
		this.#eventHash.add(call.id, now, call.starts, error ? String(name).length : 0)
		const ends = [call.attemptAt + call.attemptMs, call.deadlineAt]
		if (call.isLatestRunning && !call.isAborted && ends.every((at) => Math.abs(now - at) > 1e-6))
			this.#violation(`call ${call.id} settled before its operation`)
		if (!call.starts) this.#waiting--
		this.#leaveSlot(call)
		if (call.generation >= 0) this.#circuit.end(call, call.generation, now, outcomeOf(call, error))
	}

	#leaveSlot({ starts, running, answer }: TrackedCall): void {
		if (starts && !running && answer) this.#holding--
	}

	#abort(call: TrackedCall, controller: AbortController): void {
		this.#checkBalance()
		if (call.answer) return
		const reason = new Error('I changed my mind')
		call.isAborted = true
		this.#count('aborted')
		controller.abort(reason)
		this.#checkTotal()
		// As with promises, the call continues when this callback has returned, in the same instant.
		this.#clock.setTimer(0, () => {
			if (Object(call.answer).error !== reason)
				this.#violation('an abort did not settle the call immediately')
			this.#checkBalance()
		})
	}

	/** An operator changes settings, and the wall clock jumps. */
	#operate(): void {
		this.#checkBalance()
		const random = this.#random
		const now = this.#clock.now()
		if (now < this.#lastsMs) this.#timers.set(EVERY_HOUR * random(), () => this.#operate())
		this.#clock.jumpWallClock((random() - 0.5) * 2 * EVERY_HOUR)
		const limits = this.#limits
		limits.maxConcurrent = 5 + Math.floor(6 * random())
		limits.maxQueue = Math.floor(30 * random())
		limits.timeoutMs = 300 + Math.floor(3 * random()) * 100
		this.#bulkhead.update({ maxConcurrent: limits.maxConcurrent, maxQueue: limits.maxQueue })
		this.#timeout.update(limits.timeoutMs)
		const rules = {
			...this.#circuit.rules,
			failureThreshold: 3 + Math.floor(6 * random()),
			resetTimeoutMs: 5_000 + Math.floor(10_000 * random()),
			halfOpenMaxConcurrent: 1 + Math.floor(3 * random()),
		}
		// The breaker first: what it notices during the update follows the old rules.
		this.#breaker.update(rules)
		this.#circuit.rules = rules
		this.#retry.update({ maxRetries: 1 + Math.floor(4 * random()) })
		const percent = 10 + Math.floor(20 * random())
		const windowMs = 5_000 + 5_000 * Math.floor(2 * random())
		this.#budget.update({ maxRetryRatio: percent / 100, windowMs })
		this.#budgetModel.resize(now, windowMs)
		this.#budgetModel.percent = percent
		this.#checkTotal()
		// With more slots the bulkhead counts queued calls as running immediately, and they start when this callback has returned, in the same
		// instant. The difference is only which of the two counts a call is in: no slot is lost, see `#checkTotal`.
		this.#clock.setTimer(0, () => this.#checkBalance())
	}

	/** Between events the policies and the models agree exactly. */
	#checkBalance(): void {
		const { concurrent, queued } = this.#bulkhead.stats
		if (concurrent !== this.#holding)
			this.#violation(`${concurrent} slots are in use by ${this.#holding} calls`)
		if (queued !== this.#waiting) this.#violation(`${queued} queued, but ${this.#waiting} calls wait`)
	}

	/** Also in the middle of an instant: a call that got its slot from the queue may not have started, but each call is counted once. */
	#checkTotal(): void {
		const { concurrent, queued } = this.#bulkhead.stats
		if (concurrent + queued !== this.#holding + this.#waiting || concurrent < this.#holding)
			this.#violation(
				`${concurrent} slots and ${queued} queued for ${this.#holding} and ${this.#waiting} calls`,
			)
	}

	/** A call has at most a wait and a deadline; timeouts of equal length share a timer. */
	#countTimers(): void {
		const others = this.#clock.pendingTimers - this.#timers.pending
		if (others > 3 * this.#unanswered + 10) this.#violation(`${others} timers for ${this.#unanswered} calls`)
	}

	#count(what: string): void {
		this.#counts[what] = (this.#counts[what] ?? 0) + 1
	}

	#violation(what: string): void {
		this.#violations.note(this.#clock.now(), what)
	}
}

function outcomeOf({ isAborted }: TrackedCall, error: unknown): 'good' | 'bad' | 'neither' {
	if (!error) return 'good'
	const { name, statusCode } = Object(error)
	if (isAborted || name === 'DeadlineExceededError') return 'neither'
	return statusCode === 400 ? 'good' : 'bad'
}
