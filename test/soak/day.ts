/**
 * A virtual day of calls through the usual stack: bulkhead, breaker, retry with a budget, timeout. The weather changes, callers
 * lose patience, operators change settings and clocks jump; after every event the policies are compared with own books.
 */
import { bulkhead, circuitBreaker, Deadline, pipeline, retry, retryBudget, timeout } from 'yaoki'
import { type CallbackOperation, seededRandom, type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { Breaches, BudgetBook, CircuitBook, type Probe } from './books.ts'
import { OwnTimers, suffer, Trail, Weather } from './weather.ts'

/** One call as seen from outside. */
interface Visit extends Probe {
	readonly id: number
	readonly deadlineAt: number
	/** Of the circuit, when its work was first called; -1 before. */
	generation: number
	startedAt: number
	/** How often its work was called, and how often that has not settled. */
	starts: number
	running: number
	/** The latest of its attempts, and how long that may take. */
	attemptAt: number
	attemptMs: number
	isLatestRunning: boolean
	isAborted: boolean
	answer: { readonly error: unknown } | undefined
}

/** What happened in a day; the test asks that all of it did. */
export interface DayReport {
	readonly breaches: readonly string[]
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
	readonly #timers: OwnTimers
	readonly #weather: Weather
	readonly #trail = new Trail()
	readonly #breaches = new Breaches()
	readonly #counts: Record<string, number> = {}
	readonly #lastsMs: number
	readonly #circuit: CircuitBook
	readonly #budgetBook = new BudgetBook(20, 1, 10_000)
	readonly #limits = { maxConcurrent: 8, maxQueue: 20, timeoutMs: 400 }
	/** Calls that hold a slot: their work was called, and they are not answered or some of it still runs. */
	#holding = 0
	/** Calls that are not answered and whose work was not called. */
	#waiting = 0
	#unanswered = 0
	#running = 0
	#latestStarted = 0
	/** The call whose work has just settled, while the policies are told. */
	#ending: Visit | undefined

	readonly #bulkhead
	readonly #breaker
	readonly #retry
	readonly #timeout = timeout(400)
	readonly #budget
	readonly #stack

	constructor(seed: string, calls: number) {
		this.#calls = calls
		// Fewer calls are a shorter day, for a quieter one would never fill a queue.
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
		this.#timers = new OwnTimers(clock)
		this.#weather = new Weather({ random, lastsMs: this.#lastsMs, fairMs: 600_000, neverShare: 0 })
		this.#circuit = new CircuitBook(rules, this.#breaches, true)
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
		// Not for ever, or a call that is never answered would not be reported.
		const endMs = 2 * this.#lastsMs + EVERY_HOUR
		while (this.#timers.pending + this.#unanswered > 0 && clock.now() < endMs) clock.runTimers(10_000)
		const { concurrent, queued } = this.#bulkhead.stats
		return {
			breaches: this.#breaches.texts,
			hash: this.#trail.hash,
			counts: { ...this.#counts, opened: this.#circuit.opened },
			unanswered: this.#unanswered,
			running: this.#running,
			pendingTimers: clock.pendingTimers,
			concurrent,
			queued,
		}
	}

	#arrive(id: number): void {
		this.#quiet()
		const now = this.#clock.now()
		const random = this.#random
		if (id < this.#calls) {
			// Quiet nights and busy noons, and now and then many at once.
			const daily = 1 + 0.9 * Math.sin((now / this.#lastsMs) * 2 * Math.PI)
			const gap = (-Math.log(1 - random()) * this.#lastsMs) / this.#calls / (daily + 0.05)
			this.#timers.set(random() < 0.05 ? 0 : gap, () => this.#arrive(id + 1))
		}
		if (id % 1_000 === 0) this.#countTimers()
		this.#call(id, now)
		this.#quiet()
	}

	#call(id: number, now: number): void {
		const random = this.#random
		const controller = random() < 0.03 ? new AbortController() : undefined
		const deadlineMs = random() < 0.05 ? 1_000 * random() : Infinity
		const visit: Visit = {
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
			isGone: () => this.#ending === visit,
		}
		const queuedBefore = this.#waiting
		this.#waiting++
		this.#unanswered++
		const deadline = deadlineMs < Infinity ? Deadline.after(deadlineMs, { runtime: this.#clock }) : undefined
		const options = controller || deadline ? { signal: controller?.signal, deadline } : undefined
		this.#clock.run(this.#stack, this.#workOf(visit), (error) => this.#answered(visit, error), options)
		if (this.#waiting > queuedBefore && this.#waiting > this.#limits.maxQueue)
			this.#breach(`${this.#waiting} calls are in the queue`)
		if (controller) this.#timers.set(300 * random(), () => this.#abort(visit, controller))
	}

	#workOf(visit: Visit): CallbackOperation<string> {
		return (context, done) => {
			const now = this.#clock.now()
			if (visit.starts++ === 0) this.#admitted(visit, now)
			if (context.attempt !== visit.starts - 1) this.#breach(`attempt ${context.attempt} is a lie`)
			if (visit.answer) this.#breach('work was called after the answer')
			if (visit.isAborted) this.#breach('work was called after the abort')
			if (now >= visit.deadlineAt) this.#breach('work was called after the deadline')
			const attempt = visit.starts
			visit.running++
			this.#running++
			visit.attemptAt = now
			visit.attemptMs = this.#limits.timeoutMs
			visit.isLatestRunning = true
			let isRunning = true
			suffer(this.#weather.fate(now, !this.#ending), context, this.#timers, done, (answer) => {
				if (!isRunning) this.#breach('a signal was aborted after its work had settled')
				isRunning = false
				visit.running--
				this.#running--
				if (attempt === visit.starts) visit.isLatestRunning = false
				if (visit.answer) this.#count('settled late')
				this.#leaveSlot(visit)
				// From here on its place may be another's, a moment before its caller is told.
				this.#ending = visit
				answer()
				this.#ending = undefined
			})
		}
	}

	#admitted(visit: Visit, now: number): void {
		this.#waiting--
		this.#holding++
		const { maxConcurrent } = this.#limits
		const isEnding = this.#ending && !this.#ending.answer
		if (this.#holding > (isEnding ? maxConcurrent + 1 : maxConcurrent))
			this.#breach(`${this.#holding} calls hold a slot`)
		if (visit.id < this.#latestStarted) this.#breach(`call ${visit.id} was overtaken`)
		this.#latestStarted = visit.id
		visit.startedAt = now
		visit.generation = this.#circuit.admit(visit)
		this.#budgetBook.call(now)
	}

	#retried(): void {
		this.#count('retries')
		const left = this.#budgetBook.retry(this.#clock.now())
		if (left < 0) this.#breach('a retry was beyond the budget')
		if (left === 0) this.#count('budget spent')
	}

	#answered(visit: Visit, error: unknown): void {
		const now = this.#clock.now()
		if (visit.answer) this.#breach(`call ${visit.id} was answered twice`)
		visit.answer = { error }
		this.#unanswered--
		const { name = 'fine', code = '' } = Object(error ?? {})
		this.#count(error ? `${name} ${code}` : 'fine')
		this.#trail.add(visit.id, now, visit.starts, error ? String(name).length : 0)
		if (visit.isLatestRunning && Math.abs(now - visit.attemptAt - visit.attemptMs) > 1e-6)
			this.#breach(`call ${visit.id} did not wait for its work`)
		if (!visit.starts) this.#waiting--
		this.#leaveSlot(visit)
		if (visit.generation >= 0) this.#circuit.end(visit, visit.generation, now, outcomeOf(visit, error))
	}

	#leaveSlot({ starts, running, answer }: Visit): void {
		if (starts && !running && answer) this.#holding--
	}

	#abort(visit: Visit, controller: AbortController): void {
		this.#quiet()
		if (visit.answer) return
		const reason = new Error('I changed my mind')
		const isAtWork = visit.isLatestRunning && this.#clock.now() <= visit.attemptAt + visit.attemptMs
		visit.isAborted = true
		this.#count('aborted')
		controller.abort(reason)
		if (!isAtWork && Object(visit.answer).error !== reason) this.#breach('an abort was not answered at once')
		this.#quiet()
	}

	/** Somebody changes settings, or the wall clock. */
	#operate(): void {
		this.#quiet()
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
		// The breaker first: what it notices now is by the rules of before.
		this.#breaker.update(rules)
		this.#circuit.rules = rules
		this.#retry.update({ maxRetries: 1 + Math.floor(4 * random()) })
		const percent = 10 + Math.floor(20 * random())
		const windowMs = 5_000 + 5_000 * Math.floor(2 * random())
		this.#budget.update({ maxRetryRatio: percent / 100, windowMs })
		this.#budgetBook.resize(now, windowMs)
		this.#budgetBook.percent = percent
		this.#quiet()
	}

	/** Between events nothing is half done: the policies and the books agree to the last call. */
	#quiet(): void {
		const { concurrent, queued } = this.#bulkhead.stats
		if (concurrent !== this.#holding) this.#breach(`${concurrent} slots are taken, by ${this.#holding} calls`)
		if (queued !== this.#waiting) this.#breach(`${queued} places are taken, by ${this.#waiting} calls`)
	}

	/** A call waits for one thing at a time, and for its deadline; timeouts of equal length share a timer. */
	#countTimers(): void {
		const others = this.#clock.pendingTimers - this.#timers.pending
		if (others > 3 * this.#unanswered + 10) this.#breach(`${others} timers for ${this.#unanswered} calls`)
	}

	#count(what: string): void {
		this.#counts[what] = (this.#counts[what] ?? 0) + 1
	}

	#breach(what: string): void {
		this.#breaches.note(this.#clock.now(), what)
	}
}

function outcomeOf({ isAborted }: Visit, error: unknown): 'good' | 'bad' | 'neither' {
	if (!error) return 'good'
	const { name, statusCode } = Object(error)
	if (isAborted || name === 'DeadlineExceededError') return 'neither'
	return statusCode === 400 ? 'good' : 'bad'
}
