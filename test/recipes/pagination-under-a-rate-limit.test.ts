import { expect, test } from 'vitest'
import { reset } from '../http/faults/steps.ts'
import { allOrders } from './.cache/pagination-under-a-rate-limit/orders.ts'
import { BUSY, json, LIMITED, startService } from './support/services.ts'

const HOST = 'api.example.com'
const NEXT = `https://${HOST}/v1/orders`
const pageOf = (first: number, next: string | null, headers = {}) =>
	json({ orders: [{ id: `o-${first}` }, { id: `o-${first + 1}` }], next }, 200, headers)

test('yields every order once, although pages are limited, busy and reset', async () => {
	const service = await startService(HOST, [
		pageOf(1, `${NEXT}?page=2`),
		LIMITED,
		pageOf(3, `${NEXT}?page=3`, { 'ratelimit-policy': '"p";q=10;w=1', ratelimit: '"p";r=0;t=1' }),
		BUSY,
		reset('body'),
		pageOf(5, null),
	])
	const ids: string[] = []
	for await (const { id } of allOrders()) ids.push(id)
	expect(ids).toEqual(['o-1', 'o-2', 'o-3', 'o-4', 'o-5', 'o-6'])
	expect(service.requests.map(({ path }) => path)).toEqual([
		'/v1/orders?limit=100',
		'/v1/orders?page=2',
		'/v1/orders?page=2',
		'/v1/orders?page=3',
		'/v1/orders?page=3',
		'/v1/orders?page=3',
	])
})

test('ends with the abort of the caller, without a further request', async () => {
	const service = await startService(HOST, [pageOf(1, `${NEXT}?page=2`), LIMITED])
	const controller = new AbortController()
	const reading = (async () => {
		for await (const _ of allOrders(controller.signal));
	})()
	await service.done(2)
	controller.abort(new Error('the job was stopped'))
	await expect(reading).rejects.toThrow('the job was stopped')
	expect(service.requests).toHaveLength(2)
})
