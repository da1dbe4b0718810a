/**
 * Calls to several hosts through all that a pipeline can hold: last good results, a bulkhead and a breaker for each host, a
 * budget that retries and hedges share, a rate limit. Here the breaker stands inside the retry, so it judges every attempt;
 * and some work never settles, so its slot is given up for lost.
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
import { type CallbackOperation, seededRandom, virtualRuntime } from 'yaoki/testing'
import { Breaches, BudgetBook, CircuitBook } from './books.ts'
import { OwnTimers, suffer, Trail, Weather } from './weather.ts'

interface Visit {
	readonly key: string
	readonly deadlineAt: number
	starts: number
	running: number
	isAborted: boolean
	answer: { readonly error: unknown; readonly at: number } | undefined
}

export interface HostsReport {
	readonly breaches: readonly string[]
	readonly hash: number
	readonly counts: Readonly<Record<string, number>>
	readonly unanswered: number
	readonly pendingTimers: number
	/** Of all hosts. */
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

/** Who holds a slot of one host's bulkhead. */
class SlotBook {
	readonly #holders = new Set<Visit>()

	/** How many hold one. Work that hangs has lost it a while after its call was answered. */
	heldAt(now: number): number {
		for (const visit of this.#holders) {
			const { answer, running } = visit
			if (answer && (!running || now >= answer.at + ABANDON_AFTER_MS)) this.#holders.delete(visit)
		}
		return this.#holders.size
	}

	add(visit: Visit): void {
		this.#holders.add(visit)
	}
}

export function soakHosts({ seed, calls }: { readonly seed: string; readonly calls: number }): HostsReport {
	const lastsMs = calls * 100
	const random = seededRandom(seed)
	const clock = virtualRuntime({ seed: `policies ${seed}` })
	const timers = new OwnTimers(clock)
	const breaches = new Breaches()
	const trail = new Trail()
	const counts: Record<string, number> = {}
	const weather = new Map(
		HOSTS.map((host) => [host, new Weather({ random, lastsMs, fairMs: 200_000, neverShare: 0.3 })]),
	)
	const slotBooks = new Map<Bulkhead, SlotBook>()
	const circuitBooks = new Map<CircuitBreaker, CircuitBook>()
	const budgetBook = new BudgetBook(20, 1, 10_000)
	/** When work was called lately. */
	const starts: number[] = []
	let unanswered = 0
	/** The call whose work has just settled, while the policies are told: its place may be another's already. */
	let ending: Visit | undefined

	const count = (what: string) => {
		counts[what] = (counts[what] ?? 0) + 1
	}
	const breach = (what: string) => breaches.note(clock.now(), what)
	const spend = (what: string) => {
		count(what)
		const left = budgetBook.retry(clock.now())
		if (left < 0) breach(`${what}: more than the budget`)
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
			slotBooks.set(made, new SlotBook())
			return made
		},
		few,
	)
	const breakers = keyed(
		keyOf,
		() => {
			count('breakers')
			const book = new CircuitBook(RULES, breaches, false)
			const made = circuitBreaker({
				...RULES,
				onStateChange(from, to) {
					if (to === 'open') count('opened')
					book.changed(from, to, clock.now())
				},
			})
			circuitBooks.set(made, book)
			return made
		},
		few,
	)
	// A budget counts a call that has come through the bulkhead, whether or not its work is called; so must the book.
	const doorkeeper = keyed(
		() => {
			budgetBook.call(clock.now())
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
		if (event.call === 'once') breach('a call that is not idempotent was hedged')
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

	/** Between events no slot is held that the bulkhead does not know of, and no queue is too long. */
	const quiet = () => {
		for (const [, made] of bulkheads.entries()) {
			const { concurrent, queued } = made.stats
			const held = slotBooks.get(made)?.heldAt(clock.now()) ?? 0
			if (concurrent > MAX_CONCURRENT || queued > MAX_QUEUE) breach(`${concurrent} inside, ${queued} queued`)
			if (held > concurrent) breach(`${held} hold one of ${concurrent} slots`)
		}
	}

	const admitted = (visit: Visit) => {
		const made = bulkheads.get(visit.key)
		const book = made && slotBooks.get(made)
		book?.add(visit)
		const most = ending && !ending.answer ? MAX_CONCURRENT + 1 : MAX_CONCURRENT
		const held = book?.heldAt(clock.now()) ?? Infinity
		if (held > most) breach(`${held} calls hold a slot of ${visit.key}`)
	}

	const workOf =
		(visit: Visit): CallbackOperation<string> =>
		(context, done) => {
			const now = clock.now()
			if (visit.starts++ === 0) admitted(visit)
			if (visit.answer) breach('work was called after the answer')
			if (visit.isAborted) breach('work was called after the abort')
			if (now >= visit.deadlineAt) breach('work was called after the deadline')
			starts.push(now)
			if (starts.length > STARTS && now - (starts.shift() ?? now) < STARTS_IN_MS)
				breach(`more than ${STARTS} starts in ${STARTS_IN_MS} ms`)
			let isRunning = true
			visit.running++
			const breaker = breakers.get(visit.key)
			const book = breaker && circuitBooks.get(breaker)
			if (!book) breach('no breaker was asked')
			const signal = book?.state === 'half-open' ? context.signal : undefined
			const probe = { startedAt: now, isGone: () => !isRunning || signal?.aborted === true }
			book?.admit(probe)
			const fate = weather.get(visit.key)?.fate(now, !ending)
			if (!fate) throw new Error(`no weather for ${visit.key}`)
			suffer(fate, context, timers, done, (answer) => {
				if (!isRunning) breach('a signal was aborted after its work had settled')
				isRunning = false
				visit.running--
				if (visit.answer) count('settled late')
				book?.end(probe, -1, clock.now(), 'neither')
				ending = visit
				answer()
				ending = undefined
			})
		}

	const abort = (visit: Visit, controller: AbortController) => {
		quiet()
		if (visit.answer) return
		const reason = new Error('I changed my mind')
		const isAtWork = visit.running > 0
		visit.isAborted = true
		count('aborted')
		controller.abort(reason)
		if (!isAtWork && Object(visit.answer).error !== reason) breach('an abort was not answered at once')
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
		const visit: Visit = {
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
			workOf(visit),
			(error, value) => {
				if (visit.answer) breach(`call ${id} was answered twice`)
				visit.answer = { error, at: clock.now() }
				unanswered--
				if (error && !visit.isAborted && Object(error).name !== 'BulkheadRejectedError')
					breach(`the fallback let ${String(error)} through`)
				const { name } = Object(error ?? {})
				count(error ? String(name) : String(value))
				trail.add(id, clock.now(), visit.starts, error ? String(name).length : 0)
			},
			{
				key,
				signal: controller?.signal,
				deadline: deadlineMs < Infinity ? Deadline.after(deadlineMs, { runtime: clock }) : undefined,
				...(isOnce ? { idempotent: false, name: 'once' } : {}),
			},
		)
		if (controller) timers.set(300 * random(), () => abort(visit, controller))
		quiet()
	}

	timers.set(0, () => arrive(1))
	while (timers.pending + unanswered > 0 && clock.now() < 2 * lastsMs + 3_600_000) clock.runTimers(1_000)
	// Until the slots of what never settles are given up.
	clock.runTimers(ABANDON_AFTER_MS)
	let [concurrent, queued] = [0, 0]
	for (const made of slotBooks.keys()) {
		concurrent += made.stats.concurrent
		queued += made.stats.queued
	}
	return {
		breaches: breaches.texts,
		hash: trail.hash,
		counts,
		unanswered,
		pendingTimers: clock.pendingTimers,
		concurrent,
		queued,
	}
}
