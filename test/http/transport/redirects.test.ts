import { describe, expect, it } from 'vitest'
import { resilientFetch } from 'yaoki/http'
import { type Handler, init, SENDERS, type Send, serve, settled } from './local-server.ts'

/** `/302/there` redirects to `/there`; any other path responds directly. */
const redirecting =
	(to = ''): Handler =>
	({ path }, response) => {
		const [, status, rest] = /^\/(\d+)(\/.*)$/.exec(path) ?? []
		if (status) response.writeHead(Number(status), { location: to + rest })
		response.end(path)
	}

const sent = async (send: Send, status: number, method: string, body?: BodyInit) => {
	const { url, seen } = await serve(redirecting())
	const given = body === undefined ? { method } : { method, body, duplex: 'half' as const }
	const response = await send(`${url}/${status}/there`, init(given))
	await response.text()
	return { response, url, last: seen.at(-1) }
}

describe.each(SENDERS)('a redirect over $name', ({ send }) => {
	it('is followed, and the response has the final URL', async () => {
		const { url } = await serve(redirecting())
		const response = await send(`${url}/301/302/307/there#part`, init())
		expect([response.url, response.redirected]).toEqual([`${url}/there`, true])
		expect(await response.text()).toBe('/there')
		const direct = await send(`${url}?q#part`, init())
		expect([direct.url, direct.redirected]).toEqual([`${url}/?q`, false])
	})

	it.each([
		[301, 'POST', 'GET'],
		[302, 'POST', 'GET'],
		[303, 'POST', 'GET'],
		[303, 'PUT', 'GET'],
		[303, 'HEAD', 'HEAD'],
		[301, 'PUT', 'PUT'],
		[302, 'DELETE', 'DELETE'],
		[307, 'POST', 'POST'],
		[308, 'POST', 'POST'],
	])('a redirect with %i turns %s into %s', async (status, method, expected) => {
		const body = method === 'POST' || method === 'PUT' ? 'text' : undefined
		const { last } = await sent(send, status, method, body)
		expect(last?.method).toBe(expected)
		const isKept = body !== undefined && expected === method
		expect(last?.body.toString()).toBe(isKept ? 'text' : '')
		expect(last?.headers['content-type']).toBe(isKept ? 'text/plain;charset=UTF-8' : undefined)
	})

	it('sends a form once more, and a blob', async () => {
		const form = new FormData()
		form.append('name', 'Ada')
		expect((await sent(send, 307, 'POST', form)).last?.body.toString()).toContain('Ada')
		expect((await sent(send, 307, 'POST', new Blob(['blob']))).last?.body.toString()).toBe('blob')
	})

	it.each([301, 302, 307, 308])(
		'a redirect with %i is not followed if the body was a stream',
		async (status) => {
			await expect(sent(send, status, 'POST', new Blob(['a']).stream())).rejects.toThrow(TypeError)
		},
	)

	it('a redirect with 303 needs no body, and a stream does not matter', async () => {
		expect((await sent(send, 303, 'POST', new Blob(['a']).stream())).last?.method).toBe('GET')
	})

	it('a redirect to another origin drops credentials, and to the same one keeps them', async () => {
		const other = await serve()
		const { url, seen } = await serve(({ path }, response) => {
			response.writeHead(302, { location: path === '/' ? '/again' : other.url }).end()
		})
		const headers = { authorization: 'a', cookie: 'b', 'proxy-authorization': 'c', 'x-own': 'd' }
		await (await send(url, init({ headers }))).text()
		expect(seen[1]?.headers).toMatchObject(headers)
		const there = other.seen[0]?.headers
		expect(there).toMatchObject({ 'x-own': 'd', host: new URL(other.url).host })
		for (const name of ['authorization', 'cookie', 'proxy-authorization'])
			expect(there).not.toHaveProperty(name)
	})

	it('is followed at most 20 times', async () => {
		const { url } = await serve(redirecting())
		const response = await send(`${url}${'/302'.repeat(20)}/there`, init())
		expect(await response.text()).toBe('/there')
		await expect(send(`${url}${'/302'.repeat(21)}/there`, init())).rejects.toThrow(TypeError)
	})

	it("is returned with redirect: 'manual', or without a location", async () => {
		const { url } = await serve(({ path }, response) => {
			response.writeHead(302, path === '/' ? { location: '/there' } : {}).end('moved')
		})
		const manual = await send(url, init({ redirect: 'manual' }))
		expect([manual.status, manual.headers.get('location'), await manual.text()]).toEqual([
			302,
			'/there',
			'moved',
		])
		expect((await send(`${url}/nowhere`, init())).status).toBe(302)
	})

	it("is an error with redirect: 'error'", async () => {
		const { url } = await serve(redirecting())
		await expect(send(`${url}/302/there`, init({ redirect: 'error' }))).rejects.toThrow(TypeError)
	})

	it.each(['ftp://127.0.0.1/', 'http://[', 'http://me:secret@127.0.0.1:1/'])(
		'to %s is not followed',
		async (location) => {
			const { url } = await serve((_, response) => response.writeHead(302, { location }).end())
			await expect(send(url, init())).rejects.toThrow(TypeError)
		},
	)

	it.each([300, 304, 305, 306])('is not %i', async (status) => {
		const { url } = await serve((_, response) => response.writeHead(status, { location: '/there' }).end())
		expect((await send(url, init())).status).toBe(status)
	})
})

it('resilientFetch says why it did not follow, and does not use a connection for each redirect', async () => {
	const { url, sockets } = await serve(redirecting())
	const fetch = resilientFetch({ maxRetries: 0 })
	await expect(fetch(`${url}${'/302'.repeat(21)}/there`)).rejects.toThrow('redirect count exceeded')
	await (await fetch(`${url}${'/302'.repeat(20)}/there`)).text()
	await settled()
	expect(sockets.length).toBeLessThan(5)
})
