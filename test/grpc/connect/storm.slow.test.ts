/** Many calls of all kinds, with servers that fail in every way and callers that cancel at any time, and lost connections: nothing may be left behind. */
import { Code } from '@connectrpc/connect'
import { describe, expect, onTestFinished, test } from 'vitest'
import { seededRandom } from '../../../src/testing/seeded-random.ts'
import type { ItemInit, MethodName } from '../support/users.ts'
import { hedging, retrying } from './configs.ts'
import { TRANSPORTS } from './connect-client.ts'
import { echo, fail, hang, reply, type Step, sendThenHang } from './connect-server.ts'
import { useResilientServer } from './server-setup.ts'
import { useClient } from './setup.ts'

const CALLS = 200

const CODES = [Code.Unavailable, Code.Internal, Code.ResourceExhausted, Code.NotFound]

describe.each([
	['retries', () => retrying({ maxAttempts: 4, codes: ['UNAVAILABLE', 'INTERNAL'], timeout: '100s' })],
	['hedging', () => hedging({ maxAttempts: 3, hedgingDelay: '0.005s', timeout: '100s' })],
])('%s', (_, config) => {
	test.each(TRANSPORTS)('%s', async (transport, methods) => {
		const random = seededRandom(transport)
		const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
		const unhandled: unknown[] = []
		const onUnhandled = (reason: unknown) => unhandled.push(reason)
		process.on('unhandledRejection', onUnhandled)
		onTestFinished(() => {
			process.off('unhandledRejection', onUnhandled)
		})
		const {
			server,
			interceptor: serverSide,
			until,
		} = await useResilientServer({
			bulkhead: { maxConcurrent: 20, maxQueue: 20 },
			pushbackMs: 5,
		})
		const step = (): Step => {
			const dice = random()
			if (dice < 0.5) return reply([{ text: 'a' }, { text: 'b' }])
			if (dice < 0.65) return echo()
			if (dice < 0.85) return fail(pick(CODES), { readsAll: random() < 0.5 })
			if (dice < 0.95)
				return fail(pick(CODES), { items: [{ text: 'a' }], pushback: pick(['1', '-1', 'soon']) })
			return random() < 0.5 ? hang() : sendThenHang([{ text: 'a' }])
		}
		server.play((exchange) => step()(exchange))
		const { client, interceptor } = useClient(
			server,
			{
				serviceConfig: config(),
				circuitBreaker: false,
				bulkhead: { maxConcurrent: 30, maxQueue: CALLS },
				maxBufferBytesPerCall: 500,
			},
			transport,
		)
		const call = async (method: MethodName, patience: number) => {
			async function* messages(): AsyncGenerator<ItemInit> {
				for (let n = Math.floor(random() * 5); n >= 0; n--) {
					if (random() < 0.3) await new Promise((resolve) => setImmediate(resolve))
					yield { text: 'q', data: new Uint8Array(Math.floor(random() * 200)) }
				}
			}
			const controller = new AbortController()
			const { signal } = controller
			if (random() < 0.2) setTimeout(() => controller.abort(), random() * 30)
			const isStream = method === 'Upload' || method === 'Chat'
			const request = isStream ? messages() : { text: 'q' }
			const timeoutMs = patience * (500 + Math.floor(random() * 1_000))
			return client.invoke(method, request, { signal, timeoutMs })
		}
		const cuts = [10, 60, 200].map((ms) => setTimeout(() => server.cut(), ms))
		onTestFinished(() => {
			for (const cut of cuts) clearTimeout(cut)
		})
		const outcomes: Awaited<ReturnType<typeof call>>[] = []
		// On a busy machine all calls may fail by their deadlines. Then the storm is repeated with longer ones.
		for (let patience = 1; outcomes.every(({ error }) => error); patience *= 2) {
			const calls = Array.from({ length: CALLS }, () => call(pick(methods), patience))
			outcomes.push(...(await Promise.all(calls)))
		}
		const failures = outcomes.filter(({ error }) => error)
		expect(failures.length).toBeGreaterThan(0)
		expect(interceptor.stats).toMatchObject({
			calls: outcomes.length,
			failures: failures.length,
			bufferedBytes: 0,
			bulkhead: { concurrent: 0, queued: 0 },
		})
		await until(
			({ bulkhead, inFlight }) => bulkhead?.concurrent === 0 && bulkhead.queued === 0 && inFlight === 0,
		)
		expect(serverSide.stats.calls).toBeLessThanOrEqual(interceptor.stats.attempts)
		expect(unhandled).toEqual([])
	})
})
