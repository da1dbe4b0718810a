/** Requests of a hedged call that end in the same moment, in every order of the promise jobs. */
import { describe, expect, test } from 'vitest'
import { hedge } from 'yaoki'
import { virtualRuntime } from 'yaoki/testing'

/** More than the jobs between the end of a request and the wait for the others. */
const JOBS = [0, 1, 2, 3, 4, 5, 6, 7, 8]

const failure = new Error('first')

const cases = JOBS.flatMap((jobs) => [{ jobs, order: 'after' } as const, { jobs, order: 'before' } as const])

describe.each(cases)(
	'a hedge that ends $jobs promise jobs $order the first request fails',
	({ jobs, order }) => {
		test.each([
			['succeeds', (second: PromiseWithResolvers<string>) => second.resolve('second'), 'second'],
			['fails', (second: PromiseWithResolvers<string>) => second.reject(new Error('second')), failure],
		])('and %s: the call ends', async (_, endHedge, expected) => {
			const clock = virtualRuntime()
			const requests = [Promise.withResolvers<string>(), Promise.withResolvers<string>()] as const
			let sent = 0
			const call = hedge({ delayMs: 50, runtime: clock }).execute(
				() => requests[sent++ === 0 ? 0 : 1].promise,
			)
			let outcome: unknown
			call.then(
				(value) => {
					outcome = value
				},
				(error) => {
					outcome = error
				},
			)
			await clock.advance(50)
			expect(sent).toBe(2)
			const ends = [() => requests[0].reject(failure), () => endHedge(requests[1])]
			if (order === 'before') ends.reverse()
			ends[0]?.()
			for (let n = 0; n < jobs; n++) await Promise.resolve()
			ends[1]?.()
			await clock.runUntilIdle()
			expect(outcome).toBe(expected)
		})
	},
)
