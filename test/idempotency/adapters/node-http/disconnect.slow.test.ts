import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { memoryIdempotencyStore } from '../../../../src/idempotency/index.ts'
import { send, sendAndDisconnect } from '../client.ts'
import { protectedServer } from '../protected-server.ts'
import { observedStore } from '../stores.ts'

describe('a client that disconnects', () => {
	/** Calls the handler when the client is gone. */
	async function withoutClient(handle: (response: ServerResponse) => unknown, options = {}) {
		const entered = Promise.withResolvers<void>()
		const { store, seen, ended } = observedStore()
		const server = await protectedServer(
			async (request, response) => {
				entered.resolve()
				if (!request.socket.destroyed) await once(request.socket, 'close')
				await handle(response)
			},
			{ store, ...options },
		)
		await sendAndDisconnect(server.url, entered.promise)
		return { ...server, seen, ended }
	}

	test('does not show in the response until its end', async () => {
		const log: unknown[] = []
		const { url, ended } = await withoutClient(async (response) => {
			response.on('close', () => log.push('close'))
			log.push(response.destroyed, response.closed, response.writableNeedDrain)
			for (let at = 0; at < 10; at++) {
				log.push(response.write(Buffer.alloc(50_000, 'x')))
				await new Promise<void>((resolve, reject) =>
					response.write('y', (error) => (error ? reject(error) : resolve())),
				)
			}
			log.push(response.destroyed)
			response.end('z')
			await once(response, 'close')
			log.push(response.destroyed, response.closed)
		})
		await ended
		expect((await send(url)).body).toHaveLength(500_011)
		expect(log).toEqual([false, false, false, ...new Array(10).fill(true), false, 'close', true, true])
	})

	test('does not stop a stream that waits for the client to read', async () => {
		const { store, ended } = observedStore()
		const isFull = Promise.withResolvers<void>()
		const { url } = await protectedServer(
			(_, response) => {
				let sent = 0
				const source = new Readable({
					read() {
						sent++
						this.push(sent > 100 ? null : Buffer.alloc(100_000, 'x'))
					},
				})
				source.on('pause', () => isFull.resolve())
				source.pipe(response)
			},
			{ store, maxBodyBytes: 20_000_000 },
		)
		// The client reads nothing.
		await sendAndDisconnect(url, isFull.promise)
		await ended
		expect((await send(url)).body).toHaveLength(10_000_000)
	})

	test('does not fail or lose the callback of a write', async () => {
		const { store, ended } = observedStore()
		const isFull = Promise.withResolvers<void>()
		const errors: unknown[] = []
		const { url } = await protectedServer(
			async (_, response) => {
				for (let at = 0; at < 40; at++) {
					const isAccepted = response.write(Buffer.alloc(100_000, 'x'))
					if (!isAccepted && at > 10) break
				}
				const written = new Promise<void>((resolve) =>
					response.write('y', (error) => {
						errors.push(error)
						resolve()
					}),
				)
				isFull.resolve()
				await written
				response.end('z')
			},
			{ store, maxBodyBytes: 20_000_000 },
		)
		await sendAndDisconnect(url, isFull.promise)
		await ended
		expect(errors).toEqual([undefined])
		expect((await send(url)).body.subarray(-2).toString()).toBe('yz')
	})

	test('does not lose the callback of a write before the response has noticed it', async () => {
		const { store, ended } = observedStore()
		const { url } = await protectedServer(
			async (request, response) => {
				response.write('a')
				request.socket.destroy()
				await new Promise<void>((resolve) => response.write('b', () => resolve()))
				response.end('c')
			},
			{ store },
		)
		await expect(send(url)).rejects.toThrow()
		await ended
		expect((await send(url)).body.toString()).toBe('abc')
	})

	test('does not prevent the release of the key if the handler throws', async () => {
		const { seen, ended } = await withoutClient((response) => {
			response.write('a')
			throw new Error('boom')
		})
		await ended
		expect(seen).toEqual({ claims: 1, releases: 1, completions: 0 })
	})

	test('ends a handler that never ends when the lease is lost', async () => {
		const runtime = virtualRuntime()
		const closed = Promise.withResolvers<boolean>()
		const gone = Promise.withResolvers<void>()
		const { engine } = await withoutClient(
			(response) => {
				response.on('close', () => closed.resolve(response.destroyed))
				gone.resolve()
			},
			{ runtime, store: memoryIdempotencyStore({ runtime }), leaseMs: 1_000, maxRunMs: 3_000 },
		)
		const lost = Promise.withResolvers<void>()
		engine.subscribe(({ type }) => type === 'idempotency_lease_lost' && lost.resolve())
		await gone.promise
		await runtime.advance(5_000)
		await lost.promise
		expect(await closed.promise).toBe(true)
	})
})
