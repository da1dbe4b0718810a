import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
	answer,
	deferred,
	drip,
	type FaultServer,
	fin,
	hang,
	hugeBody,
	startFaultServer,
	trickleHead,
} from './fault-server.ts'
import { GET, oneByOne, open } from './wire.ts'

const text = async (server: FaultServer, init?: RequestInit) => (await fetch(server.url(), init)).text()

describe('a fault server', () => {
	it('plays its steps in order, and repeats the last one', async () => {
		await using server = await startFaultServer([answer({ body: 'first' }), answer({ body: 'then' })])
		expect([await text(server), await text(server), await text(server)]).toEqual(['first', 'then', 'then'])
	})

	it('plays by path, and by a function of the request', async () => {
		await using server = await startFaultServer({
			'/a': [answer({ body: 'a1' }), answer({ body: 'a2' })],
			'/b': answer({ body: 'b' }),
		})
		const get = async (path: `/${string}`) => (await fetch(server.url(path))).text()
		expect([await get('/a'), await get('/b?x=1'), await get('/a')]).toEqual(['a1', 'b', 'a2'])
		server.play(({ n, method }) => answer({ body: `${method} ${n}` }))
		expect(await get('/c')).toBe('GET 4')
	})

	it('reports on close that its script failed, instead of simulating a network error', async () => {
		const server = await startFaultServer({ '/known': answer() })
		await expect(fetch(server.url('/other'))).rejects.toThrow('fetch failed')
		await expect(server.close()).rejects.toThrow('the script has no step for /other')
	})

	it('records the requests', async () => {
		await using server = await startFaultServer(
			answer({ status: 201, headers: { 'x-said': 'yes' }, body: 'made' }),
		)
		const init = { method: 'POST', body: 'käse', headers: { 'x-mine': '1' } }
		const response = await fetch(server.url('/orders?new'), init)
		expect([response.status, response.headers.get('x-said'), await response.text()]).toEqual([
			201,
			'yes',
			'made',
		])
		const request = await server.done(1)
		expect(request).toMatchObject({ n: 1, connection: 1, method: 'POST', path: '/orders?new', body: 'käse' })
		expect(request.headers).toMatchObject({ 'x-mine': '1' })
		expect(request.bytesWritten).toBeGreaterThan('made'.length)
	})

	it('delays a response until the test releases it', async () => {
		const { promise, resolve: letGo } = deferred()
		await using server = await startFaultServer(answer({ body: 'late', after: promise }))
		const answered = text(server)
		expect((await server.requested(1)).outcome).toBe('open')
		letGo()
		expect(await answered).toBe('late')
	})

	it('can respond before the request body has arrived', async () => {
		await using server = await startFaultServer(answer({ status: 413, early: true }))
		const socket = open(server)
		socket.write('POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 9\r\n\r\nhalf')
		const [bytes] = await once(socket, 'data')
		expect(String(bytes)).toMatch(/^HTTP\/1.1 413 /)
		socket.destroy()
	})

	it('counts connections: total, open, and the maximum concurrent ones', async () => {
		const { promise, resolve: letGo } = deferred()
		await using server = await startFaultServer(answer({ after: promise }))
		const all = [open(server), open(server), open(server)]
		for (const socket of all) socket.write(GET)
		await server.requested(3)
		expect(server.connections).toEqual({ opened: 3, open: 3, mostOpen: 3 })
		letGo()
		await server.until('three answers', () => {
			const { requests } = server
			return requests.length === 3 && requests.every(({ outcome }) => outcome === 'done')
		})
		for (const socket of all) socket.destroy()
		await server.allClosed()
		expect(server.connections).toEqual({ opened: 3, open: 0, mostOpen: 3 })
		expect(server.abortedCount).toBe(0)
	})

	it('reuses a connection for the next request', async () => {
		await using server = await startFaultServer([answer(), answer(), fin('request-head')])
		expect(await oneByOne(server, 3)).toEqual({ answers: 2 })
		expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 1])
		expect(server.requests.map(({ outcome }) => outcome)).toEqual(['done', 'done', 'done'])
	})

	it.each([hang(), hang('response-head'), hang('body'), drip(), trickleHead(), hugeBody()])(
		'notices that the client aborts a request (%#)',
		async (step) => {
			await using server = await startFaultServer(step)
			const caller = new AbortController()
			const call = text(server, { signal: caller.signal })
			await server.requested(1)
			caller.abort(new Error('the user left'))
			await expect(call).rejects.toThrow('the user left')
			expect((await server.aborted(1)).outcome).toBe('aborted')
			expect(server.abortedCount).toBe(1)
			await server.allClosed()
		},
	)

	it('reports what a failed wait was waiting for', async () => {
		const server = await startFaultServer(answer())
		await text(server)
		const waiting = expect(server.aborted(1)).rejects.toThrow(
			"closed while a test waited for the client's abort of request 1; seen: 1 connections, requests: GET / (done)",
		)
		await server.close()
		await waiting
	})

	it('leaves no handle behind', async () => {
		const handles = () =>
			process
				.getActiveResourcesInfo()
				.filter((name) => /TCP/.test(name))
				.sort()
		const before = handles()
		const server = await startFaultServer({ '/hang': hang(), '/drip': drip(), '/huge': hugeBody() })
		const closed = ['/hang', '/drip', '/huge'].map((path) => {
			const socket = open(server).on('error', () => {})
			socket.resume().write(`GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`)
			return once(socket, 'close')
		})
		await server.requested(3)
		expect(handles()).not.toEqual(before)
		await server.close()
		await Promise.all(closed)
		// What was closed leaves the loop at the end of its turn.
		for (const _ of [1, 2]) await setImmediate()
		expect(handles()).toEqual(before)
		await expect(fetch(server.url())).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
	})
})
