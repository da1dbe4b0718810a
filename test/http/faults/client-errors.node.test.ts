// undici must not be imported here: it would put its own dispatcher beneath Node's fetch.
import { describe, expect, it } from 'vitest'
import { CONNECT_ERRORS, HTTP1_ERRORS, HTTP2_ERRORS } from './client-errors.ts'
import { refusedUrl, startFaultServer, startTlsFaultServer } from './fault-server.ts'
import { startHttp2Server } from './http2-server.ts'
import { ending, expectFetchError } from './thrown.ts'

const viaFetch = (url: string, init: RequestInit = {}) =>
	ending(async () => {
		const response = await fetch(url, init)
		return () => response.text()
	})

/** The class of the dispatcher inside Node, which exports none. */
async function nodeAgent(options: object): Promise<RequestInit & AsyncDisposable> {
	// It is made with the first request.
	await viaFetch(await refusedUrl())
	const agent: unknown = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1'))
	if (typeof agent !== 'object' || agent === null) throw new Error('Node has no dispatcher')
	const dispatcher = Reflect.construct(agent.constructor, [options])
	return Object.assign({ [Symbol.asyncDispose]: () => dispatcher.destroy() }, { dispatcher })
}

describe("Node's fetch", () => {
	it.each(Object.entries(HTTP1_ERRORS))(
		'throws as the table says: %s',
		async (_fault, { step, at, thrown }) => {
			await using server = await startFaultServer(step)
			const end = await viaFetch(server.url())
			expect(end.at).toBe(at)
			expectFetchError(end, thrown)
		},
	)

	it('throws as the table says if there is no server, or none with TLS', async () => {
		await using cut = await startTlsFaultServer('reset')
		await using closed = await startTlsFaultServer('fin')
		expectFetchError(await viaFetch(await refusedUrl()), CONNECT_ERRORS.refused)
		expectFetchError(await viaFetch(cut.url()), CONNECT_ERRORS.tlsReset)
		expectFetchError(await viaFetch(closed.url()), CONNECT_ERRORS.tlsFin)
	})

	it.each(Object.entries(HTTP2_ERRORS))(
		"Node's fetch with HTTP/2 throws as the table says: %s",
		async (_fault, row) => {
			await using server = await startHttp2Server(row.script)
			await using init = await nodeAgent({ allowH2: true, connect: { ca: server.ca } })
			const end = await viaFetch(server.url(), init)
			if (row.node === 'fine') expect(end.text).toBeTypeOf('string')
			else expectFetchError(end, row.node)
			expect(server.requests).toHaveLength(1)
		},
	)
})
