/** Request bodies that are sent more than once. The server returns a hash of the bytes that arrived. */
import { explain } from 'yaoki'
import { resilientFetch } from 'yaoki/http'
import { errorOf, isTrue, SHORT, SKIPPED, same } from './checks.js'
import { story } from './stories.js'

const BYTES = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 31) % 251)

const form = () => {
	const data = new FormData()
	data.append('name', 'Ana')
	data.append('file', new Blob([BYTES]), 'data.bin')
	return data
}

/** Each with its bytes on the wire. The runtime chooses those of a form, but they stay the same. */
const KINDS = {
	string: ['grüße', 'grüße'],
	URLSearchParams: [new URLSearchParams({ a: '1', b: 'ü' }), 'a=1&b=%C3%BC'],
	ArrayBuffer: [BYTES.buffer, BYTES],
	Uint8Array: [BYTES.subarray(7, 50_000), BYTES.subarray(7, 50_000)],
	DataView: [new DataView(BYTES.buffer, 3, 5), BYTES.subarray(3, 8)],
	Blob: [new Blob([BYTES, 'and text']), new Blob([BYTES, 'and text'])],
	FormData: [form(), undefined],
}

const streamOf = (text) => new Blob([text]).stream()

async function sha256(content) {
	const digest = await crypto.subtle.digest('SHA-256', await new Response(content).arrayBuffer())
	return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Detected by trying: a browser creates the request, but does not send it over HTTP/1.1. */
async function canStreamUploads(apiUrl) {
	const init = { method: 'PUT', body: streamOf('a stream'), duplex: 'half' }
	try {
		return (await (await fetch(story(apiUrl, '200').url, init)).json()).bytes === 8
	} catch {
		return false
	}
}

export const tests = {
	async 'sends bodies of every kind completely at every attempt'({ apiUrl }) {
		for (const [kind, [body, content]] of Object.entries(KINDS)) {
			const { url, seen } = story(apiUrl, '503,503,200')
			same((await resilientFetch(SHORT)(url, { method: 'PUT', body })).status, 200, kind)
			const arrived = await seen()
			const expected = content === undefined ? arrived[0].sha256 : await sha256(content)
			for (const { sha256: hash } of arrived) same(hash, expected, kind)
			same(arrived.length, 3)
			isTrue(arrived[2].bytes > 0, `nothing arrived of ${kind}`)
			same(arrived[2].type?.split(';')[0], arrived[0].type?.split(';')[0], kind)
		}
	},

	async 'sends a form as multipart'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,200')
		await resilientFetch(SHORT)(url, { method: 'PUT', body: form() })
		for (const { type, bytes } of await seen()) {
			isTrue(type.startsWith('multipart/form-data; boundary='), type)
			isTrue(bytes > BYTES.length, `${bytes} bytes`)
		}
	},

	async 'calls a body function for each attempt'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,200')
		let made = 0
		const body = async () => `body ${++made}`
		same((await resilientFetch(SHORT)(url, { method: 'PUT', body })).status, 200)
		same(
			(await seen()).map((request) => request.sha256).join(),
			`${await sha256('body 1')},${await sha256('body 2')}`,
		)
	},

	async 'calls it for streams (if fetch can stream uploads)'({ apiUrl }) {
		if (!(await canStreamUploads(apiUrl))) return SKIPPED
		const { url, seen } = story(apiUrl, '503,200')
		const body = () => streamOf('flowing')
		same((await resilientFetch(SHORT)(url, { method: 'PUT', body })).status, 200)
		const expected = await sha256('flowing')
		same((await seen()).map((request) => request.sha256).join(), `${expected},${expected}`)
		return undefined
	},

	async 'sends a stream once, and explain says why (if fetch can stream uploads)'({ apiUrl }) {
		if (!(await canStreamUploads(apiUrl))) return SKIPPED
		const { url, seen } = story(apiUrl, '503,200')
		const response = await resilientFetch(SHORT)(url, { method: 'PUT', body: streamOf('gone') })
		same(response.status, 503)
		same(explain(response).stop, 'body-used')
		same((await seen()).map((request) => request.bytes).join(), '4')
		return undefined
	},

	async 'the error of a failed stream says what helps'({ apiUrl }) {
		const { url } = story(apiUrl, 'reset')
		const error = await errorOf(resilientFetch(SHORT)(url, { method: 'PUT', body: streamOf('gone') }))
		same(explain(error).stop, 'body-used')
		isTrue(error.message.includes('body: () => a new stream'), error.message)
	},

	async 'rejects a body that is already read before anything is sent'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '200')
		const body = streamOf('taken')
		body.getReader()
		const error = await errorOf(resilientFetch(SHORT)(url, { method: 'PUT', body }))
		same(error.name, 'TypeError')
		same((await seen()).length, 0)
	},

	async 'repeats a Request without a body'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,200')
		const request = new Request(url, { headers: { 'x-caller': 'Ana' } })
		same((await resilientFetch(SHORT)(request)).status, 200)
		same((await seen()).map(({ headers }) => headers['x-caller']).join(), 'Ana,Ana')
	},

	async 'repeats a Request with a small body'({ apiUrl }) {
		const { url, seen } = story(apiUrl, '503,200')
		const request = new Request(url, { method: 'PUT', body: 'small' })
		const response = await resilientFetch(SHORT)(request)
		same(response.status, 200)
		for (const { sha256: received } of await seen()) same(received, await sha256('small'))
	},
}
