/** Compares the table of attempt numbers in the guide with the code: each row is one real call whose first attempt fails. */
import * as otel from '@opentelemetry/api'
import { describe, expect, test } from 'vitest'
import { calculateDelay, explain, nextRetryAt, type RetryOptions, retry, schedule } from 'yaoki'
import { createServerContext, ResilientHttpClient } from 'yaoki/http'
import { Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import { type Exporter, logger, observe, openTelemetry } from 'yaoki/telemetry'
import { claim } from '../cli/outbox/fixtures.ts'
import { run } from '../cli/outbox/run-yaoki.ts'
import { temporaryFile } from '../support/temporary-file.ts'
import { storingLogger } from '../telemetry/logs/lines.ts'
import { startSdk } from '../telemetry/opentelemetry/sdk.ts'
import { page, table } from './markdown.ts'

/** The first delay differs from the others. */
const DELAYS = { growth: [7, 9], jitterStrategy: 'none' } as const

const ONE_RETRY = { baseDelayMs: 0, maxDelayMs: 0, maxRetries: 1 }

/** Returns the first number that `listen` stores while a call runs. Its operation returns at the second attempt. */
async function firstOf(
	listen: (see: <T>(attempt: number, result: T) => T) => RetryOptions,
): Promise<number | undefined> {
	const seen: number[] = []
	const see = <T>(attempt: number, result: T): T => {
		seen.push(attempt)
		return result
	}
	const policy = retry({ ...ONE_RETRY, ...listen(see) })
	await policy.execute(({ attempt }) => (attempt === 0 ? Promise.reject(new Error('down')) : 'up'))
	return seen[0]
}

/** Observes a call that fails at all attempts, and returns its error. */
async function failingCall(...exporters: Exporter[]): Promise<unknown> {
	const payments = retry(ONE_RETRY)
	const stop = observe({ payments }, exporters)
	const result = await payments.settle(() => Promise.reject(new Error('down')))
	stop()
	return result.ok || result.error
}

/** Enqueues one message to `mail`. */
async function enqueueMail() {
	const store = sqliteOutboxStore(temporaryFile())
	const outbox = new Outbox({ store })
	await outbox.migrate()
	await outbox.enqueue({ topic: 'mail', payload: {} }, { withoutTransaction: true })
	return { store, outbox }
}

/** Observes a relay that delivers a message, and returns the attempt of the handler. */
async function delivery(...exporters: Exporter[]): Promise<number> {
	const { outbox } = await enqueueMail()
	const { promise, resolve } = Promise.withResolvers<number>()
	const relay = new Relay(outbox, { destinations: { mail: (_, { attempt }) => resolve(attempt) } })
	const stop = observe({ relay }, exporters)
	await relay.start()
	const first = await promise
	await relay.stop()
	stop()
	await outbox.close()
	return first
}

const FIRST: Readonly<Record<string, () => Promise<unknown> | unknown>> = {
	'`calculateDelay(attempt, options)`': () => [0, 1].find((attempt) => calculateDelay(attempt, DELAYS) === 7),
	'`nextRetryAt(now, attempt, options)`': () =>
		[0, 1].find((attempt) => nextRetryAt(0, attempt, DELAYS).getTime() === 7),
	'`growth(attempt)`': () => firstOf((see) => ({ growth: (attempt) => see(attempt, 0) })),
	'`schedule(options).delays[].attempt`': () => schedule({ maxRetries: 2 }).delays[0]?.attempt,
	'`shouldRetry(error, attempt)`': () =>
		firstOf((see) => ({ shouldRetry: (_, attempt) => see(attempt, true) })),
	'`retryResult(value, attempt)`': async () => {
		const seen: number[] = []
		const retryResult = (_: unknown, attempt: number) => seen.push(attempt) === 1
		await retry({ ...ONE_RETRY, retryResult }).execute(() => 'pending')
		return seen[0]
	},
	'`delayFor(error, attempt)`': () => firstOf((see) => ({ delayFor: (_, attempt) => see(attempt, 0) })),
	'`attempt` of the context of an operation': () => retry().execute(({ attempt }) => attempt),
	'`attempt` of the request in `onRequest`': async () => {
		const attempts: number[] = []
		const client = new ResilientHttpClient({
			maxRetries: 0,
			fetch: async () => new Response('{}'),
			onRequest: ({ attempt }) => void attempts.push(attempt),
		})
		await client.get('http://api.example.com/')
		return attempts[0]
	},
	'`attempt` of the context of a server': () =>
		createServerContext(new Request('http://api.example.com/')).attempt,
	'`attempt` of the context of a message handler': () => delivery(),
	'`onRetry(error, attempt, delayMs)`': () =>
		firstOf((see) => ({ onRetry: (_: unknown, attempt) => see(attempt, undefined) })),
	'`attempt` of an event': async () => {
		const seen: unknown[] = []
		await failingCall({
			name: 'events',
			attach: () => ({ onEvent: ({ attempt }) => void seen.push(attempt) }),
		})
		return seen[0]
	},
	'`attempt` of a line in a log': async () => {
		const { lines, target } = storingLogger()
		await failingCall(logger(target))
		expect(lines[0]?.message).toContain('attempt 1 failed')
		return lines[0]?.fields['attempt']
	},
	'`yaoki.attempt` of a span': async () => {
		const sdk = startSdk()
		try {
			await failingCall(openTelemetry(otel))
			return sdk.span('attempt').attributes['yaoki.attempt']
		} finally {
			await sdk.stop()
		}
	},
	'`attempt` in `around` of an exporter, for calls and deliveries': async () => {
		const attempts: number[] = []
		const exporter: Exporter = {
			name: 'attempts',
			attach: () => ({
				around(info, next) {
					if ('attempt' in info) attempts.push(info.attempt)
					return next()
				},
			}),
		}
		await failingCall(exporter)
		const [ofCall] = attempts.splice(0)
		await delivery(exporter)
		expect(attempts).toEqual([ofCall])
		return ofCall
	},
	'`attempt` of a `ClaimedRow` of an outbox store': async () => {
		const { store, outbox } = await enqueueMail()
		const [row] = await claim(store, 'mail')
		await outbox.close()
		return row?.attempt
	},
	'`explain(error).attempts[].attempt`': async () => {
		const attempts = explain(await failingCall())?.attempts.map(({ attempt }) => attempt)
		expect(attempts).toHaveLength(2)
		// A call without a failure has no record, and the same number.
		expect(explain({ ok: true, value: 1 })?.attempts[0]?.attempt).toBe(attempts?.[0])
		return attempts?.[0]
	},
	'the text of `explain`': async () => Number(/#(\d)/.exec(String(explain(await failingCall())))?.[1]),
	'the retries of `yaoki schedule`': async () => {
		const { stdout } = await run(['schedule', '--retries', '2'])
		return Number.parseInt(stdout.split('\n')[2] ?? '', 10)
	},
	'`delays[].retry` of `yaoki schedule --json`': async () => {
		const { stdout } = await run(['schedule', '--retries', '2', '--json'])
		return JSON.parse(stdout).delays[0].retry
	},
}

describe('the first attempt has the number of the guide', () => {
	const rows = table(page('docs/guide/events.md'), 'where', 'the first attempt is')

	test('the guide about attempt numbers lists exactly these places', () => {
		expect(rows.map(([where]) => where)).toEqual(Object.keys(FIRST))
	})

	test.each(rows.map(([where = '', first]) => ({ where, first })))('$where', async ({ where, first }) => {
		expect(String(await FIRST[where]?.())).toBe(first)
	})
})
