/**
 * The suite as a Cloudflare Worker, and policies that all requests to the Worker share. A request starts one of the calls below;
 * scripts/runtimes/workerd.ts sends the requests and checks the responses.
 */
import { bulkhead, hedge, pipeline, retry, timeout } from 'yaoki'
import { resilientFetch } from 'yaoki/http'
import { runSuite } from './suite.js'

/** Longer than a request takes, and shorter than the runtime waits for a request that hangs. */
const LIMIT_MS = 100
const attempt = pipeline(retry({ maxRetries: 0 }), timeout(LIMIT_MS))
const hedged = hedge({ delayMs: LIMIT_MS })
const slot = bulkhead({ maxConcurrent: 1, queueTimeoutMs: LIMIT_MS })
const queue = bulkhead({ maxConcurrent: 1, queueTimeoutMs: 5_000 })
const fetchInTime = resilientFetch({ maxRetries: 0, timeout: LIMIT_MS })

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const never = () => new Promise(() => {})
/** Requests that hedged calls have sent: of each call the first hangs. */
let sent = 0

/** Each returns what the response contains. The argument is the JSON of the request. */
const CALLS = {
	suite: (env) => runSuite(env),
	'timeout, in time': () => attempt.execute(() => sleep(1)),
	'timeout, too late': () => attempt.execute(never),
	'hedge, in time': () => hedged.execute(() => sleep(1)),
	'hedge, too late': () => hedged.execute(() => (sent++ % 2 === 0 ? never() : 'the second request')),
	'fetch, in time': async ({ faultyUrl }) => (await fetchInTime(`${faultyUrl}/ok`)).text(),
	'fetch, too late': ({ faultyUrl }) => fetchInTime(`${faultyUrl}/hang`),
	'slot, never freed': () => slot.execute(never),
	slot: () => slot.execute(() => 'has a slot'),
	'queue, holder': () => queue.execute(() => sleep(LIMIT_MS)).then(() => 'held'),
	'queue, next': () => queue.execute(() => 'has a slot'),
	'queue, queued': () => queue.stats.queued,
	'queue, concurrent': () => queue.stats.concurrent,
}

export default {
	async fetch(request) {
		const { call, env } = await request.json()
		try {
			return Response.json({ value: await CALLS[call](env) })
		} catch (error) {
			return Response.json({ error: error.name, message: error.message })
		}
	},
}
