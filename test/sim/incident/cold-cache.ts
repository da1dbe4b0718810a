/**
 * A service that the simulator cannot model, simulated by the few lines below: a service with a cache that a deploy empties. A hit is
 * quick, a miss is slow, and only a miss whose caller still waits fills the cache. So impatient callers can keep the cache cold for ever.
 * Its log has the events of a retry around a timeout.
 */
import { seededRandom } from 'yaoki/testing'

export interface ColdCachePolicy {
	readonly maxRetries: number
	readonly delayMs: number
	readonly timeoutMs: number
}

export interface ColdCacheResult {
	readonly lines: readonly string[]
	readonly goodShare: number
	/** The share of good calls in the last ten seconds. */
	readonly lastShare: number
}

const SECONDS = 45
const DEPLOY_MS = 15_000
const PER_SECOND = 60
const WORKERS = 4
const HIT_MS = 30
const MISS_MS = 300
const KEYS = 200

interface Attempt {
	readonly call: Call
	readonly key: number
	readonly startedAt: number
	isAwaited: boolean
}

interface Call {
	readonly id: string
	readonly startedAt: number
	attempts: number
}

type Action = () => void

export function simulateColdCache({ maxRetries, delayMs, timeoutMs }: ColdCachePolicy): ColdCacheResult {
	const random = seededRandom('cold cache')
	const lines: string[] = []
	const events = new Schedule()
	const cached = new Set(Array.from({ length: KEYS }, (_, key) => key))
	const queue: Attempt[] = []
	let busy = 0
	const counts = { calls: 0, good: 0, last: 0, lastGood: 0 }

	const log = (type: string, call: Call, fields: object): void => {
		const event = {
			type,
			emitter: 'retry',
			pipeline: 'users',
			callId: call.id,
			timestamp: events.now,
			...fields,
		}
		lines.push(JSON.stringify(event))
	}
	const send = (call: Call): void => {
		call.attempts++
		const key = Math.floor(random() ** 2 * KEYS)
		const attempt: Attempt = { call, key, startedAt: events.now, isAwaited: true }
		events.after(timeoutMs, () => timeOut(attempt))
		queue.push(attempt)
		work()
	}
	const work = (): void => {
		const attempt = busy < WORKERS ? queue.shift() : undefined
		if (!attempt) return
		busy++
		const isHit = cached.has(attempt.key)
		events.after((isHit ? HIT_MS : MISS_MS) * (0.5 + random()), () => {
			busy--
			if (attempt.isAwaited) {
				cached.add(attempt.key)
				succeed(attempt)
			}
			work()
		})
	}
	const finish = (call: Call, isGood: boolean): void => {
		counts.calls++
		if (isGood) counts.good++
		if (call.startedAt < (SECONDS - 10) * 1_000) return
		counts.last++
		if (isGood) counts.lastGood++
	}
	const succeed = (attempt: Attempt): void => {
		attempt.isAwaited = false
		const { call } = attempt
		log('retry_success', call, { attempts: call.attempts, durationMs: events.now - call.startedAt })
		finish(call, true)
	}
	const timeOut = (attempt: Attempt): void => {
		if (!attempt.isAwaited) return
		attempt.isAwaited = false
		const { call } = attempt
		const error = { errorType: 'TimeoutError', timeoutMs }
		if (call.attempts <= maxRetries) {
			log('retry_attempt', call, { attempt: call.attempts, delayMs, outcome: 'retry', ...error })
			events.after(delayMs, () => send(call))
			return
		}
		const durationMs = events.now - call.startedAt
		log('retry_failure', call, { attempts: call.attempts, durationMs, stop: 'exhausted', ...error })
		finish(call, false)
	}

	for (let at = 0; at < SECONDS * 1_000; ) {
		const startedAt = at
		events.after(startedAt, () => send({ id: `call at ${startedAt}`, startedAt, attempts: 0 }))
		at += -Math.log(1 - random()) * (1_000 / PER_SECOND)
	}
	events.after(DEPLOY_MS, () => cached.clear())
	events.runUntil((SECONDS + 10) * 1_000)
	return { lines, goodShare: counts.good / counts.calls, lastShare: counts.lastGood / counts.last }
}

/** Actions in the order of their times, as a binary heap. */
class Schedule {
	now = 0
	readonly #heap: { readonly at: number; readonly act: Action }[] = []

	after(ms: number, act: Action): void {
		const heap = this.#heap
		let index = heap.push({ at: this.now + ms, act }) - 1
		for (let parent = (index - 1) >> 1; index > 0 && this.#swap(parent, index); parent = (index - 1) >> 1)
			index = parent
	}

	runUntil(ms: number): void {
		for (let next = this.#take(); next && next.at <= ms; next = this.#take()) {
			this.now = next.at
			next.act()
		}
	}

	#take() {
		const heap = this.#heap
		const [first] = heap
		const last = heap.pop()
		if (!last || heap.length === 0) return first
		heap[0] = last
		for (let index = 0; ; ) {
			const left = 2 * index + 1
			const smaller = (heap[left + 1]?.at ?? Infinity) < (heap[left]?.at ?? Infinity) ? left + 1 : left
			if (smaller >= heap.length || !this.#swap(index, smaller)) return first
			index = smaller
		}
	}

	/** Swaps two entries if the first is later. */
	#swap(first: number, second: number): boolean {
		const [one, other] = [this.#heap[first], this.#heap[second]]
		if (!one || !other || one.at <= other.at) return false
		this.#heap[first] = other
		this.#heap[second] = one
		return true
	}
}
