import { Code } from '@connectrpc/connect'
import { describe, expect, test } from 'vitest'
import { Deadline, DeadlineExceededError, explain } from 'yaoki'
import { runWithContext } from 'yaoki/node'
import { virtualRuntime } from 'yaoki/testing'
import type { MethodName } from '../../support/users.ts'
import { retrying, timingOut } from '../configs.ts'
import type { TransportName } from '../connect-client.ts'
import { fail, hang, reply, sendThenHang } from '../connect-server.ts'
import { type Shared, useClient } from '../setup.ts'

/** Deadlines with one transport, which supports these methods. */
export function testDeadlines(
	shared: Shared,
	transport: TransportName,
	methods: readonly MethodName[],
): void {
	describe(`deadlines with ${transport}`, () => {
		test('the timeout of the method is sent', async () => {
			const { server } = shared
			const { client } = useClient(server, { serviceConfig: timingOut('50s') }, transport)
			server.play(reply({}))
			await client.invoke('Get', {})
			const { timeoutMs = Infinity } = server.calls[0] ?? {}
			expect(timeoutMs).toBeGreaterThan(40_000)
			expect(timeoutMs).toBeLessThanOrEqual(50_000)
		})

		test('the timeout of the method shortens that of the caller, but not the reverse', async () => {
			const { server } = shared
			const { client } = useClient(server, { serviceConfig: timingOut('50s') }, transport)
			server.play(reply({}))
			await client.invoke('Get', {}, { timeoutMs: 90_000 })
			await client.invoke('Get', {}, { timeoutMs: 30_000 })
			const [first, second] = server.calls.map(({ timeoutMs = Infinity }) => timeoutMs)
			expect(first).toBeLessThanOrEqual(50_000)
			expect(second).toBeLessThanOrEqual(30_000)
		})

		test('a retry is sent with the remaining time', async () => {
			const { server } = shared
			const { client } = useClient(
				server,
				{ serviceConfig: retrying({ initialBackoff: '0.02s' }) },
				transport,
			)
			server.play([fail(Code.Unavailable), reply({})])
			await client.invoke('Get', {}, { timeoutMs: 60_000 })
			const [first = 0, second = 0] = server.calls.map(({ timeoutMs = Infinity }) => timeoutMs)
			expect(second).toBeLessThan(first - 10)
			expect(second).toBeGreaterThan(30_000)
		})

		test('a call inherits the deadline of the context', async () => {
			const { server } = shared
			const { client } = useClient(server, { serviceConfig: timingOut('50s') }, transport)
			server.play(reply({}))
			await runWithContext({ deadline: Deadline.after(20_000) }, () =>
				client.invoke('List', {}, { timeoutMs: 40_000 }),
			)
			const { timeoutMs = Infinity } = server.calls[0] ?? {}
			expect(timeoutMs).toBeLessThanOrEqual(20_000)
		})

		test.each(methods)('%s: a deadline in the past sends nothing', async (method) => {
			const { server } = shared
			const { client, interceptor } = useClient(server, {}, transport)
			server.play(reply({}))
			const { error } = await runWithContext({ deadline: Deadline.after(0) }, () => client.invoke(method, {}))
			expect(error).toMatchObject({ code: Code.DeadlineExceeded })
			expect(error?.cause).toBeInstanceOf(DeadlineExceededError)
			expect(explain(error)).toMatchObject({ stop: 'deadline', attempts: [] })
			expect(interceptor.stats).toMatchObject({ calls: 1, attempts: 0, failures: 1 })
		})

		test.each(methods)('%s: the timeout of the method ends a call without a response', async (method) => {
			const { server } = shared
			const runtime = virtualRuntime()
			const { client } = useClient(server, { serviceConfig: timingOut('60s'), runtime }, transport)
			server.play(hang())
			const call = client.invoke(method, {})
			await server.called(1)
			await runtime.advance(60_000)
			const { error } = await call
			expect(error).toMatchObject({ code: Code.DeadlineExceeded })
			expect(error?.cause).toBeInstanceOf(DeadlineExceededError)
			expect(explain(error)).toMatchObject({ stop: 'deadline' })
			await server.cancelled(1)
		})

		test.each(methods)('%s: the timeout of the caller has the same error', async (method) => {
			const { server } = shared
			const { client, events } = useClient(server, { serviceConfig: retrying() }, transport)
			server.play(hang())
			const { error } = await client.invoke(method, {}, { timeoutMs: 30 })
			expect(error).toMatchObject({ code: Code.DeadlineExceeded })
			expect(error?.cause).toBeInstanceOf(DeadlineExceededError)
			expect(explain(error)).toMatchObject({ stop: 'deadline' })
			expect(events.at(-1)).toMatchObject({ type: 'call', grpcStatus: 'DEADLINE_EXCEEDED' })
		})

		test('the deadline ends a stream in the middle', async () => {
			const { server } = shared
			const runtime = virtualRuntime()
			const serviceConfig = retrying({ timeout: '60s', codes: ['DEADLINE_EXCEEDED'] })
			const { client, interceptor } = useClient(server, { serviceConfig, runtime, bulkhead: {} }, transport)
			server.play(sendThenHang([{ text: 'a' }]))
			const { items, error } = await client.invoke('List', {}, { onItem: () => runtime.advance(60_000) })
			expect(items).toMatchObject([{ text: 'a' }])
			expect(error?.code).toBe(Code.DeadlineExceeded)
			expect(error?.cause).toBeInstanceOf(DeadlineExceededError)
			expect(server.calls).toHaveLength(1)
			await server.cancelled(1)
			expect(interceptor.stats.bulkhead?.concurrent).toBe(0)
		})
	})
}
