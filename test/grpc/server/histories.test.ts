/**
 * Random histories of a server in virtual time: calls that arrive, finish, fail, are cancelled, and pass their deadlines, in any order and
 * also between the promise jobs of others. Whatever happens, each call ends once, and nothing is left.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { GrpcEvent } from 'yaoki/grpc'
import { virtualRuntime } from 'yaoki/testing'
import type { ServerCall } from '../../../src/grpc/server/server-call.ts'
import { ServerEngine } from '../../../src/grpc/server/server-engine.ts'

type Action =
	| {
			readonly do: 'arrive'
			readonly remainingMs: number | undefined
			readonly isRetry: boolean
			readonly endsAtOnce: boolean
	  }
	| { readonly do: 'finish' | 'fail' | 'cancel' | 'end'; readonly which: number }
	| { readonly do: 'advance'; readonly ms: number }
	| { readonly do: 'job' }

const actions: fc.Arbitrary<Action> = fc.oneof(
	fc.record({
		do: fc.constant('arrive' as const),
		remainingMs: fc.option(fc.integer({ min: -5, max: 100 }), { nil: undefined }),
		isRetry: fc.boolean(),
		endsAtOnce: fc.boolean(),
	}),
	fc.record({
		do: fc.constantFrom('finish' as const, 'fail' as const, 'cancel' as const, 'end' as const),
		which: fc.nat(30),
	}),
	fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 60 }) }),
	fc.record({ do: fc.constant('job' as const) }),
)

interface Seen {
	readonly call: ServerCall
	started: number
	failed: number
	wasExpiredAtStart: boolean
	signal: AbortSignal | undefined
}

test('each call ends once, and no slot, timer or queue entry is left', async () => {
	const options = fc.record({
		maxConcurrent: fc.integer({ min: 1, max: 3 }),
		maxQueue: fc.integer({ min: 0, max: 3 }),
	})
	await fc.assert(
		fc.asyncProperty(options, fc.array(actions, { maxLength: 60 }), async (bulkhead, history) => {
			const clock = virtualRuntime()
			const events: GrpcEvent[] = []
			const engine = new ServerEngine(
				{ bulkhead, runtime: clock, onEvent: (event) => events.push(event) },
				'test',
				50,
			)
			const calls: Seen[] = []
			const arrive = (remainingMs: number | undefined, isRetry: boolean, endsAtOnce: boolean) => {
				const headers = {
					get: (name: string) => (isRetry && name === 'grpc-previous-rpc-attempts' ? '1' : undefined),
				}
				const call: ServerCall = engine.open(
					{ service: 's', method: 'm', headers, remainingMs },
					{
						start: (context) => {
							seen.started++
							seen.wasExpiredAtStart = context.isExpired
							seen.signal = context.signal
							if (endsAtOnce) call.finish()
						},
						fail: () => {
							seen.failed++
						},
					},
				)
				const seen: Seen = { call, started: 0, failed: 0, wasExpiredAtStart: false, signal: undefined }
				calls.push(seen)
				call.begin()
			}
			for (const action of history) {
				if (action.do === 'arrive') arrive(action.remainingMs, action.isRetry, action.endsAtOnce)
				else if (action.do === 'advance') await clock.advance(action.ms)
				else if (action.do === 'job') await Promise.resolve()
				else {
					const { call } = calls[action.which % calls.length] ?? {}
					// A handler that was not started cannot end.
					if (action.do === 'cancel') call?.cancel()
					else if (action.do === 'end') call?.context?.end()
					else if (call?.context) call.finish(action.do === 'fail' ? 13 : 0)
				}
				const { concurrent = 0, queued = 0 } = engine.stats.bulkhead ?? {}
				expect(concurrent).toBeLessThanOrEqual(bulkhead.maxConcurrent)
				expect(queued).toBeLessThanOrEqual(bulkhead.maxQueue)
			}
			for (const { call } of calls) {
				call.cancel()
				call.finish()
			}
			await clock.advance(10_000)
			for (const { call, started, failed, wasExpiredAtStart } of calls) {
				expect(call.isOver).toBe(true)
				expect(started).toBeLessThanOrEqual(1)
				expect(failed).toBeLessThanOrEqual(1)
				expect(wasExpiredAtStart).toBe(false)
			}
			const { stats } = engine
			expect(stats).toMatchObject({
				calls: calls.length,
				inFlight: 0,
				bulkhead: { concurrent: 0, queued: 0 },
			})
			const ends = events.filter(({ type }) => type === 'call')
			expect(ends).toHaveLength(calls.length)
			const byStatus = (name: string) => ends.filter(({ grpcStatus }) => grpcStatus === name).length
			expect(byStatus('CANCELLED')).toBe(stats.cancelled)
			expect(calls.length - byStatus('OK') - byStatus('CANCELLED')).toBe(stats.failures)
			expect(clock.pendingTimers).toBe(0)
		}),
		{ numRuns: 300 },
	)
})
