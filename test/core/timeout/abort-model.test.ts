/** Random calls with aborts, deadlines, timeouts, hedges and bulkheads, in production's runner and in the one of virtual time. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bulkhead, type CallOptions, Deadline, hedge, type Policy, pipeline, retry, timeout } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { run } from '../../../src/testing/callback-runner.ts'

const LAYERS = ['retry', 'hedge', 'bulkhead', 'outer timeout'] as const

const program = fc.record({
	// All different, so that no two ends coincide.
	operationMs: fc.constantFrom(11, 131, 701, 5_003),
	timeoutMs: fc.constantFrom(97, 503, 2_003),
	abortMs: fc.option(fc.constantFrom<number[]>(7, 61, 211, 1_009), { nil: undefined }),
	deadlineMs: fc.option(fc.constantFrom<number[]>(5, 53, 307, 1_511), { nil: undefined }),
	fails: fc.boolean(),
	layers: fc.shuffledSubarray([...LAYERS]),
})
type Program = typeof program extends fc.Arbitrary<infer T> ? T : never

function setup({ timeoutMs, abortMs, deadlineMs, layers }: Program) {
	const clock = virtualRuntime()
	const slots = bulkhead({ maxConcurrent: 3 })
	const policies: Record<(typeof LAYERS)[number], Policy> = {
		// No retries: the outcome is the first of the four ends.
		retry: retry({ maxRetries: 0 }),
		hedge: hedge({ delayMs: 60_000 }),
		bulkhead: slots,
		'outer timeout': timeout(60_000),
	}
	const policy = pipeline({ runtime: clock }, ...layers.map((name) => policies[name]), timeout(timeoutMs))
	const controller = new AbortController()
	if (abortMs !== undefined) clock.setTimer(abortMs, () => controller.abort('left'))
	const options: CallOptions = {
		signal: controller.signal,
		deadline: deadlineMs === undefined ? undefined : Deadline.after(deadlineMs, { runtime: clock }),
	}
	return { clock, slots, policy, options }
}

/** The name of the end that comes first, and its time. */
function expected({ operationMs, timeoutMs, abortMs = Infinity, deadlineMs = Infinity, fails }: Program) {
	const at = Math.min(operationMs, timeoutMs, abortMs, deadlineMs)
	if (at === operationMs) return { at, end: fails ? 'down' : 'ok' }
	if (at === timeoutMs) return { at, end: 'TimeoutError' }
	return { at, end: at === abortMs ? 'left' : 'DeadlineExceededError' }
}

const nameOf = (error: unknown): string =>
	error instanceof Error && error.name !== 'Error' ? error.name : String((error as Error).message ?? error)

async function inProduction(given: Program) {
	const { clock, slots, policy, options } = setup(given)
	let outcome: { at: number; end: string } | undefined
	const operation = () =>
		new Promise<string>((resolve, reject) => {
			clock.setTimer(given.operationMs, () => (given.fails ? reject(new Error('down')) : resolve('ok')))
		})
	void policy.settle(operation, options).then((result) => {
		outcome = { at: clock.now(), end: result.ok ? String(result.value) : nameOf(result.error) }
	})
	return finish(clock, slots, () => outcome)
}

async function inVirtualTime(given: Program) {
	const { clock, slots, policy, options } = setup(given)
	let outcome: { at: number; end: string } | undefined
	run<string>(
		policy,
		(_context, done) => {
			clock.setTimer(given.operationMs, () => (given.fails ? done(new Error('down')) : done(null, 'ok')))
		},
		(error, value) => {
			outcome = { at: clock.now(), end: error === null ? String(value) : nameOf(error) }
		},
		options,
	)
	return finish(clock, slots, () => outcome)
}

async function finish(clock: VirtualRuntime, slots: { stats: { concurrent: number } }, read: () => unknown) {
	await clock.advance(200_000)
	return { outcome: read(), slots: slots.stats.concurrent, timers: clock.pendingTimers }
}

it('a call settles at the first of operation, timeout, abort and deadline, and leaves nothing behind', async () => {
	await fc.assert(
		fc.asyncProperty(program, async (given) => {
			const wanted = { outcome: expected(given), slots: 0, timers: 0 }
			expect(await inProduction(given)).toEqual(wanted)
			expect(await inVirtualTime(given)).toEqual(wanted)
		}),
		{ numRuns: 150 },
	)
})
