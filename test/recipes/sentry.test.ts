import * as Sentry from '@sentry/node'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { circuitBreaker, fallback, HttpError, permanent, pipeline, retry } from 'yaoki'
import { ResilientHttpClient } from 'yaoki/http'
import { Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import { observe } from 'yaoki/telemetry'
import { sentry } from './.cache/sentry/sentry.ts'
import { json, skipBackoff, startServer } from './support/services.ts'

const SECRET = 'hunter2'
const events: Sentry.ErrorEvent[] = []

Sentry.init({
	dsn: 'http://key@127.0.0.1:1/1',
	// Called last, instead of sending.
	beforeSend: (event) => {
		events.push(event)
		return null
	},
})
afterEach(() => {
	events.length = 0
})

/** Sentry processes an event asynchronously. */
const reported = async (): Promise<readonly Sentry.ErrorEvent[]> => {
	await Sentry.flush()
	return [...events]
}

/** Without breadcrumbs, which are Sentry's own, and without the lines of source code around a frame: those of this file contain the secret. */
const textOf = (event: Sentry.ErrorEvent | undefined): string =>
	JSON.stringify({ ...event, breadcrumbs: [] }, (key, value) =>
		/^(pre_|post_)?context(_line)?$/.test(key) ? undefined : value,
	)

const failing = () => retry({ maxRetries: 2, baseDelayMs: 1, jitterStrategy: 'none' })
const down = (message = `GET https://user:${SECRET}@example.com/a?token=${SECRET}`) =>
	Promise.reject(new HttpError(503, message, { cause: new Error(`password=${SECRET}`) }))

test('a call that failed is reported with its explanation, and without texts', async () => {
	const payments = failing()
	onTestFinished(observe({ payments }, [sentry()]))
	await payments.settle(() => down(), { name: `order ${SECRET}`, key: SECRET })
	const [event, ...others] = await reported()
	expect(others).toEqual([])
	expect(event?.exception?.values?.map(({ type, value }) => [type, value])).toContainEqual([
		'HttpError',
		'payments: the call failed, stopped: retries-exhausted',
	])
	expect(event?.exception?.values?.at(-1)?.stacktrace?.frames?.length).toBeGreaterThan(0)
	expect(event?.tags).toMatchObject({ 'yaoki.service': 'payments' })
	expect(event?.fingerprint).toEqual(['yaoki', 'payments', 'HttpError', 'retries-exhausted'])
	expect(event?.contexts?.['yaoki']).toMatchObject({
		stop: 'retries-exhausted',
		attempts: 3,
		history: [
			'#1 throttled (HttpError), retry in 1 ms (backoff)',
			'#2 throttled (HttpError), retry in 2 ms (backoff)',
			'#3 throttled (HttpError)',
		],
	})
	expect(textOf(event)).not.toContain(SECRET)
})

test('a request of a client is reported without its query and the body of the response', async () => {
	skipBackoff()
	const server = await startServer(json({ password: SECRET }, 503))
	const api = new ResilientHttpClient({ baseUrl: server.origin, maxRetries: 1 })
	onTestFinished(observe({ api }, [sentry()]))
	await expect(api.get(`/orders?token=${SECRET}`)).rejects.toThrow()
	const [event] = await reported()
	expect(event?.contexts?.['yaoki']).toMatchObject({ stop: 'retries-exhausted', attempts: 2 })
	expect(textOf(event)).not.toContain(SECRET)
})

test('what is thrown and is no error is reported without its content', async () => {
	const payments = retry({ maxRetries: 0 })
	onTestFinished(observe({ payments }, [sentry()]))
	await payments.settle(() => Promise.reject(SECRET))
	await payments.settle(() => Promise.reject({ password: SECRET }))
	const messages = (await reported()).map(({ message }) => message)
	expect(messages).toHaveLength(2)
	expect(messages.join()).not.toContain(SECRET)
})

test('a call that succeeds, gets a fallback or is rejected is not reported', async () => {
	const repaired = failing()
	const replaced = pipeline(fallback('cached'), failing())
	const breaker = circuitBreaker()
	onTestFinished(observe({ repaired, replaced, breaker }, [sentry()]))
	await repaired.execute(({ attempt }) => (attempt < 2 ? down() : 'paid'))
	await replaced.execute(() => down())
	breaker.isolate()
	expect((await breaker.settle(() => 'paid')).ok).toBe(false)
	expect(await reported()).toEqual([])
})

test('an outage is one event a minute for each cause', async () => {
	vi.useFakeTimers({ toFake: ['Date'] })
	onTestFinished(() => void vi.useRealTimers())
	const payments = retry({ maxRetries: 0 })
	onTestFinished(observe({ payments }, [sentry()]))
	for (let call = 0; call < 100; call++) await payments.settle(() => down())
	await payments.settle(() => Promise.reject(permanent(new TypeError(SECRET))))
	expect(await reported()).toHaveLength(2)
	vi.setSystemTime(Date.now() + 60_000)
	await payments.settle(() => down())
	expect(await reported()).toHaveLength(3)
})

test('an error that was reported is not reported again by a handler of the application', async () => {
	const payments = retry({ maxRetries: 0 })
	onTestFinished(observe({ payments }, [sentry()]))
	const result = await payments.settle(() => down())
	if (!result.ok) Sentry.captureException(result.error)
	expect(await reported()).toHaveLength(1)
})

test('a dead letter is reported with its cause, and without the payload and the error message', async () => {
	const outbox = new Outbox({ store: sqliteOutboxStore(':memory:'), outsideTransaction: 'allow' })
	await outbox.migrate()
	const relay = new Relay(outbox, {
		destinations: { billing: () => Promise.reject(permanent(new Error(`token=${SECRET}`))) },
	})
	onTestFinished(observe({ relay }, [sentry()]))
	await outbox.enqueue({ topic: 'billing', payload: { card: SECRET } })
	await relay.start()
	await vi.waitFor(async () => expect(await reported()).toHaveLength(1), { timeout: 60_000 })
	await relay.stop()
	await outbox.close()
	const [event] = await reported()
	expect(event?.message).toBe('dead letter of billing: permanent')
	expect(event?.contexts?.['yaoki']).toMatchObject({ topic: 'billing', attempts: 1, errorType: 'Error' })
	expect(textOf(event)).not.toContain(SECRET)
})
