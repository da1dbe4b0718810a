import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
	type Bulkhead,
	bulkhead,
	type CallContext,
	type CallOptions,
	circuitBreaker,
	Deadline,
	fallback,
	hedge,
	keyed,
	lastGoodValue,
	type Policy,
	pipeline,
	type Runtime,
	rateLimiter,
	retry,
	retryBudget,
	timeout,
} from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'

afterEach(() => void vi.useRealTimers())

const CALLS = 10_000
/** A busy machine may need many times as long as a quiet one. */
const PATIENCE_MS = 120_000
/** At a time: more than there are slots, so that most of them queue. */
const BATCH = 500

interface Stack {
	readonly policy: Policy
	readonly slots: Bulkhead
}

/** The usual four. The circuit never opens, or the work of most calls would not be called. */
function usual(runtime: Runtime | undefined): readonly [Bulkhead, ...Policy[]] {
	const budget = retryBudget({ maxRetryRatio: 1, runtime })
	return [
		bulkhead({ maxConcurrent: 100, maxQueue: BATCH }),
		circuitBreaker({ failureThreshold: 1e9 }),
		retry({ maxRetries: 1, baseDelayMs: 5, budget }),
		timeout(50),
	]
}

const STACKS: Readonly<
	Record<string, (runtime: Runtime | undefined, slots: Bulkhead, inner: Policy[]) => Policy>
> = {
	'the usual stack': (runtime, slots, inner) => pipeline({ runtime }, slots, ...inner),
	'a fallback': (runtime, slots, inner) =>
		pipeline(
			{ runtime },
			fallback(lastGoodValue(1_000), { orElse: [(error: unknown) => Promise.reject(error)] }),
			slots,
			...inner,
		),
	'a hedge': (runtime, slots, inner) =>
		pipeline({ runtime }, slots, hedge({ delayMs: 20, maxHedges: 2 }), ...inner),
	'a rate limiter': (runtime, slots, inner) =>
		pipeline({ runtime }, slots, rateLimiter({ limit: 50, intervalMs: 10, maxWaitMs: 1e6 }), ...inner),
	'a registry': (runtime, slots, inner) =>
		pipeline(
			{ runtime },
			slots,
			keyed(
				({ key = '' }) => key,
				() => circuitBreaker({ failureThreshold: 1e9, runtime }),
				{ maxKeys: 10 },
			),
			...inner,
		),
}

function stackOf(name: string, runtime?: Runtime): Stack {
	const [slots, ...inner] = usual(runtime)
	const make = STACKS[name]
	if (!make) throw new Error(`no stack is called ${name}`)
	return { policy: make(runtime, slots, inner), slots }
}

/** Listens as a fetch does: until it is done. */
function hearing({ signal }: CallContext, begin: (end: (error: unknown) => void) => void): Promise<never> {
	return new Promise((_, reject) => {
		const onAbort = () => reject(signal.reason)
		signal.addEventListener('abort', onAbort)
		begin((error) => {
			signal.removeEventListener('abort', onAbort)
			reject(error)
		})
	})
}

type Trouble = (clock: VirtualRuntime, policy: Policy, options: CallOptions, turn: number) => Promise<unknown>

const TROUBLES: Readonly<Record<string, Trouble>> = {
	failing: (clock, policy, options) =>
		policy.settle(
			(context) => hearing(context, (end) => void clock.setTimer(3, () => end(new Error('down')))),
			options,
		),
	// By turns before the start, in the queue, at work and while waiting for a retry.
	aborted: async (clock, policy, { key, signal }, turn) => {
		const own = new AbortController()
		const cancel = clock.setTimer(turn % 30, () => own.abort(new Error('never mind')))
		if (turn % 30 === 0) own.abort(new Error('never mind'))
		const outer = timeout(1_000, { runtime: clock })
		// One of them is the work of another call, which has the long-lived signal.
		await outer.settle(
			(parent) =>
				policy.settle((context) => hearing(context, () => {}), {
					signal: own.signal,
					key,
					...(turn % 2 ? {} : { parent }),
				}),
			{ signal },
		)
		cancel()
		expect(getEventListeners(own.signal, 'abort')).toHaveLength(0)
	},
	'timed-out': (_, policy, options) => policy.settle((context) => hearing(context, () => {}), options),
	'past their deadline': (clock, policy, options, turn) =>
		policy.settle((context) => hearing(context, () => {}), {
			...options,
			deadline: Deadline.after(turn % 40, { runtime: clock }),
		}),
}

async function trouble(
	clock: VirtualRuntime,
	stack: Stack,
	kind: string,
	signal: AbortSignal,
	calls: number,
) {
	const one = TROUBLES[kind]
	if (!one) throw new Error(`no trouble is called ${kind}`)
	for (let done = 0; done < calls; done += BATCH) {
		const batch = Array.from({ length: BATCH }, (_, turn) =>
			one(clock, stack.policy, { signal, key: `host ${turn % 30}` }, turn),
		)
		let isOver = false
		const over = Promise.all(batch).then(() => {
			isOver = true
		})
		// All timers of a millisecond at once, for a turn of the event loop after each would take a minute in all.
		while (!isOver) {
			clock.runTimers(1)
			await turnOfEvents()
		}
		await over
	}
}

const turnOfEvents = () => new Promise((resolve) => setImmediate(resolve))

/** What the heap holds when everything that can be collected has been: the least of several looks. */
async function heapBytes(): Promise<number> {
	let least = Infinity
	for (let look = 0; look < 5; look++) {
		// What weak references hold is let go only between two turns of the event loop.
		await turnOfEvents()
		globalThis.gc?.()
		least = Math.min(least, process.memoryUsage().heapUsed)
	}
	return least
}

/** Makes that much trouble in turn, after a warm-up, and looks for what is left of it. */
async function expectNothingLeft(name: string, kinds: readonly string[], calls: number): Promise<void> {
	expect(globalThis.gc, 'the collector is exposed to tests').toBeTypeOf('function')
	const clock = virtualRuntime()
	const stack = stackOf(name, clock)
	const { signal } = new AbortController()
	for (const kind of kinds) await trouble(clock, stack, kind, signal, BATCH * 2)
	await clock.runUntilIdle()
	const before = await heapBytes()
	for (const kind of kinds) await trouble(clock, stack, kind, signal, calls)
	expect(getEventListeners(signal, 'abort')).toHaveLength(0)
	expect(clock.pendingTimers).toBe(0)
	expect(stack.slots.stats).toMatchObject({ concurrent: 0, queued: 0 })
	// The virtual clock itself keeps a cancelled timer until its time comes.
	await clock.runUntilIdle()
	expect((await heapBytes()) - before).toBeLessThan(1_000_000)
}

describe('the usual stack', () => {
	for (const kind of Object.keys(TROUBLES)) {
		test(
			`after 10,000 ${kind} calls has no listener, no timer, no queue and no memory left`,
			() => expectNothingLeft('the usual stack', [kind], CALLS),
			PATIENCE_MS,
		)
	}
})

test(
	'one call that hangs for ever does not keep all later calls in memory, though they shared its timer',
	async () => {
		const clock = virtualRuntime()
		const policy = timeout(100, { runtime: clock })
		/** One every 10 ms, and each takes 50: there is no moment without any. */
		const overlapping = async (calls: number) => {
			for (let call = 0; call < calls; call++) {
				void policy.execute(() => new Promise<void>((resolve) => clock.setTimer(50, resolve)))
				clock.runTimers(10)
				await turnOfEvents()
			}
		}
		await overlapping(2_000)
		const held: unknown[] = []
		const hung = policy.settle(() => new Promise((resolve) => held.push(resolve)))
		await overlapping(100)
		expect(await hung).toMatchObject({ ok: false, error: { name: 'TimeoutError' } })
		const before = await heapBytes()
		await overlapping(CALLS)
		expect((await heapBytes()) - before).toBeLessThan(1_000_000)
		expect(held).toHaveLength(1)
	},
	PATIENCE_MS,
)

test.each(Object.keys(STACKS).slice(1))(
	'%s has none of these either, after 10,000 calls of all kinds of trouble',
	(name) => expectNothingLeft(name, Object.keys(TROUBLES), CALLS / Object.keys(TROUBLES).length),
	PATIENCE_MS,
)

test('on the system’s clock, 10,000 timed-out calls leave no timer behind', async () => {
	vi.useFakeTimers()
	const { policy, slots } = stackOf('the usual stack')
	const { signal } = new AbortController()
	for (let done = 0; done < CALLS; done += BATCH) {
		const batch = Array.from({ length: BATCH }, () =>
			policy.settle((context) => hearing(context, () => {}), { signal }),
		)
		await vi.advanceTimersByTimeAsync(10_000)
		await Promise.all(batch)
	}
	expect(vi.getTimerCount()).toBe(0)
	expect(getEventListeners(signal, 'abort')).toHaveLength(0)
	expect(slots.stats).toMatchObject({ concurrent: 0, queued: 0 })
})

describe('a process', () => {
	const index = new URL('../../src/core/index.ts', import.meta.url).href
	const node = promisify(execFile)
	/** What a script prints. One that does not end by itself is killed, and that is an error. */
	const printed = async (code: string) => {
		const script = `import * as yaoki from ${JSON.stringify(index)}; ${code}`
		return (await node(process.execPath, ['--input-type=module', '-e', script], { timeout: 30_000 })).stdout
	}

	test('ends at once when its calls are done, though their timeouts and queue places were good for a minute', async () => {
		const code = `
			const { pipeline, bulkhead, retry, timeout } = yaoki
			const policy = pipeline(bulkhead({ maxConcurrent: 2, maxQueue: 100, queueTimeoutMs: 60_000 }), retry(), timeout(60_000))
			const soon = () => new Promise((resolve) => setTimeout(resolve, 1))
			await Promise.all(Array.from({ length: 50 }, () => policy.execute(soon)))
			console.log(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length)
		`
		expect(await printed(code)).toBe('0\n')
	})

	test('that does nothing but hang lives until its timeout has told, and then ends', async () => {
		const code = `
			const hung = yaoki.timeout(50).execute(() => new Promise(() => {}))
			hung.catch((error) => console.log(error.name))
		`
		expect(await printed(code)).toBe('TimeoutError\n')
	})
})
