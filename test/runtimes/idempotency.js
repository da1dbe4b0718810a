/** Idempotency keys on every runtime: hashes, streams and servers are the runtime's own. */
import { fetchIdempotency, idempotency, memoryIdempotencyStore } from 'yaoki/idempotency'
import { isTrue, SKIPPED, same } from './checks.js'
import { isWorker } from './stories.js'

/** Of the request below. */
const FINGERPRINT = 'yMEXwdhTa0tsexJTi1nSl773ESet9t2DBsfKFQL6CzY'

/** Tests run inside of one request of a Worker, which ends after them. */
const PLATFORM = { waitUntil: () => {} }

/** A handler that counts its calls, and streams its response. */
function setting(options) {
	let calls = 0
	const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'anonymous', ...options })
	const handler = fetchIdempotency(
		engine,
		async (request, context) => {
			calls++
			const { amount } = await request.json()
			const id = await context.step('charge', ({ idempotencyKey }) => idempotencyKey.slice(0, 4))
			isTrue(id.length === 4, 'no key for the step')
			const body = new Blob([`charged ${amount} `, new Uint8Array([0, 255, 128])]).stream()
			return new Response(body, { status: 201, headers: { 'content-type': 'text/x-receipt' } })
		},
		PLATFORM,
	)
	return { handler, calls: () => calls }
}

const init = (amount, key = 'k-1') => ({
	method: 'POST',
	body: JSON.stringify({ amount }),
	headers: { 'content-type': 'application/json', 'idempotency-key': key },
})
const charge = (...args) => new Request('https://shop.example.com/charges?b=2&a=1', init(...args))

const bytesOf = async (response) => new Uint8Array(await response.arrayBuffer()).join(' ')

export const tests = {
	async 'recognizes a request by the same fingerprint everywhere'() {
		const store = memoryIdempotencyStore()
		const claim = store.claim.bind(store)
		const fingerprints = []
		store.claim = (request, call) => {
			fingerprints.push(request.fingerprint)
			return claim(request, call)
		}
		const { handler } = setting({ store })
		const request = charge(7)
		request.headers.set('content-type', 'application/json; charset=utf-8')
		await (await handler(request)).text()
		same(fingerprints.join(), FINGERPRINT)
	},

	async 'rejects a request with a key on Workers without ctx'() {
		if (!isWorker) return SKIPPED
		const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'anonymous' })
		const handler = fetchIdempotency(engine, () => new Response('done'))
		const error = await handler(charge(7)).catch((thrown) => thrown)
		same(error.code, 'YAOKI_IDEMPOTENCY_NO_WAIT_UNTIL')
	},

	async 'passes the request itself to the handler, with its body unread'() {
		class PlatformRequest extends Request {
			#path = new URL(this.url).pathname

			get path() {
				return this.#path
			}
		}
		const engine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'anonymous' })
		const handler = fetchIdempotency(
			engine,
			async (request) => {
				isTrue(request === sent, 'another request')
				return new Response(
					`${request.path} ${await new Request(request.clone()).text()} ${await request.text()}`,
				)
			},
			PLATFORM,
		)
		const sent = new PlatformRequest('https://shop.example.com/charges', init(7))
		same(await (await handler(sent)).text(), '/charges {"amount":7} {"amount":7}')
	},

	async 'replays a streamed response byte by byte'() {
		const { handler, calls } = setting()
		const first = await handler(charge(7))
		const bytes = await bytesOf(first)
		const second = await handler(charge(7))
		same(second.status, 201)
		same(second.headers.get('idempotency-replayed'), 'true')
		same(second.headers.get('content-type'), 'text/x-receipt')
		same(await bytesOf(second), bytes)
		same(calls(), 1)
	},

	async 'rejects another request with the same key, and a request in progress'() {
		const { handler, calls } = setting({ waitMs: 0 })
		const responses = await Promise.all([handler(charge(7)), handler(charge(7))])
		// Either may be first: on workerd the body of the second one may be read earlier.
		const [first, rejected] = responses.sort((a, b) => a.status - b.status)
		same(`${first.status} ${rejected.status}`, '201 409')
		isTrue(Number(rejected.headers.get('retry-after')) > 0, 'no Retry-After')
		await first.text()
		same((await handler(charge(8))).status, 422)
		same((await handler(charge(7, ''))).status, 400)
		same(calls(), 1)
	},

	async 'protects a server of fetch handlers (if the runtime has one)'({ serve }) {
		if (!serve) return SKIPPED
		const { handler, calls } = setting()
		const server = serve(handler)
		try {
			const url = `${server.url}charges`
			const first = await bytesOf(await fetch(url, init(7)))
			const second = await fetch(url, init(7))
			same(second.headers.get('idempotency-replayed'), 'true')
			same(await bytesOf(second), first)
			same(calls(), 1)
		} finally {
			await server.stop()
		}
	},
}
