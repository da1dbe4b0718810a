/** The stack of an error contains the callers, if the runtime follows promises. Bun follows only `await` in async functions. */
import { bulkhead, circuitBreaker, hedge, pipeline, retry, timeout } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { errorOf, isTrue, SHORT, SKIPPED } from './checks.js'
import { story } from './stories.js'

async function failLater() {
	await new Promise((resolve) => setTimeout(resolve, 1))
	throw new Error('down')
}

async function theCaller(run) {
	await run()
}

const stackOf = async (run) => (await errorOf(theCaller(run))).stack

const isSupported = async () =>
	(await stackOf(() => failLater().then((value) => value))).includes('theCaller')

async function check(run) {
	if (!(await isSupported())) return SKIPPED
	const stack = await stackOf(run)
	isTrue(stack.includes('theCaller'), stack)
	return undefined
}

const under = (policy) => check(() => policy.execute(async () => await failLater()))

export const tests = {
	'the stack of an error under a retry contains the callers (if the runtime supports it)': () =>
		under(retry({ ...SHORT, maxRetries: 1 })),

	'the stack of an error under a timeout contains the callers (if the runtime supports it)': () =>
		under(timeout(60_000)),

	'the stack of an error under a hedge contains the callers (if the runtime supports it)': () =>
		under(hedge({ delayMs: 60_000 })),

	'the stack of an error under four policies contains the callers (if the runtime supports it)': () =>
		under(pipeline(bulkhead(), circuitBreaker(), retry({ ...SHORT, maxRetries: 2 }), timeout(60_000))),

	'the stack of a TimeoutError contains the callers (if the runtime supports it)': () =>
		check(() => timeout(2).execute(() => new Promise(() => {}))),

	'the stack of an HttpError contains the callers (if the runtime supports it)': ({ apiUrl }) =>
		check(() => new ResilientHttpClient(SHORT).get(story(apiUrl, '404').url)),
}
