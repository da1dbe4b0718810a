/**
 * A real server under a storm: clients that cancel, disconnect, set short deadlines and send streams, and handlers that respond, fail,
 * throw, hang, end twice and respond late. Afterwards every slot is free and every call was counted once.
 */
import { expect, test } from 'vitest'
import { seededRandom } from 'yaoki/testing'
import { useRawClient } from '../support/raw-client.ts'
import { useUsersClient } from '../support/users-client.ts'
import type { Step } from '../support/users-server.ts'
import { METHODS, useServer } from './setup.ts'

const CALLS = 1_500
const IN_PARALLEL = 30

const turn = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function randomStep(random: () => number): Step {
	const kind = Math.floor(random() * 7)
	const ms = random() * 8
	return async (exchange) => {
		if (kind === 6) return
		if (kind > 2) await turn(ms)
		if (kind === 0 || kind === 3) exchange.fail(13, 'fails')
		if (kind === 5) exchange.send({ data: new Uint8Array(50_000) })
		exchange.end()
		if (kind === 4) exchange.fail(5, 'ends twice')
	}
}

test('leaves no slot, no queue entry and no running call behind', async () => {
	const random = seededRandom(7)
	const { server, interceptor, events, until } = await useServer({
		bulkhead: { maxConcurrent: 8, maxQueue: 8, queueTimeoutMs: 20, abandonAfterMs: 50 },
		defaultDeadlineMs: 100,
		pushbackMs: 1,
	})
	server.play((exchange) => randomStep(random)(exchange))
	const client = useUsersClient(server.address)
	let disconnected = 0
	const one = async (): Promise<void> => {
		const method = METHODS[Math.floor(random() * METHODS.length)] ?? 'Get'
		const kind = random()
		if (kind < 0.1) {
			const raw = useRawClient(server.address)
			const call = raw.call(method)
			call.send({})
			await turn(random() * 5)
			raw.session.destroy()
			disconnected++
			return
		}
		const deadline = kind < 0.3 ? { deadline: Date.now() + random() * 10 } : {}
		const call = client.invoke(method, [{ text: 'a' }, { text: 'b' }], {
			...deadline,
			leaveOpen: random() < 0.2,
		})
		if (kind > 0.7) {
			await turn(random() * 5)
			call.cancel()
		}
		await call.done
	}
	let started = 0
	const worker = async () => {
		while (started++ < CALLS) await one()
	}
	await Promise.all(Array.from({ length: IN_PARALLEL }, worker))
	await until(
		'the end of all calls',
		({ inFlight, bulkhead }) => !inFlight && !bulkhead?.concurrent && !bulkhead?.queued,
	)
	await until('all events', ({ calls }) => events.filter(({ type }) => type === 'call').length === calls)
	const { stats } = interceptor
	const ends = events.filter(({ type }) => type === 'call')
	const byStatus = new Map<unknown, number>()
	for (const { grpcStatus } of ends) byStatus.set(grpcStatus, (byStatus.get(grpcStatus) ?? 0) + 1)
	expect(stats.cancelled).toBe(byStatus.get('CANCELLED'))
	expect(stats.calls - (byStatus.get('OK') ?? 0) - stats.cancelled).toBe(stats.failures)
	// The storm was one: all of this has happened.
	for (const name of ['OK', 'CANCELLED', 'UNAVAILABLE', 'INTERNAL', 'DEADLINE_EXCEEDED'])
		expect(byStatus.get(name)).toBeGreaterThan(0)
	expect(disconnected).toBeGreaterThan(0)
})
