import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

// Regression: Cloudflare Workers with a compatibility date before 2025-05-05 have no FinalizationRegistry, and the modules did not load.
describe('without FinalizationRegistry', () => {
	let response: Response
	beforeEach(() => {
		// Node itself needs the registry when it creates one.
		response = new Response('fine')
		vi.stubGlobal('FinalizationRegistry', undefined)
		vi.resetModules()
	})
	afterEach(() => {
		vi.unstubAllGlobals()
		vi.resetModules()
	})

	it('yaoki/http loads, and a caller can read a stream and abort', async () => {
		const { resilientFetch } = await import('../../../src/http/index.ts')
		const fetch = resilientFetch({ fetch: async () => response, timeout: Infinity })
		const { signal } = new AbortController()
		const { body } = await fetch('https://api.example.com', { signal })
		const reader = body?.getReader()
		expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('fine')
	})

	it('the streams of Connect load and end', async () => {
		const { ResponseStream } = await import('../../../src/grpc/connect/response-stream.ts')
		async function* messages() {
			yield 1
		}
		const owner = { onStreamEnd: () => stream.finish(), onStreamError: vi.fn(), onStreamStop: vi.fn() }
		const stream = new ResponseStream(owner, messages())
		const read: unknown[] = []
		for await (const message of stream.open()) read.push(message)
		expect(read).toEqual([1])
	})
})
