/** What is given out is the runtime's own Response, with all that one can do to it, though it is watched while it is read. */
import { resilientFetch } from 'yaoki/http'
import { errorOf, isTrue, SHORT, SKIPPED, same } from './checks.js'
import { isPage, story } from './stories.js'

const text = (bytes) => new TextDecoder().decode(bytes)

const page = ({ apiUrl }, init) => resilientFetch(SHORT)(story(apiUrl, 'page').url, init)

export const tests = {
	async 'a response is a Response'(where) {
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

	async 'its body is read in every way that there is'(where) {
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

	async 'also as bytes (where a Response has them)'(where) {
		if (!('bytes' in Response.prototype)) return SKIPPED
		const bytes = await (await page(where)).bytes()
		isTrue(bytes instanceof Uint8Array, 'no bytes')
		same(text(bytes), 'a page')
		return undefined
	},

	async 'and as a stream'(where) {
		const { body } = await page(where)
		const chunks = []
		const reader = body.getReader()
		for (let step = await reader.read(); !step.done; step = await reader.read()) chunks.push(text(step.value))
		same(chunks.join(''), 'a page')
	},

	async 'a copy is read beside it'(where) {
		const response = await page(where)
		const copy = response.clone()
		isTrue(copy instanceof Response, 'the copy is none')
		same(await copy.text(), 'a page')
		same(await response.text(), 'a page')
	},

	async 'another Response can be made of it'(where) {
		const response = await page(where)
		const made = new Response(response.body, response)
		same(`${made.status} ${made.headers.get('content-type')} ${await made.text()}`, '200 text/plain a page')
	},

	async 'the methods of its class work on it, too'(where) {
		same(await Response.prototype.text.call(await page(where)), 'a page')
		const { get } = Object.getOwnPropertyDescriptor(Response.prototype, 'status')
		same(get.call(await page(where)), 200)
	},

	async 'a server can answer with it (where the runtime has one with fetch handlers)'(where) {
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

	async 'a cache takes it (where there is the Cache of the web)'(where) {
		if (!globalThis.caches) return SKIPPED
		const cache = await caches.open('yaoki')
		await cache.put('http://127.0.0.1/page', await page(where))
		same(await (await cache.match('http://127.0.0.1/page')).text(), 'a page')
		await caches.delete('yaoki')
		return undefined
	},

	async 'a 204 has no body, and no waiting for one'({ apiUrl }) {
		const response = await resilientFetch(SHORT)(story(apiUrl, '503,204').url)
		same(`${response.status} ${await response.text()}`, '204 ')
	},

	async 'nor has the answer to a HEAD'(where) {
		const response = await page(where, { method: 'HEAD' })
		same(`${response.status} ${response.headers.get('content-type')}`, '200 text/plain')
		same(await response.text(), '')
	},

	async 'a redirect is followed, or is an answer if the caller wants it so'({ apiUrl }) {
		const { url } = story(apiUrl, 'moved,page')
		const response = await resilientFetch(SHORT)(url)
		same(`${response.redirected} ${response.url.endsWith('/page')}`, 'true true')
		same(await response.text(), 'a page')
		const manual = await resilientFetch(SHORT)(story(apiUrl, 'moved').url, { redirect: 'manual' })
		// A page is not told where to.
		same(manual.type === 'opaqueredirect' ? 302 : manual.status, 302)
	},

	async 'what only the page may read is as opaque as ever (in a page)'({ apiUrl }) {
		if (!isPage) return SKIPPED
		const response = await resilientFetch(SHORT)(story(apiUrl, 'page').url, { mode: 'no-cors' })
		same(`${response.type} ${response.status} ${await response.text()}`, 'opaque 0 ')
		return undefined
	},
}
