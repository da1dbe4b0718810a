import { describe, expect, it } from 'vitest'
import { init, SENDERS, serve } from './local-server.ts'

const bytes = new TextEncoder().encode('-bytes-')

async function* pieces() {
	yield bytes
	yield bytes
}

describe.each(SENDERS)('a request over $name', ({ send }) => {
	const post = async (body: unknown, headers?: HeadersInit) => {
		const { url, seen } = await serve()
		const given = { method: 'POST', duplex: 'half' as const, body: body as BodyInit }
		const response = await send(`${url}/path?a=1`, init(headers ? { ...given, headers } : given))
		await response.text()
		const [first] = seen
		if (!first) throw new Error('the server has seen nothing')
		return first
	}

	it('arrives with its method, path and query', async () => {
		const { url, seen } = await serve()
		for (const method of ['GET', 'POST', 'put', 'PATCH', 'delete', 'OPTIONS', 'HEAD'])
			await (await send(`${url}/some path?q=ü#part`, init({ method }))).text()
		expect(seen.map(({ method }) => method)).toEqual([
			'GET',
			'POST',
			'PUT',
			'PATCH',
			'DELETE',
			'OPTIONS',
			'HEAD',
		])
		expect(new Set(seen.map(({ path }) => path))).toEqual(new Set(['/some%20path?q=%C3%BC']))
	})

	it.each<[string, HeadersInit]>([
		['an object', { 'X-One': '1', Accept: 'text/csv' }],
		['a list', [['X-One', '1'] as [string, string], ['Accept', 'text/csv'] as [string, string]]],
		['Headers', new Headers({ 'X-One': '1', Accept: 'text/csv' })],
	])('accepts headers as %s', async (_, headers) => {
		const { url, seen } = await serve()
		await (await send(url, init({ headers }))).text()
		expect(seen[0]?.headers).toMatchObject({ 'x-one': '1', accept: 'text/csv' })
	})

	it('sends accept and user-agent, unless the caller sets them', async () => {
		const { url, seen } = await serve()
		await (await send(url, init())).text()
		await (await send(url, init({ headers: { 'User-Agent': 'me', 'Accept-Encoding': 'identity' } }))).text()
		await (await send(url, init({ headers: { range: 'bytes=0-1' } }))).text()
		const [plain, named, ranged] = seen.map(({ headers }) => headers)
		expect(plain).toMatchObject({ accept: '*/*', 'accept-encoding': 'gzip, deflate' })
		expect(plain?.['user-agent']).toMatch(/./)
		expect(named).toMatchObject({ 'user-agent': 'me', 'accept-encoding': 'identity' })
		expect(ranged?.['accept-encoding']).toMatch(/identity$/)
	})

	it.each<[string, unknown, string, string | undefined]>([
		['a text', 'grüß', 'grüß', 'text/plain;charset=UTF-8'],
		['a view', new Uint8Array(bytes), '-bytes-', undefined],
		['a part of a buffer', new DataView(bytes.buffer, 1, 5), 'bytes', undefined],
		['a buffer', bytes.slice().buffer, '-bytes-', undefined],
		[
			'search parameters',
			new URLSearchParams({ a: '1 2' }),
			'a=1+2',
			'application/x-www-form-urlencoded;charset=UTF-8',
		],
		['a blob', new Blob(['blob'], { type: 'text/csv' }), 'blob', 'text/csv'],
		['a blob without a type', new Blob(['blob']), 'blob', undefined],
		['nothing', null, '', undefined],
		['an empty text', '', '', 'text/plain;charset=UTF-8'],
	])('sends %s with its length and its content type', async (_, body, text, type) => {
		const seen = await post(body)
		expect(seen.body.toString()).toBe(text)
		expect(seen.headers['content-type']).toBe(type)
		expect(seen.headers['content-length']).toBe(String(Buffer.byteLength(text)))
	})

	it("keeps the caller's content type", async () => {
		const seen = await post('{}', { 'Content-Type': 'application/json' })
		expect(seen.headers['content-type']).toBe('application/json')
	})

	it('sends a form with its fields, its files and the boundary', async () => {
		const form = new FormData()
		form.append('name', 'Ada')
		form.append('name', 'Grace')
		form.append('file', new File(['a,b'], 'table.csv', { type: 'text/csv' }))
		const seen = await post(form)
		const type = seen.headers['content-type'] ?? ''
		expect(type).toMatch(/^multipart\/form-data; boundary=/)
		const read = await new Response(new Uint8Array(seen.body), {
			headers: { 'content-type': type },
		}).formData()
		expect(read.getAll('name')).toEqual(['Ada', 'Grace'])
		const file = read.get('file')
		if (!(file instanceof File)) throw new Error('the file was lost')
		expect([file.name, file.type, await file.text()]).toEqual(['table.csv', 'text/csv', 'a,b'])
	})

	// Regression: undici sent them in lower case, which is valid, but some servers compare case-sensitively.
	it('writes part headers of a form as fetch does', async () => {
		const form = new FormData()
		form.append('file', new File(['a,b'], 'table.csv', { type: 'text/csv' }))
		const { body } = await post(form)
		expect(body.toString().split('\r\n').slice(1, 3)).toEqual([
			'Content-Disposition: form-data; name="file"; filename="table.csv"',
			'Content-Type: text/csv',
		])
	})

	it('sends a stream and an async iterable in chunks', async () => {
		for (const body of [new Blob(['stream']).stream(), pieces()]) {
			const seen = await post(body)
			expect(['stream', '-bytes--bytes-']).toContain(seen.body.toString())
			expect(seen.headers['transfer-encoding']).toBe('chunked')
		}
	})

	it.each([
		['was read before', async (stream: ReadableStream) => await stream.getReader().read()],
		['is being read', async (stream: ReadableStream) => stream.getReader()],
	])('rejects a stream that %s, before anything is sent', async (_, use) => {
		const { url, seen } = await serve()
		const body = new Blob(['stream']).stream()
		await use(body)
		await expect(send(url, init({ method: 'POST', duplex: 'half', body }))).rejects.toThrow(TypeError)
		expect(seen).toEqual([])
	})

	it.each(['GET', 'HEAD'])('rejects a body for %s', async (method) => {
		const { url, seen } = await serve()
		await expect(send(url, init({ method, body: 'x' }))).rejects.toThrow(TypeError)
		expect(seen).toEqual([])
	})

	it.each(['CONNECT', 'trace', 'TRACK'])('rejects the method %s', async (method) => {
		await expect(send('http://127.0.0.1:1', init({ method }))).rejects.toThrow(TypeError)
	})

	it('rejects an invalid URL, and one with credentials', async () => {
		await expect(send('not a url', init())).rejects.toThrow(TypeError)
		await expect(send('http://me:secret@127.0.0.1:1/', init())).rejects.toThrow(TypeError)
		const { url } = await serve()
		expect((await send(`${url}/me@home`, init())).status).toBe(200)
	})
})
