/** The policy as a whole against the model, in random histories, with promises and with callbacks. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BulkheadRejectedError, bulkhead, Deadline, pipeline, retry, timeout } from 'yaoki'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import { steady } from '../../support/scenario.ts'
import { BulkheadModel } from './model.ts'

interface Caller {
	readonly name: string
	readonly priority: number
}

/** What one does to a bulkhead. Whom it is about is a number, taken as far as there are any. */
type Act =
	| { readonly act: 'arrive'; readonly priority: number }
	| { readonly act: 'end' | 'fail' | 'abort'; readonly whom: number }
	| { readonly act: 'resize'; readonly maxConcurrent: number; readonly maxQueue: number }

const whom = fc.nat(30)
const limits = { maxConcurrent: fc.integer({ min: 1, max: 3 }), maxQueue: fc.integer({ min: 0, max: 4 }) }
const anAct: fc.Arbitrary<Act> = fc.oneof(
	{ weight: 5, arbitrary: fc.record({ act: fc.constant('arrive' as const), priority: fc.nat(2) }) },
	{ weight: 4, arbitrary: fc.record({ act: fc.constantFrom('end' as const, 'fail', 'abort'), whom }) },
	{ weight: 1, arbitrary: fc.record({ act: fc.constant('resize' as const), ...limits }) },
)

/** How a call is made: with promises or with callbacks. */
type Start = (
	name: string,
	begin: (settle: (error?: Error) => void) => void,
	options: { signal: AbortSignal; key: string },
	done: (error: unknown) => void,
) => void

/** Runs calls through a policy and records in order which began, which ended, and how. */
function setup(maxConcurrent: number, maxQueue: number, promises: boolean) {
	const clock = virtualRuntime()
	const policy = bulkhead({ maxConcurrent, maxQueue, priority: ({ key }) => Number(key), runtime: clock })
	const happened: string[] = []
	const inWork = new Map<string, (error?: Error) => void>()
	const aborts = new Map<string, AbortController>()
	const start: Start = promises
		? (_, begin, options, done) =>
				void policy
					.execute(
						() =>
							new Promise<void>((resolve, reject) => begin((error) => (error ? reject(error) : resolve()))),
						options,
					)
					.then(() => done(undefined), done)
		: (_, begin, options, done) =>
				clock.run<void>(
					policy,
					(_context, settle) => begin((error) => settle(error)),
					(error) => done(error ?? undefined),
					options,
				)
	return {
		policy,
		happened,
		arrive({ name, priority }: Caller) {
			const controller = new AbortController()
			aborts.set(name, controller)
			const begin = (settle: (error?: Error) => void) => {
				happened.push(`${name} begins`)
				inWork.set(name, settle)
			}
			start(name, begin, { signal: controller.signal, key: `${priority}` }, (error) => {
				const how =
					error instanceof BulkheadRejectedError ? 'is rejected' : error ? `fails: ${error}` : 'ends'
				happened.push(`${name} ${how}`)
			})
		},
		end: (name: string, error?: Error) => inWork.get(name)?.(error),
		resize: (slots: number, places: number) => policy.update({ maxConcurrent: slots, maxQueue: places }),
		abort: (name: string) => aborts.get(name)?.abort('aborted'),
		/** Until nothing follows any more; callbacks have nothing to wait for. */
		settle: () => (promises ? clock.advance(0) : undefined),
	}
}

/** What the model says becomes of the same acts. Who began and ended in one act is compared as a set. */
function expected(model: BulkheadModel<Caller>, act: Act, caller: Caller | undefined, ended: Set<Caller>) {
	const happened: string[] = []
	const begins = (callers: readonly (Caller | undefined)[]) => {
		for (const one of callers) if (one) happened.push(`${one.name} begins`)
	}
	if (act.act === 'resize') begins(model.resize(act.maxConcurrent, act.maxQueue))
	else if (!caller) return happened
	else if (act.act === 'arrive') {
		const place = model.arrive(caller)
		if (place === 'inside') begins([caller])
		if (place === 'outside') happened.push(`${caller.name} is rejected`)
	} else if (act.act === 'abort') {
		if (model.placeOf(caller) !== 'queued') return happened
		model.leave(caller)
		happened.push(`${caller.name} fails: aborted`)
	} else if (model.placeOf(caller) === 'inside' && !ended.has(caller)) {
		happened.push(`${caller.name} ${act.act === 'end' ? 'ends' : 'fails: Error: down'}`)
		ended.add(caller)
		begins([model.leave(caller)])
	}
	return happened
}

test.each([
	['promises', true, 400],
	['callbacks', false, 2_000],
] as const)('in any history, with %s, it behaves like the model', async (_, promises, numRuns) => {
	const acts = fc.array(anAct, { maxLength: 25, size: 'max' })
	await fc.assert(
		fc.asyncProperty(
			limits.maxConcurrent,
			limits.maxQueue,
			acts,
			async (maxConcurrent, maxQueue, history) => {
				const model = new BulkheadModel<Caller>(maxConcurrent, maxQueue)
				const real = setup(maxConcurrent, maxQueue, promises)
				const callers: Caller[] = []
				const ended = new Set<Caller>()
				for (const act of history) {
					if (act.act === 'arrive') callers.push({ name: `#${callers.length}`, priority: act.priority })
					const caller =
						act.act === 'resize' ? undefined : callers[act.act === 'arrive' ? callers.length - 1 : act.whom]
					const happened = expected(model, act, caller, ended)
					if (act.act === 'resize') real.resize(act.maxConcurrent, act.maxQueue)
					else if (!caller) continue
					else if (act.act === 'arrive') real.arrive(caller)
					else if (act.act === 'abort') real.abort(caller.name)
					else real.end(caller.name, act.act === 'fail' ? new Error('down') : undefined)
					await real.settle()
					expect(real.happened.splice(0).sort()).toEqual(happened.sort())
					const { concurrent, queued } = real.policy.stats
					expect([concurrent, queued]).toEqual([model.inside.size, model.waiting.length])
				}
			},
		),
		{ numRuns },
	)
})

/** A call of a mixed history: when it comes, what its work does, and how patient its caller is. */
const aCall = fc.record({
	at: fc.integer({ min: 0, max: 60 }),
	takes: fc.constantFrom(1, 7, 23, 41, 1e6),
	fails: fc.boolean(),
	abortAt: fc.option(fc.integer({ min: 0, max: 90 }), { nil: undefined }),
	deadline: fc.option(fc.integer({ min: 1, max: 90 }), { nil: undefined }),
})
type ACall = typeof aCall extends fc.Arbitrary<infer T> ? T : never

/** Odd durations, so that no two events have the same time: their order would be unspecified. */
function policyOf(clock: VirtualRuntime, order: number) {
	const slots = bulkhead({ maxConcurrent: 2, maxQueue: 3, queueTimeoutMs: 33.03, abandonAfterMs: 50.07 })
	const again = retry({ ...steady, baseDelayMs: 11.011, maxRetries: 1 })
	const limit = timeout(29.0029)
	const layers = [
		[slots, again, limit],
		[again, slots, limit],
		[limit, slots, again],
		[again, limit, slots],
	][order] ?? [slots]
	return { slots, policy: pipeline({ runtime: clock }, ...layers) }
}

async function played(calls: readonly ACall[], order: number, promises: boolean): Promise<string[]> {
	const clock = virtualRuntime()
	const { policy, slots } = policyOf(clock, order)
	const happened: string[] = []
	const record = (what: string) => happened.push(`${clock.now()} ${what} ${JSON.stringify(slots.stats)}`)
	calls.forEach(({ at, takes, fails, abortAt, deadline }, i) => {
		clock.setTimer(at + i / 1_000, () => {
			const controller = new AbortController()
			if (abortAt !== undefined) clock.setTimer(abortAt + 0.1 + i / 7_000, () => controller.abort('aborted'))
			const options = {
				signal: controller.signal,
				...(deadline && { deadline: Deadline.after(deadline + 0.2 + i / 9_000, { runtime: clock }) }),
			}
			const error = fails ? new Error('down') : undefined
			const done = (outcome: unknown) => record(`${i} is answered: ${outcome}`)
			if (promises) {
				const work = () => {
					record(`${i} begins`)
					return new Promise<string>((resolve, reject) => {
						clock.setTimer(takes, () => (error ? reject(error) : resolve('ok')))
					})
				}
				policy.execute(work, options).then(done, done)
			} else {
				clock.run<string>(
					policy,
					(_, settle) => {
						record(`${i} begins`)
						clock.setTimer(takes, () => settle(error, 'ok'))
					},
					(failure, value) => done(failure ?? value),
					options,
				)
			}
		})
	})
	if (promises) await clock.runUntilIdle()
	else clock.runTimers()
	happened.push(`${slots.stats.concurrent} ${slots.stats.queued} ${clock.pendingTimers}`)
	return happened
}

test('callers, aborts, deadlines, timeouts and retries: the callback runner and promises agree on every moment', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(aCall, { minLength: 1, maxLength: 8 }), fc.nat(3), async (calls, order) => {
			const [withPromises, withCallbacks] = [
				await played(calls, order, true),
				await played(calls, order, false),
			]
			// Within one moment the answer of one and the start of the next may change places.
			expect(withCallbacks.map(momentOf).sort()).toEqual(withPromises.map(momentOf).sort())
			// All is given back in the end: slots, places and timers.
			expect(withPromises.at(-1)).toBe('0 0 0')
		}),
		{ numRuns: 300 },
	)
})

/** Without the stats, which are recorded between two steps of the same time. */
const momentOf = (line: string): string => line.replace(/ \{.*/, '')
