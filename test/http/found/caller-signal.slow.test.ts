/** Regression: a caller's long-lived signal kept a signal per request alive if a custom `fetch` left a listener on it. */
import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { resilientFetch } from 'yaoki/http'

const URL_A = 'http://127.0.0.1:1/'

/** Collects garbage until the condition holds. */
async function collectUntil(isDone: () => boolean): Promise<void> {
	for (let turn = 0; turn < 20 && !isDone(); turn++) {
		await new Promise(setImmediate)
		globalThis.gc?.()
	}
}

/** A `fetch` that leaves a listener on each signal, and what it has seen. */
function leavingListeners() {
	const signals: WeakRef<AbortSignal>[] = []
	const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
		init?.signal?.addEventListener('abort', () => {})
		if (init?.signal) signals.push(new WeakRef(init.signal))
		return new Response('fine')
	}
	return { fetch, isCollected: () => signals.every((signal) => signal.deref() === undefined), signals }
}

test('signals of requests are collected, though the signal of the caller lives on', async () => {
	const { fetch: plain, isCollected, signals } = leavingListeners()
	const fetch = resilientFetch({ fetch: plain })
	const caller = new AbortController()
	for (let n = 0; n < 50; n++) await (await fetch(URL_A, { signal: caller.signal })).text()
	await collectUntil(isCollected)
	expect([signals.length, isCollected(), caller.signal.aborted]).toEqual([50, true, false])
})

test.each([
	['read as streams', async (response: Response) => void (await response.body?.getReader().read())],
	['not read', async () => {}],
])('signals of requests without a timeout whose bodies are %s are collected', async (_, use) => {
	const { fetch: plain, isCollected, signals } = leavingListeners()
	const fetch = resilientFetch({ fetch: plain, timeout: Infinity, totalTimeoutMs: Infinity })
	const caller = new AbortController()
	for (let n = 0; n < 50; n++) await use(await fetch(URL_A, { signal: caller.signal }))
	// The engine references the latest result.
	await (await fetch(URL_A)).text()
	await collectUntil(isCollected)
	expect([signals.length, isCollected()]).toEqual([51, true])
	await collectUntil(() => getEventListeners(caller.signal, 'abort').length === 0)
	expect(getEventListeners(caller.signal, 'abort').length).toBe(0)
})
