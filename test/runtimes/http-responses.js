/** Responses are those of the runtime and support everything that the runtime does, although reads are tracked. */
import { resilientFetch } from 'yaoki/http'
import { errorOf, isTrue, SHORT, SKIPPED, same } from './checks.js'
import { isPage, isWorker, story } from './stories.js'

const text = (bytes) => new TextDecoder().decode(bytes)

const page = ({ apiUrl }, init) => resilientFetch(SHORT)(story(apiUrl, 'page').url, init)

export const tests = {
	async 'returns a Response of the runtime'(where) {
		const response = await page(where)
		isTrue(response instanceof Response, 'it is none')
		same(Object.prototype.toString.call(response), '[object Response]')
		same(
			`${response.status} ${response.ok} ${response.type !== 'error'} ${response.bodyUsed}`,
			'200 true true false',
		)
		same(response.headers.get('content-type'), 'text/plain')
		same(await response.text(), 'a page')
		same(response.bodyUsed, true)
		same((await errorOf(response.text())).name, 'TypeError')
	},

	async 'reads the body in every way'(where) {
		const { apiUrl } = where
		same(await (await page(where)).text(), 'a page')
		same(text(await (await page(where)).arrayBuffer()), 'a page')
		const blob = await (await page(where)).blob()
		isTrue(blob.type.startsWith('text/plain'), blob.type)
		same(await blob.text(), 'a page')
		const get = resilientFetch(SHORT)
		same((await (await get(story(apiUrl, '200').url)).json()).method, 'GET')
		same((await (await get(story(apiUrl, 'form').url)).formData()).get('a'), '1')
	},

	async 'reads the body as bytes (if Response has bytes())'(where) {
		if (!('bytes' in Response.prototype)) return SKIPPED
		const bytes = await (await page(where)).bytes()
		isTrue(bytes instanceof Uint8Array, 'no bytes')
		same(text(bytes), 'a page')
		return undefined
	},

	async 'reads the body as a stream'(where) {
		const { body } = await page(where)
		const chunks = []
		const reader = body.getReader()
		for (let step = await reader.read(); !step.done; step = await reader.read()) chunks.push(text(step.value))
		same(chunks.join(''), 'a page')
	},

	async 'reads a clone beside the original'(where) {
		const response = await page(where)
		const copy = response.clone()
		isTrue(copy instanceof Response, 'the copy is none')
		same(await copy.text(), 'a page')
		same(await response.text(), 'a page')
	},

	async 'creates another Response from it'(where) {
		const response = await page(where)
		const made = new Response(response.body, response)
		same(`${made.status} ${made.headers.get('content-type')} ${await made.text()}`, '200 text/plain a page')
	},

	async 'works with the methods of Response.prototype'(where) {
		same(await Response.prototype.text.call(await page(where)), 'a page')
		const { get } = Object.getOwnPropertyDescriptor(Response.prototype, 'status')
		same(get.call(await page(where)), 200)
	},

	async 'serves it from a fetch handler (if the runtime has such a server)'(where) {
		if (!where.serve) return SKIPPED
		const server = where.serve(() => page(where))
		try {
			const response = await fetch(server.url)
			same(`${response.status} ${await response.text()}`, '200 a page')
		} finally {
			await server.stop()
		}
		return undefined
	},

	async 'stores it in a Cache (if there is one)'(where) {
		// A Worker has a cache only where it is deployed.
		if (!globalThis.caches || isWorker) return SKIPPED
		const cache = await caches.open('yaoki')
		await cache.put('http://127.0.0.1/page', await page(where))
		same(await (await cache.match('http://127.0.0.1/page')).text(), 'a page')
		await caches.delete('yaoki')
		return undefined
	},

	async 'does not wait for the body of a 204'({ apiUrl }) {
		const response = await resilientFetch(SHORT)(story(apiUrl, '503,204').url)
		same(`${response.status} ${await response.text()}`, '204 ')
	},

	async 'does not wait for the body of a HEAD'(where) {
		const response = await page(where, { method: 'HEAD' })
		same(`${response.status} ${response.headers.get('content-type')}`, '200 text/plain')
		same(await response.text(), '')
	},

	async 'follows a redirect, or returns it if the caller asks for it'({ apiUrl }) {
		const { url } = story(apiUrl, 'moved,page')
		const response = await resilientFetch(SHORT)(url)
		same(`${response.redirected} ${response.url.endsWith('/page')}`, 'true true')
		same(await response.text(), 'a page')
		const manual = await resilientFetch(SHORT)(story(apiUrl, 'moved').url, { redirect: 'manual' })
		// A page does not see the location.
		same(manual.type === 'opaqueredirect' ? 302 : manual.status, 302)
	},

	async 'returns an opaque response (in a page)'({ apiUrl }) {
		if (!isPage) return SKIPPED
		const response = await resilientFetch(SHORT)(story(apiUrl, 'page').url, { mode: 'no-cors' })
		same(`${response.type} ${response.status} ${await response.text()}`, 'opaque 0 ')
		return undefined
	},
}
