import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RELAY_HEADER, Receiver } from '../../../src/cli/demo/receiver.ts'
import type { Runtime } from '../../../src/core/runtime/runtime.ts'
import { systemRuntime } from '../../../src/core/runtime/system.ts'

/** What chance says: 1 is no fault, 0 an error, and between them it hangs. */
let chance = 0.99
let receiver: Receiver
let url: string
/** Answers that are held back until a test gives them; undefined when they come by themselves. */
let held: (() => void)[] | undefined

beforeEach(async () => {
	chance = 0.99
	held = undefined
	const setTimer: Runtime['setTimer'] = (ms, fire, kind) => {
		if (!held) return systemRuntime.setTimer(ms, fire, kind)
		held.push(fire)
		return () => {}
	}
	receiver = new Receiver({ ...systemRuntime, random: () => chance, setTimer })
	url = await receiver.start()
})
afterEach(() => receiver.close())

const post = (id: string, orderId: string, relay = 'relay-1', init: RequestInit = {}) =>
	fetch(url, {
		method: 'POST',
		headers: { 'idempotency-key': id, [RELAY_HEADER]: relay },
		body: JSON.stringify({ orderId }),
		...init,
	})

test('the receiver takes an order once, and refuses a repeat by its key', async () => {
	expect((await post('1', 'a')).status).toBe(201)
	expect((await post('1', 'a', 'relay-2')).status).toBe(200)
	expect((await post('2', 'b', 'relay-2')).status).toBe(201)
	expect([...receiver.orders]).toEqual([
		['a', 1],
		['b', 1],
	])
	expect(receiver.refused).toBe(1)
})

test('a repeat is put down to a kill only when the one who brought it before was killed by then', async () => {
	await post('1', 'a', 'relay-1')
	await post('2', 'b', 'relay-1')
	await post('3', 'c', 'relay-2')
	await post('1', 'a', 'relay-2')
	receiver.killed('relay-1')
	await post('1', 'a', 'relay-3')
	await post('2', 'b', 'relay-3')
	await post('2', 'b', 'relay-3')
	await post('3', 'c', 'relay-3')
	expect(receiver.refused).toBe(5)
	expect([...receiver.refusedByKill]).toEqual([['relay-1', { answered: 1, unanswered: 0 }]])
})

test('a repeat of what was never answered is told apart from one whose answer was not written down', async () => {
	await post('1', 'a', 'relay-1')
	const answers: (() => void)[] = []
	held = answers
	const stop = new AbortController()
	const hanging = post('2', 'b', 'relay-1', { signal: stop.signal })
	await expect.poll(() => receiver.orders.size).toBe(2)
	stop.abort()
	await hanging.catch(() => {})
	await expect.poll(() => receiver.unansweredOf('relay-1')).toBe(0)
	held = undefined
	for (const answer of answers) answer()
	receiver.killed('relay-1')
	await post('1', 'a', 'relay-2')
	await post('2', 'b', 'relay-2')
	expect(receiver.refusedByKill.get('relay-1')).toEqual({ answered: 1, unanswered: 1 })
})

test('the receiver would show an order that came under two keys', async () => {
	await post('1', 'a')
	await post('2', 'a')
	expect(receiver.orders.get('a')).toBe(2)
})

describe('on purpose', () => {
	test('it fails by chance with 500, and takes nothing then', async () => {
		chance = 0
		expect((await post('1', 'a')).status).toBe(500)
		expect(receiver.orders.size).toBe(0)
		expect(receiver.faults.serverErrors).toBe(1)
	})

	test('it says when to come back, once for each time that it is told to', async () => {
		receiver.failNext('tooMany')
		const answer = await post('1', 'a')
		expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
		expect((await post('1', 'a')).status).toBe(201)
	})

	test('it is down as long as it is told to be', async () => {
		receiver.isDown = true
		await expect(post('1', 'a')).rejects.toThrow()
		receiver.isDown = false
		expect((await post('1', 'a')).status).toBe(201)
	})

	test('it hangs, and takes nothing then', async () => {
		receiver.failNext('hung')
		const stop = new AbortController()
		const answer = post('1', 'a', 'relay-1', { signal: stop.signal })
		await expect.poll(() => receiver.faults.hung).toBe(1)
		stop.abort()
		await expect(answer).rejects.toThrow()
		expect(receiver.orders.size).toBe(0)
	})

	test('it does none of it any more when the shop is closed', async () => {
		chance = 0
		receiver.isMoody = false
		expect((await post('1', 'a')).status).toBe(201)
	})
})

test('what was taken and not answered counts for the relay that waits, until it hangs up', async () => {
	const stop = new AbortController()
	const answer = post('1', 'a', 'relay-9', { signal: stop.signal })
	await expect.poll(() => receiver.orders.size).toBe(1)
	stop.abort()
	await answer.catch(() => {})
	await expect.poll(() => receiver.unansweredOf('relay-9')).toBe(0)
})
