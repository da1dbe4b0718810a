import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { OUTAGE_PATH, RELAY_HEADER, Receiver, STOCK_PATH } from '../../../src/cli/demo/receiver.ts'
import type { Runtime } from '../../../src/core/runtime/runtime.ts'
import { systemRuntime } from '../../../src/core/runtime/system.ts'

/** The next random number: 0 is a server error, 0.99 no fault. */
let random = 0.99
let receiver: Receiver
let url: string
/** Responses that wait for the test; undefined if they are sent automatically. */
let delayed: (() => void)[] | undefined

beforeEach(async () => {
	random = 0.99
	delayed = undefined
	const setTimer: Runtime['setTimer'] = (ms, fire, kind) => {
		if (!delayed) return systemRuntime.setTimer(ms, fire, kind)
		delayed.push(fire)
		return () => {}
	}
	receiver = new Receiver({ ...systemRuntime, random: () => random, setTimer })
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

test('accepts an order once, and rejects a duplicate by its key', async () => {
	expect((await post('1', 'a')).status).toBe(201)
	expect((await post('1', 'a', 'relay-2')).status).toBe(200)
	expect((await post('2', 'b', 'relay-2')).status).toBe(201)
	expect([...receiver.orders]).toEqual([
		['a', 1],
		['b', 1],
	])
	expect(receiver.duplicates).toBe(1)
})

test('the stock fails like an order, and is not part of the ledger', async () => {
	const stock = () => fetch(new URL(STOCK_PATH, url))
	expect(await (await stock()).text()).toBe('in stock')
	random = 0
	expect((await stock()).status).toBe(500)
	random = 0.99
	receiver.outages.add('scheduled')
	await expect(stock()).rejects.toThrow()
	random = 0
	receiver.injectsFaults = false
	expect((await stock()).status).toBe(200)
	expect(receiver.orders.size).toBe(0)
	expect(receiver.faults).toEqual({ serverErrors: 0, tooManyRequests: 0, hung: 0, rejected: 0, outage: 0 })
})

test('counts a duplicate as caused by a kill only if the earlier relay was killed before', async () => {
	await post('1', 'a', 'relay-1')
	await post('2', 'b', 'relay-1')
	await post('3', 'c', 'relay-2')
	await post('1', 'a', 'relay-2')
	receiver.markKilled('relay-1')
	await post('1', 'a', 'relay-3')
	await post('2', 'b', 'relay-3')
	await post('2', 'b', 'relay-3')
	await post('3', 'c', 'relay-3')
	expect(receiver.duplicates).toBe(5)
	expect([...receiver.duplicatesByKill]).toEqual([['relay-1', { answered: 1, unanswered: 0 }]])
})

test('distinguishes duplicates of answered and of unanswered messages', async () => {
	await post('1', 'a', 'relay-1')
	const answers: (() => void)[] = []
	delayed = answers
	const stop = new AbortController()
	const hanging = post('2', 'b', 'relay-1', { signal: stop.signal })
	await expect.poll(() => receiver.orders.size).toBe(2)
	stop.abort()
	await hanging.catch(() => {})
	await expect.poll(() => receiver.countUnanswered('relay-1')).toBe(0)
	delayed = undefined
	for (const answer of answers) answer()
	receiver.markKilled('relay-1')
	await post('1', 'a', 'relay-2')
	await post('2', 'b', 'relay-2')
	expect(receiver.duplicatesByKill.get('relay-1')).toEqual({ answered: 1, unanswered: 1 })
})

test('counts an order twice if it arrives with two keys', async () => {
	await post('1', 'a')
	await post('2', 'a')
	expect(receiver.orders.get('a')).toBe(2)
})

describe('injected faults', () => {
	test('status 500 at random, without accepting the order', async () => {
		random = 0
		expect((await post('1', 'a')).status).toBe(500)
		expect(receiver.orders.size).toBe(0)
		expect(receiver.faults.serverErrors).toBe(1)
	})

	test('status 429 with Retry-After, once per failNext', async () => {
		receiver.failNext('tooManyRequests')
		const answer = await post('1', 'a')
		expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
		expect((await post('1', 'a')).status).toBe(201)
	})

	test('an outage that was requested does not end with a scheduled one', async () => {
		const request = async (method: string) => (await fetch(new URL(OUTAGE_PATH, url), { method })).status
		receiver.outages.add('scheduled')
		expect(await request('PUT')).toBe(204)
		receiver.outages.delete('scheduled')
		await expect(post('1', 'a')).rejects.toThrow()
		// What a form of another site could send.
		expect(await request('POST')).toBe(405)
		expect(await request('DELETE')).toBe(204)
		expect((await post('1', 'a')).status).toBe(201)
	})

	test('status 422 for an order that has failed before, and its replay is accepted', async () => {
		receiver.failNext('rejected')
		expect((await post('1', 'a')).status).toBe(500)
		expect((await post('2', 'b')).status).toBe(201)
		const rejected = await post('1', 'a')
		expect([rejected.status, await rejected.json()]).toEqual([422, { error: 'unknown address' }])
		expect((await post('1', 'a')).status).toBe(201)
		expect(receiver.faults).toMatchObject({ serverErrors: 1, rejected: 1 })
	})

	test('a request that hangs, without accepting the order', async () => {
		receiver.failNext('hung')
		const stop = new AbortController()
		const answer = post('1', 'a', 'relay-1', { signal: stop.signal })
		await expect.poll(() => receiver.faults.hung).toBe(1)
		stop.abort()
		await expect(answer).rejects.toThrow()
		expect(receiver.orders.size).toBe(0)
	})

	test('none while injectsFaults is false', async () => {
		random = 0
		receiver.outages.add('requested')
		receiver.injectsFaults = false
		expect((await post('1', 'a')).status).toBe(201)
	})
})

test('countUnanswered counts accepted requests until the relay disconnects', async () => {
	const stop = new AbortController()
	const answer = post('1', 'a', 'relay-9', { signal: stop.signal })
	await expect.poll(() => receiver.orders.size).toBe(1)
	stop.abort()
	await answer.catch(() => {})
	await expect.poll(() => receiver.countUnanswered('relay-9')).toBe(0)
})
