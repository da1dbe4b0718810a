import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { readWhole } from '../../../src/http/cache/read-body.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** A response whose body yields these chunks and then ends or fails. Counts the chunks read, and records a cancel. */
function chunked(chunks: readonly Bytes[], init: ResponseInit = {}, failure?: Error) {
	const cancel = vi.fn()
	const seen = { taken: 0, cancel }
	const body = new ReadableStream<Bytes>(
		{
			pull(controller) {
				const chunk = chunks[seen.taken]
				if (chunk) {
					seen.taken++
					controller.enqueue(chunk)
				} else if (failure) controller.error(failure)
				else controller.close()
			},
			cancel,
		},
		{ highWaterMark: 0 },
	)
	return { response: new Response(body, init), seen }
}

const bytesOf = (text: string): Bytes => new TextEncoder().encode(text)
const numbers = (length: number): Bytes => Uint8Array.from({ length }, (_, i) => i)

/** The same bytes in one piece, in a buffer of their own. */
const joined = (chunks: readonly Uint8Array[]): Bytes => new Uint8Array(Buffer.concat(chunks))

const bodies = fc.array(
	fc.uint8Array({ maxLength: 20 }).map((bytes) => new Uint8Array(bytes)),
	{
		maxLength: 20,
	},
)

describe('a body within the limit', () => {
	it('is read, and the caller reads it again from a response that is otherwise the same', async () => {
		const init = { status: 203, statusText: 'Fine', headers: { 'x-a': '1', 'content-length': '5' } }
		const { response } = chunked([bytesOf('he'), bytesOf('llo')], init)
		Object.defineProperty(response, 'url', { value: 'https://api.example.com/there' })
		Object.defineProperty(response, 'redirected', { value: true })
		const { bytes, response: mine } = await readWhole(response, 5)
		expect(bytes).toEqual(bytesOf('hello'))
		expect(mine).toBeInstanceOf(Response)
		expect([mine.status, mine.statusText, mine.url, mine.redirected]).toEqual([
			203,
			'Fine',
			'https://api.example.com/there',
			true,
		])
		expect([...mine.headers]).toEqual([...response.headers])
		expect(mine.bodyUsed).toBe(false)
		expect(await mine.text()).toBe('hello')
	})

	it('can be changed by the caller without changing the cached bytes', async () => {
		const { bytes, response } = await readWhole(chunked([bytesOf('hello')]).response, 10)
		new Uint8Array(await response.arrayBuffer()).fill(0)
		expect(bytes).toEqual(bytesOf('hello'))
	})

	it('can be empty or missing', async () => {
		const empty = await readWhole(chunked([new Uint8Array(0)]).response, 0)
		expect([empty.bytes?.byteLength, await empty.response.text()]).toEqual([0, ''])
		const none = new Response(null, { status: 204 })
		expect(await readWhole(none, 0)).toEqual({ response: none, bytes: new Uint8Array(0) })
	})

	it('can be an empty stream for a status without a body', async () => {
		const { response } = chunked([])
		Object.defineProperty(response, 'status', { value: 204 })
		const read = await readWhole(response, 10)
		expect([read.response.status, read.response.body]).toEqual([204, null])
	})
})

describe('a body above the limit', () => {
	it('reaches the caller whole, and nothing is read ahead', async () => {
		const chunks = [bytesOf('one '), bytesOf('two '), bytesOf('three '), bytesOf('four')]
		const { response, seen } = chunked(chunks)
		const { bytes, response: mine } = await readWhole(response, 6)
		expect(bytes).toBeUndefined()
		const reader = mine.body?.getReader()
		for (const [index, chunk] of chunks.entries()) {
			expect((await reader?.read())?.value).toEqual(chunk)
			expect(seen.taken).toBe(Math.max(2, index + 1))
		}
		expect((await reader?.read())?.done).toBe(true)
	})

	it('is not touched if its length is known', async () => {
		const { response, seen } = chunked([bytesOf('hello')], { headers: { 'content-length': '5' } })
		expect(await readWhole(response, 4)).toEqual({ response, bytes: undefined })
		expect([seen.taken, response.bodyUsed]).toEqual([0, false])
		expect(await response.text()).toBe('hello')
	})

	it('is detected though content-length is smaller, as for a compressed one', async () => {
		const { response } = chunked([numbers(50), numbers(50)], { headers: { 'content-length': '10' } })
		const { bytes, response: mine } = await readWhole(response, 60)
		expect(bytes).toBeUndefined()
		expect((await mine.arrayBuffer()).byteLength).toBe(100)
	})

	it('is cancelled when the caller cancels, which frees the connection', async () => {
		const { response, seen } = chunked([numbers(50), numbers(50)])
		const { response: mine } = await readWhole(response, 10)
		const reason = new Error('enough')
		await mine.body?.cancel(reason)
		expect(seen.cancel).toHaveBeenCalledExactlyOnceWith(reason)
	})

	it('a body above the limit that breaks later yields the received bytes and then its own error', async () => {
		const failure = new Error('cut off')
		const { response } = chunked([bytesOf('12345'), bytesOf('678')], {}, failure)
		const reader = (await readWhole(response, 4)).response.body?.getReader()
		expect((await reader?.read())?.value).toEqual(bytesOf('12345'))
		expect((await reader?.read())?.value).toEqual(bytesOf('678'))
		await expect(reader?.read()).rejects.toBe(failure)
	})

	it('has status, headers and URL like any other', async () => {
		const { response } = chunked([numbers(50)], { status: 201, headers: { 'x-a': '1' } })
		Object.defineProperty(response, 'url', { value: 'https://api.example.com/there' })
		const { response: mine } = await readWhole(response, 10)
		expect([mine.status, mine.url, mine.headers.get('x-a')]).toEqual([
			201,
			'https://api.example.com/there',
			'1',
		])
	})
})

describe('any body in any chunks', () => {
	it('is unchanged for the caller, and cached exactly if it fits', async () => {
		await fc.assert(
			fc.asyncProperty(bodies, fc.nat({ max: 250 }), async (chunks, maxBytes) => {
				const whole = joined(chunks)
				const { bytes, response } = await readWhole(chunked(chunks).response, maxBytes)
				expect(bytes).toEqual(whole.byteLength <= maxBytes ? whole : undefined)
				expect(new Uint8Array(await response.arrayBuffer())).toEqual(whole)
			}),
			{ numRuns: 500 },
		)
	})

	it('is unchanged if the chunks share one buffer', async () => {
		const slab = numbers(100)
		const chunks = [slab.subarray(0, 30), slab.subarray(30, 60), slab.subarray(60)]
		for (const maxBytes of [0, 30, 45, 99, 100]) {
			const { response } = await readWhole(chunked(chunks).response, maxBytes)
			expect(new Uint8Array(await response.arrayBuffer())).toEqual(numbers(100))
		}
		expect(slab).toEqual(numbers(100))
	})

	it('any body in any chunks that breaks before the limit fails with its own error', async () => {
		const failure = new Error('cut off')
		await expect(readWhole(chunked([bytesOf('half')], {}, failure).response, 100)).rejects.toBe(failure)
	})
})

describe('a body that may not end', () => {
	it.each([
		'text/event-stream',
		'Text/Event-Stream; charset=utf-8',
		'multipart/x-mixed-replace; boundary=a',
		'application/x-ndjson',
		'application/jsonl',
		'application/json-seq',
	])('is passed through: %s', async (type) => {
		const { response, seen } = chunked([bytesOf('data: 1\n\n')], { headers: { 'content-type': type } })
		expect(await readWhole(response, 1_000)).toEqual({ response, bytes: undefined })
		expect(seen.taken).toBe(0)
	})

	it('does not include plain JSON', async () => {
		const { response } = chunked([bytesOf('{}')], { headers: { 'content-type': 'application/json' } })
		expect((await readWhole(response, 1_000)).bytes).toEqual(bytesOf('{}'))
	})
})

describe('rejects', () => {
	it('a body that was already read: it would look empty', async () => {
		const response = new Response('hello')
		await response.text()
		await expect(readWhole(response, 10)).rejects.toThrow('The response body has already been read')
	})

	it('a body of something other than bytes, and cancels it', async () => {
		const cancel = vi.fn()
		const body = new ReadableStream({ start: (controller) => controller.enqueue('text'), cancel })
		await expect(readWhole(new Response(body), 10)).rejects.toThrow(TypeError)
		expect(cancel).toHaveBeenCalledOnce()
	})
})
