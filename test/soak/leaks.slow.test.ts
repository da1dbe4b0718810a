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
import { heapBytes } from '../support/heap.ts'

afterEach(() => void vi.useRealTimers())

const CALLS = 10_000
/** Generous, because a busy machine needs many times as long. */
const TIMEOUT_MS = 120_000
/** Calls that run concurrently: more than there are slots, so that most of them queue. */
const BATCH = 500

interface Stack {
	readonly policy: Policy
	readonly slots: Bulkhead
}

/** The four usual policies. The circuit never opens, because otherwise most operations would not run. */
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
	if (!make) throw new Error(`Unknown stack ${name}`)
	return { policy: make(runtime, slots, inner), slots }
}

/** Listens to the signal until it is done, as fetch does. */
function listening({ signal }: CallContext, begin: (end: (error: unknown) => void) => void): Promise<never> {
	return new Promise((_, reject) => {
		const onAbort = () => reject(signal.reason)
		signal.addEventListener('abort', onAbort)
		begin((error) => {
			signal.removeEventListener('abort', onAbort)
			reject(error)
		})
	})
}

type Failure = (clock: VirtualRuntime, policy: Policy, options: CallOptions, turn: number) => Promise<unknown>

const FAILURES: Readonly<Record<string, Failure>> = {
	failing: (clock, policy, options) =>
		policy.settle(
			(context) => listening(context, (end) => void clock.setTimer(3, () => end(new Error('down')))),
			options,
		),
	// In turn before the start, in the queue, in flight and in the wait for a retry.
	aborted: async (clock, policy, { key, signal }, turn) => {
		const own = new AbortController()
		const cancel = clock.setTimer(turn % 30, () => own.abort(new Error('never mind')))
		if (turn % 30 === 0) own.abort(new Error('never mind'))
		const outer = timeout(1_000, { runtime: clock })
		// Every second one is the operation of an outer call, which has the long-lived signal.
		await outer.settle(
			(parent) =>
				policy.settle((context) => listening(context, () => {}), {
					signal: own.signal,
					key,
					...(turn % 2 ? {} : { parent }),
				}),
			{ signal },
		)
		cancel()
		expect(getEventListeners(own.signal, 'abort')).toHaveLength(0)
	},
	'timed-out': (_, policy, options) => policy.settle((context) => listening(context, () => {}), options),
	'past their deadline': (clock, policy, options, turn) =>
		policy.settle((context) => listening(context, () => {}), {
			...options,
			deadline: Deadline.after(turn % 40, { runtime: clock }),
		}),
}

async function runFailures(
	clock: VirtualRuntime,
	stack: Stack,
	kind: string,
	signal: AbortSignal,
	calls: number,
) {
	const one = FAILURES[kind]
	if (!one) throw new Error(`Unknown kind of failure ${kind}`)
	for (let done = 0; done < calls; done += BATCH) {
		const batch = Array.from({ length: BATCH }, (_, turn) =>
			one(clock, stack.policy, { signal, key: `host ${turn % 30}` }, turn),
		)
		let isOver = false
		const over = Promise.all(batch).then(() => {
			isOver = true
		})
		// All timers of a millisecond together: a turn of the event loop after each would take a minute in total.
		while (!isOver) {
			clock.runTimers(1)
			await nextEventLoopTurn()
		}
		await over
	}
}

const nextEventLoopTurn = () => new Promise((resolve) => setImmediate(resolve))

/** Runs calls of these kinds after a warm-up, and checks that they leave nothing behind. */
async function expectNothingLeft(name: string, kinds: readonly string[], calls: number): Promise<void> {
	const clock = virtualRuntime()
	const stack = stackOf(name, clock)
	const { signal } = new AbortController()
	for (const kind of kinds) await runFailures(clock, stack, kind, signal, BATCH * 2)
	await clock.runUntilIdle()
	const before = await heapBytes()
	for (const kind of kinds) await runFailures(clock, stack, kind, signal, calls)
	expect(getEventListeners(signal, 'abort')).toHaveLength(0)
	expect(clock.pendingTimers).toBe(0)
	expect(stack.slots.stats).toMatchObject({ concurrent: 0, queued: 0 })
	// The virtual clock keeps a cancelled timer until it is due.
	await clock.runUntilIdle()
	expect((await heapBytes()) - before).toBeLessThan(1_000_000)
}

describe('the usual stack', () => {
	for (const kind of Object.keys(FAILURES)) {
		test(
			`leaves no listener, timer, queued call or memory after 10,000 ${kind} calls`,
			() => expectNothingLeft('the usual stack', [kind], CALLS),
			TIMEOUT_MS,
		)
	}
})

test(
	'a call that never settles does not keep later calls in memory that share its timer',
	async () => {
		const clock = virtualRuntime()
		const policy = timeout(100, { runtime: clock })
		/** A call every 10 ms that takes 50 ms: there is always one in flight. */
		const overlapping = async (calls: number) => {
			for (let call = 0; call < calls; call++) {
				void policy.execute(() => new Promise<void>((resolve) => clock.setTimer(50, resolve)))
				clock.runTimers(10)
				await nextEventLoopTurn()
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
	TIMEOUT_MS,
)

test.each(Object.keys(STACKS).slice(1))(
	'%s leaves none of these after 10,000 failing calls of all kinds',
	(name) => expectNothingLeft(name, Object.keys(FAILURES), CALLS / Object.keys(FAILURES).length),
	TIMEOUT_MS,
)

test('10,000 calls that time out on the system clock leave no timer behind', async () => {
	vi.useFakeTimers()
	const { policy, slots } = stackOf('the usual stack')
	const { signal } = new AbortController()
	for (let done = 0; done < CALLS; done += BATCH) {
		const batch = Array.from({ length: BATCH }, () =>
			policy.settle((context) => listening(context, () => {}), { signal }),
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
	/** Returns what a script prints. Throws if it does not exit by itself. */
	const printed = async (code: string) => {
		const script = `import * as yaoki from ${JSON.stringify(index)}; ${code}`
		return (await node(process.execPath, ['--input-type=module', '-e', script], { timeout: 250_000 })).stdout
	}

	test('exits immediately after its calls settle, although their timeouts last a minute', async () => {
		const code = `
			const { pipeline, bulkhead, retry, timeout } = yaoki
			const policy = pipeline(bulkhead({ maxConcurrent: 2, maxQueue: 100, queueTimeoutMs: 60_000 }), retry(), timeout(60_000))
			const soon = () => new Promise((resolve) => setTimeout(resolve, 1))
			await Promise.all(Array.from({ length: 50 }, () => policy.execute(soon)))
			console.log(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length)
		`
		expect(await printed(code)).toBe('0\n')
	})

	test('exits with a hung call once its timeout fires', async () => {
		const code = `
			const hung = yaoki.timeout(50).execute(() => new Promise(() => {}))
			hung.catch((error) => console.log(error.name))
		`
		expect(await printed(code)).toBe('TimeoutError\n')
	})
})
