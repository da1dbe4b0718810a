/** 1,000 streams over loopback, of which 100 never read: what is buffered for them is counted. */
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { virtualRuntime } from 'yaoki/testing'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { listen } from '../../support/listen.ts'
import { circuitWith, fakeDashboard } from './fake-parts.ts'

const DEAF = 100
const READING = 900
const EVENT_BYTES = 200_000
const PATH = '/ops/retries/_yaoki/api/stream'

test('clients that do not read hold one event each, while the others get every change', async () => {
	const clock = virtualRuntime({ seed: 1 })
	const { page, parts } = fakeDashboard({ runtime: clock })
	const server = createServer(page.node)
	const sockets = new Set<Socket>()
	server.on('connection', (socket: Socket) => void sockets.add(socket))
	const port = await listen(server)
	const clients: { destroy(): unknown }[] = []
	onTestFinished(() => {
		for (const client of clients) client.destroy()
		server.closeAllConnections()
		server.close()
	})
	const show = (calls: number, bytes: number) => {
		parts.live = { ...parts.live, circuits: [circuitWith(calls, 'x'.repeat(bytes))] }
	}
	const opened = () => sockets.size
	const isBlocked = () => [...sockets].every((socket) => socket.writableNeedDrain)

	show(0, EVENT_BYTES)
	for (let index = 0; index < DEAF; index++) {
		const socket = connect(port, '127.0.0.1')
		// Without a listener for data it does not read.
		clients.push(socket.on('error', () => undefined).pause())
		socket.write(`GET ${PATH} HTTP/1.1\r\nHost: shop.test\r\n\r\n`)
	}
	await eventuallyTrue(() => opened() === DEAF)
	let calls = 0
	await eventually(async () => {
		show(++calls, EVENT_BYTES)
		await clock.advance(1_000)
		expect(isBlocked()).toBe(true)
	})
	const deaf = [...sockets]
	const buffered = () => deaf.reduce((sum, socket) => sum + socket.writableLength, 0)
	const atFirst = buffered()
	// A hundred changes that none of them reads.
	for (let change = 0; change < 100; change++) {
		show(++calls, EVENT_BYTES)
		await clock.advance(1_000)
	}
	expect(buffered()).toBe(atFirst)
	expect(atFirst).toBeLessThanOrEqual(DEAF * 1.1 * EVENT_BYTES)

	show(0, 10)
	const texts: string[] = Array(READING).fill('')
	for (let index = 0; index < READING; index++) {
		const request = get({ port, host: '127.0.0.1', path: PATH, agent: false })
		clients.push(request.on('error', () => undefined))
		request.on('response', (response) => {
			response.on('error', () => undefined)
			response.setEncoding('utf8').on('data', (text: string) => {
				texts[index] += text
			})
		})
	}
	const seen = (count: number) =>
		eventuallyTrue(async () => {
			await clock.advance(1_000)
			return texts.every((text) => text.includes(`"calls":${count},`))
		})
	await seen(0)
	const { overviews } = parts
	for (let change = 1; change <= 3; change++) {
		show(change, 10)
		await seen(change)
	}
	expect(parts.overviews - overviews).toBeLessThan(READING)
	expect(buffered()).toBe(atFirst)

	const [tooMany] = await once(get({ port, host: '127.0.0.1', path: PATH, agent: false }), 'response')
	expect([tooMany.statusCode, tooMany.headers['retry-after']]).toEqual([503, '5'])
	tooMany.resume()

	for (const client of clients.slice(0, DEAF)) client.destroy()
	await eventuallyTrue(() => deaf.every((socket) => socket.destroyed))
	await eventually(async () =>
		expect((await fetch(`http://127.0.0.1:${port}${PATH}`, { method: 'GET' })).status).toBe(200),
	)
})
