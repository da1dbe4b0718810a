import dns from 'node:dns'
import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import * as net from 'node:net'
import * as tls from 'node:tls'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { classify } from 'yaoki'
import {
	createGuardedClient,
	type GuardedClientOptions,
} from '../../../../src/outbox/webhooks/transport/guarded-client.ts'
import { makeCertificate } from '../../../http/faults/certificate.ts'
import { answer, fin, startFaultServer } from '../../../http/faults/fault-server.ts'
import { listen } from '../../../support/listen.ts'
import { failure, HOST, portOf, request, scriptedLookup, setup, setupClient } from './setup.ts'

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

test('sends the body byte for byte, with the host name as Host, and returns the response', async () => {
	const headers = { 'x-id': '7', 'retry-after': '30' }
	const { server, send } = await setup(answer({ status: 503, body: 'busy', headers }))
	const body = Buffer.from('{"name":"注文"}')
	const response = await send({
		url: `http://${HOST}:${portOf(server)}/hooks/a%20b?x=1#fragment`,
		headers: { 'content-type': 'application/json', 'webhook-id': 'msg_1' },
		body,
	})
	expect(response).toMatchObject({
		status: 503,
		retryAfter: '30',
		headers: { 'x-id': '7', 'retry-after': '30' },
		isTruncated: false,
	})
	expect(text(response.excerpt)).toBe('busy')
	expect(server.requests).toMatchObject([
		{
			method: 'POST',
			path: '/hooks/a%20b?x=1',
			body: body.toString(),
			headers: {
				host: `${HOST}:${portOf(server)}`,
				'webhook-id': 'msg_1',
				'content-length': String(body.length),
			},
		},
	])
})

test('a response without Retry-After has none, and repeated headers are joined', async () => {
	const { send } = await setup(answer({ headers: { 'set-cookie': ['a=1', 'b=2'] as unknown as string } }))
	expect(await send()).toMatchObject({ retryAfter: undefined, headers: { 'set-cookie': 'a=1,b=2' } })
})

describe('a host', () => {
	test('is resolved once, and its checked address is the one that is connected', async () => {
		const lookup = scriptedLookup(['127.0.0.1'], ['127.0.0.2'])
		const { send } = await setup(answer({ body: 'first' }), { lookup })
		const connect = vi.spyOn(net.Socket.prototype, 'connect')
		expect(text((await send()).excerpt)).toBe('first')
		expect(lookup.calls).toEqual([HOST])
		const sockets = connect.mock.results.map(({ value }) => value as net.Socket)
		expect(sockets.map(({ remoteAddress }) => remoteAddress)).toEqual(['127.0.0.1'])
	})

	test.each([
		[['127.0.0.2'], '127.0.0.2'],
		[['127.0.0.1', '127.0.0.2'], '127.0.0.2'],
		[['127.0.0.2', '127.0.0.1'], '127.0.0.2'],
		[['::ffff:127.0.0.2'], '::ffff:127.0.0.2'],
	] as const)('that resolves to %o is rejected before a connection', async (addresses, address) => {
		const { server, send } = await setup(answer(), { lookup: scriptedLookup(addresses) })
		const error = await failure(send())
		expect(error).toMatchObject({
			code: 'YAOKI_WEBHOOK_URL',
			reason: 'address',
			url: `http://${HOST}:${portOf(server)}/`,
			address,
		})
		expect(classify(error).kind).toBe('permanent')
		expect(String(error)).not.toContain(address)
		expect(server.connections.opened).toBe(0)
	})

	test('that changes to an internal address is rejected at its next connection', async () => {
		const lookup = scriptedLookup(['127.0.0.1'], ['127.0.0.2'])
		const { server, send } = await setup(answer({ headers: { connection: 'close' } }), { lookup })
		await send()
		expect(await failure(send())).toMatchObject({ reason: 'address', address: '127.0.0.2' })
		expect(server.connections.opened).toBe(1)
	})

	test('that is allowed may resolve to an internal address', async () => {
		const { server } = await setup()
		for (const allow of [[HOST], ['*.example.com']]) {
			const client = setupClient([portOf(server)], { allow })
			expect(await client.send(request(server))).toMatchObject({ status: 200 })
		}
		expect(await failure(setupClient([portOf(server)], { allow: [] }).send(request(server)))).toMatchObject({
			reason: 'address',
		})
	})

	test('that the system resolves to loopback is rejected unless it is allowed', async () => {
		const { server } = await setup()
		const url = `http://localhost:${portOf(server)}/`
		const send = (options: GuardedClientOptions) =>
			setupClient([portOf(server)], { lookup: undefined, ...options }).send(request(server, { url }))
		expect(await send({ allow: ['localhost'] })).toMatchObject({ status: 200 })
		expect(await send({ allow: ['localhost'], lookup: dns.lookup })).toMatchObject({ status: 200 })
		// The early check of names comes first.
		expect(await failure(send({ allow: [] }))).toMatchObject({ reason: 'host' })
	})
})

test('an address in the URL is connected to without a lookup if it is allowed, and rejected if not', async () => {
	const lookup = scriptedLookup(['127.0.0.1'])
	const { server, send } = await setup(answer(), { lookup })
	expect(await send({ url: `${server.origin}/a` })).toMatchObject({ status: 200 })
	expect(await failure(send({ url: `http://127.0.0.2:${portOf(server)}/` }))).toMatchObject({
		reason: 'address',
	})
	expect(lookup.calls).toEqual([])
})

test('nothing is sent if the connection has another address than the checked one', async () => {
	const { server, send } = await setup(answer())
	const { connect } = net.Socket.prototype
	const addresses = ['10.0.0.7', undefined]
	// Only sockets of clients connect.
	vi.spyOn(net.Socket.prototype, 'connect').mockImplementation(function (
		this: net.Socket,
		...args: unknown[]
	) {
		Object.defineProperty(this, 'remoteAddress', { value: addresses.shift() })
		return Reflect.apply(connect, this, args)
	})
	expect(await failure(send())).toMatchObject({ reason: 'address', address: '10.0.0.7' })
	expect(await failure(send())).toMatchObject({ code: 'ECONNRESET' })
	await server.allClosed()
	expect(server.requests).toEqual([])
})

test.each([301, 302, 303, 307, 308])(
	'a redirect (%i) to an internal address is not followed',
	async (status) => {
		await using internal = await startFaultServer()
		const lookup = scriptedLookup(['127.0.0.1'])
		const { send } = await setup(answer({ status, headers: { location: internal.url('/secret') } }), {
			lookup,
		})
		expect(await send()).toMatchObject({ status, headers: { location: internal.url('/secret') } })
		expect(internal.connections.opened).toBe(0)
		expect(lookup.calls).toHaveLength(1)
	},
)

test('a proxy of the environment is not used', async () => {
	await using proxy = await startFaultServer()
	for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'])
		vi.stubEnv(name, proxy.origin)
	vi.stubEnv('NODE_USE_ENV_PROXY', '1')
	vi.stubEnv('NO_PROXY', '')
	onTestFinished(() => void vi.unstubAllEnvs())
	const { send } = await setup(answer())
	expect(await send()).toMatchObject({ status: 200 })
	expect(proxy.connections.opened).toBe(0)
})

describe('connections', () => {
	test('are reused by later requests to the same host, and not by another host', async () => {
		const { server, send } = await setup(answer({ body: 'ok' }))
		await send()
		await send()
		expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1])
		await send({ url: `http://other.example.com:${portOf(server)}/` })
		expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 2])
	})

	test('of concurrent requests are separate', async () => {
		const { server, send } = await setup(answer({ body: 'ok' }))
		await Promise.all(Array.from({ length: 5 }, () => send()))
		expect(server.connections.opened).toBe(5)
		await Promise.all(Array.from({ length: 5 }, () => send()))
		expect(server.connections.opened).toBe(5)
	})

	test('that hang delay no other request to their host', async () => {
		let respond = (): void => {}
		const after = new Promise<void>((resolve) => {
			respond = resolve
		})
		const hanging = 200
		const { server, send } = await setup([
			answer({ after }),
			...Array.from({ length: hanging - 1 }, () => answer({ after })),
			answer({ body: 'ok' }),
		])
		const all = Array.from({ length: hanging }, () => send())
		await server.requested(hanging)
		expect(await send()).toMatchObject({ status: 200 })
		respond()
		expect((await Promise.all(all)).every(({ status }) => status === 200)).toBe(true)
	})

	test('are kept for at most 256 idle hosts', async () => {
		const { server, client } = await setup(answer({ body: 'ok' }))
		for (let host = 0; host < 260; host++)
			await client.send(request(server, { url: `http://h${host}.example.com:${portOf(server)}/` }))
		await server.until('the end of the oldest connections', () => server.connections.open <= 256)
		expect(server.connections.open).toBe(256)
		// The last ones are kept.
		await client.send(request(server, { url: `http://h259.example.com:${portOf(server)}/` }))
		expect(server.connections.opened).toBe(260)
	})

	test('are not reused by a request after close', async () => {
		const { server, client, send } = await setup(answer({ body: 'ok' }))
		await send()
		client.close()
		await server.allClosed()
		expect(await send()).toMatchObject({ status: 200 })
		expect(server.connections.opened).toBe(2)
	})

	test('in use end after their response when the client is closed', async () => {
		let respond = (): void => {}
		const after = new Promise<void>((resolve) => {
			respond = resolve
		})
		const { server, client, send } = await setup(answer({ body: 'ok', after }))
		const sent = send()
		await server.requested(1)
		client.close()
		client.close()
		respond()
		expect(await sent).toMatchObject({ status: 200, isTruncated: false })
		await server.allClosed()
	})

	test('that the receiver closes while idle do not fail the next request', async () => {
		const { server, send } = await setup([
			fin('body', { headers: { 'content-length': '10' }, body: '0123456789' }),
			answer(),
		])
		expect(await send()).toMatchObject({ status: 200 })
		await server.allClosed()
		expect(await send()).toMatchObject({ status: 200 })
	})
})

describe('TLS', () => {
	const trust = (certificate: string): void => {
		const before = tls.getCACertificates('default')
		tls.setDefaultCACertificates([...before, certificate])
		onTestFinished(() => tls.setDefaultCACertificates(before))
	}

	const startTls = async (certificate = makeCertificate()) => {
		const names: unknown[] = []
		const hosts: unknown[] = []
		const server = createHttpsServer(certificate, ({ headers, socket }, response) => {
			names.push((socket as tls.TLSSocket).servername)
			hosts.push(headers.host)
			response.end('ok')
		})
		server.on('tlsClientError', () => {})
		const port = await listen(server)
		onTestFinished(async () => {
			server.closeAllConnections()
			server.close()
			await once(server, 'close')
		})
		return { certificate, names, hosts, port, origin: `https://localhost:${port}` }
	}

	test('verifies the certificate for the host name, which is also the server name', async () => {
		const server = await startTls()
		trust(server.certificate.cert)
		const client = setupClient([server.port], { allow: ['localhost', '127.0.0.1'], allowHttp: false })
		for (const url of [`${server.origin}/a`, `${server.origin}/b`, `https://127.0.0.1:${server.port}/`])
			expect(await client.send(request(server, { url }))).toMatchObject({ status: 200 })
		expect(server.names).toEqual(['localhost', 'localhost', false])
		expect(server.hosts[0]).toBe(`localhost:${server.port}`)
	})

	test('rejects a certificate of another host', async () => {
		const server = await startTls(makeCertificate('wrong host'))
		trust(server.certificate.cert)
		const client = setupClient([server.port], { allow: ['localhost'] })
		const error = await failure(client.send(request(server, { url: server.origin })))
		expect(error).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
		expect(server.hosts).toEqual([])
	})

	test('rejects an unknown certificate, also if the environment switches verification off', async () => {
		vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
		onTestFinished(() => void vi.unstubAllEnvs())
		const server = await startTls()
		const client = setupClient([server.port], { allow: ['localhost'] })
		const error = await failure(client.send(request(server, { url: server.origin })))
		expect(error).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
		expect(server.hosts).toEqual([])
	})

	test('sends nothing to a host that resolves to an internal address', async () => {
		const server = await startTls()
		const client = setupClient([server.port], { allow: [] })
		const url = `https://${HOST}:${server.port}/`
		expect(await failure(client.send(request(server, { url })))).toMatchObject({ reason: 'address' })
	})
})

describe('headers', () => {
	test.each([
		'host',
		'Host',
		'Content-Length',
		'transfer-encoding',
		'connection',
		'proxy-authorization',
		'expect',
	])('%s cannot be set', async (name) => {
		const { server, send } = await setup()
		const error = await failure(send({ headers: { [name]: 'x' } }))
		expect(error).toMatchObject({ code: 'YAOKI_INVALID_ARGUMENT', argument: `headers.${name}` })
		expect(classify(error as Error).kind).toBe('permanent')
		expect(server.connections.opened).toBe(0)
	})

	test('with a line break are rejected', async () => {
		const { server, send } = await setup()
		const error = await failure(send({ headers: { 'x-a': 'b\r\nhost: internal' } }))
		expect(error).toMatchObject({ code: 'ERR_INVALID_CHAR' })
		expect(classify(error as Error).kind).toBe('permanent')
		expect(server.connections.opened).toBe(0)
	})
})

test('a URL that is not permitted rejects with its error', async () => {
	const { client } = await setup()
	for (const url of ['https://user:pass@example.com/', 'ftp://example.com/', 'https://10.0.0.1/', 'nonsense'])
		expect(await failure(client.send(request({ origin: 'http://x:1' }, { url })))).toMatchObject({
			code: 'YAOKI_WEBHOOK_URL',
		})
})

test.each([
	[{ maxResponseBytes: -1 }, 'maxResponseBytes'],
	[{ maxResponseBytes: 1.5 }, 'maxResponseBytes'],
	[{ maxResponseBytes: Infinity }, 'maxResponseBytes'],
	[{ lookup: '127.0.0.1' }, 'lookup'],
	[{ runtime: {} }, 'runtime'],
	[{ ports: [] }, 'ports'],
	[{ allow: ['*'] }, 'allow[0]'],
	[{ allowHttp: 1 }, 'allowHttp'],
	[{ fetch: () => {} }, 'fetch'],
	[null, 'options'],
])('rejects the options %o', (options, optionPath) => {
	expect(() => createGuardedClient(options as never)).toThrow(expect.objectContaining({ optionPath }))
})
