/** Each of these ended a server of `node:http`: the rejection of the adapter had no handler. Vitest fails a run with an unhandled rejection. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeEach, expect, test, vi } from 'vitest'
import type { IdempotencyOptions } from '../../../../src/idempotency/index.ts'
import { type Sent, send } from '../client.ts'
import { type Start, setup } from '../servers.ts'
import { observedStore } from '../stores.ts'
import { created } from './services.ts'

const boom = (): never => {
	throw new Error('boom')
}

export const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`

/** Sends a request that no client library sends, and returns the response as text. */
export async function sendRaw(url: string, head: string): Promise<string> {
	const socket = connect(Number(new URL(url).port), '127.0.0.1')
	let received = ''
	socket.on('data', (data) => {
		received += data
	})
	socket.write(`${head}\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
	await once(socket, 'close')
	return received
}

export function failures(start: Start): void {
	beforeEach(() => {
		vi.spyOn(console, 'error').mockImplementation(() => {})
	})

	test.each(['GET', 'POST', 'OPTIONS'])('%s of a malformed URL does not end the server', async (method) => {
		const { url, calls } = await setup(start, created)
		expect(await sendRaw(url, `${method} http://%/ HTTP/1.1`)).toMatch(/^HTTP\/1\.1 400 /)
		expect(calls()).toBe(0)
		expect((await send(url)).status).toBe(201)
	})

	test.each<[string, Partial<IdempotencyOptions>]>([
		['principal throws', { principal: boom }],
		['principal throws a string', { principal: () => Promise.reject('boom') }],
		['principal returns a number', { principal: (() => 7) as never }],
		['route throws', { route: boom }],
	])('responds with 500 if %s', async (_, options) => {
		const { store, seen } = observedStore()
		const { url, calls } = await setup(start, created, { store, ...options })
		expect((await send(url)).status).toBe(500)
		expect([seen.claims, calls()]).toEqual([0, 0])
	})

	test.each<[string, Sent]>([
		['with a key', {}],
		['without a key', { key: '' }],
	])('responds with 500 if the handler throws %s', async (_, sent) => {
		const { url } = await setup(start, boom)
		expect((await send(url, sent)).status).toBe(500)
	})

	test('stores by the default if shouldStore throws, and reports it', async () => {
		const warned = vi.spyOn(console, 'warn').mockImplementation(() => {})
		const { url, calls } = await setup(start, created, { shouldStore: boom })
		expect((await send(url)).status).toBe(201)
		expect((await send(url)).headers['idempotency-replayed']).toBe('true')
		expect(calls()).toBe(1)
		expect(warned).toHaveBeenCalledWith('yaoki: shouldStore failed:', new Error('boom'))
	})
}

/** For servers without a parser before the adapter. */
export function deepBodies(start: Start): void {
	test('rejects JSON that is nested too deeply to compare', async () => {
		const { store, seen } = observedStore()
		const { url, calls } = await setup(start, created, {
			store,
			canonicalJson: true,
			maxRequestBytes: 500_000,
		})
		const response = await send(url, { body: nested(200_000) })
		expect([response.status, response.code]).toEqual([400, 'request-body-too-deep'])
		expect([seen.claims, calls()]).toEqual([0, 0])
		expect((await send(url, { body: nested(256) })).status).toBe(201)
	})
}
