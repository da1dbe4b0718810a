import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { retry } from 'yaoki'
import { seededRandom } from 'yaoki/testing'
import { createPaint, type Paint } from '../../examples/outage/chart.ts'
import { simulateOutage } from '../../examples/outage/model.ts'
import { report } from '../../examples/outage/report.ts'
import { blocks, page, table } from './markdown.ts'

const folder = new URL('../../examples/', import.meta.url)

/** Runs an example as `node examples/<name>.ts <args>` would. Returns what it prints. */
async function output(name: string, ...args: readonly string[]): Promise<string> {
	const printed: string[] = []
	vi.spyOn(console, 'log').mockImplementation((...parts: unknown[]) => {
		printed.push(parts.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(' '))
	})
	vi.resetModules()
	process.argv = ['node', `${name}.ts`, ...args]
	await import(new URL(`${name}.ts`, folder).href)
	return printed.join('\n')
}

/** Does the same with fake timers and seeded random numbers, so that every run prints the same times. */
async function outputWithoutDelays(name: string): Promise<string> {
	vi.useFakeTimers().setTimerTickMode('nextTimerAsync')
	vi.spyOn(Math, 'random').mockImplementation(seededRandom(1))
	try {
		return await output(name)
	} finally {
		vi.useRealTimers()
	}
}

const { argv, stdout } = process
const isTerminal = stdout.isTTY

beforeEach(() => {
	stdout.isTTY = false
})

afterEach(() => {
	process.argv = argv
	stdout.isTTY = isTerminal
})

test('every example has a test', () => {
	const names = readdirSync(folder).filter((file) => file.endsWith('.ts'))
	expect(names.sort()).toEqual([
		'client.ts',
		'dashboard.ts',
		'deadline.ts',
		'explain.ts',
		'grpc.ts',
		'http.ts',
		'idempotent-payments.ts',
		'outage.ts',
		'outbox.ts',
		'payments.ts',
		'per-host.ts',
		'pipeline.ts',
		'retry.ts',
		'testing-your-code.ts',
		'three-services.ts',
	])
})

test.each(blocks(page('docs/guide/getting-started.md')).filter(({ file }) => file !== undefined))(
	'$file prints what the page shows',
	async ({ file = '', prints }) => {
		expect(`${await outputWithoutDelays(file.replace(/^examples\/|\.ts$/g, ''))}\n`).toBe(prints)
	},
)

test('retry: fails twice and succeeds in the third attempt', async () => {
	expect(await output('retry')).toBe(
		[
			'retry 1 after HttpError: HTTP 503',
			'retry 2 after HttpError: HTTP 503',
			'loaded Ada in attempt 3',
		].join('\n'),
	)
})

test('client: retries, validates, and explains what does not match', async () => {
	expect(await output('client')).toBe(
		[
			'green tea costs 4.2',
			'requests: /v1/products/tea?lang=en shop, /v1/products/tea?lang=en shop',
			'GET /v1/cart: expected JSON, got "<!doctype html><title>Log in</title>" (HTTP 200, text/html)',
			'GET /v1/products/old: the body does not match the schema: 2 issues, at name, price (HTTP 200, application/json)',
			'hello, admin',
			'refresh',
			'[{"id":7},{"id":7}]',
		].join('\n'),
	)
})

test('pipeline: retries a 503 and not a permanent error', async () => {
	expect(await output('pipeline')).toBe(
		[
			'event: retry_attempt',
			'event: retry_success',
			'event: call success',
			'bought 2 tea',
			'event: retry_failure permanent',
			'event: call permanent',
			'failed: Error: not enough tea',
		].join('\n'),
	)
})

test('deadline: the retry stops before a delay that would end after the deadline', async () => {
	expect(await outputWithoutDelays('deadline')).toBe(
		[
			'attempt 1: in time, deadline known: true',
			'attempt 2: in time, deadline known: true',
			'2 attempts, stopped: deadline',
		].join('\n'),
	)
})

test('explain: every attempt with its outcome and the source of its delay', async () => {
	const printed = await output('explain')
	expect(printed).toMatch(
		/^thrown: HttpError: HTTP 404\nload invoice: 3 attempts in \d+ ms, stopped: permanent\n/,
	)
	expect(printed).toMatch(
		/#2 at \d+ ms, took \d+ ms: throttled \(HttpError: HTTP 429\), retry in \d+ ms \(retry-after\)/,
	)
	expect(printed).toContain('[["throttled","backoff"],["throttled","retry-after"],["permanent",null]]')
})

test('idempotent-payments: each order is charged once, whatever breaks', async () => {
	// A slow machine may lose further leases, which changes nothing else.
	const printed = (await output('idempotent-payments')).replaceAll('  idempotency_lease_lost\n', '')
	expect(printed.split('\n').map((line) => line.trim())).toEqual([
		...['an order:', 'idempotency_claimed', 'the card is charged: 10'],
		'201: {"receipt":"receipt 1","amount":10}',
		...['the connection breaks after the charge:', 'idempotency_claimed', 'the card is charged: 20'],
		...['idempotency_replayed', '201: {"receipt":"receipt 2","amount":20}'],
		...['the process stops after the charge:', 'idempotency_claimed', 'the card is charged: 30'],
		...['idempotency_claimed', '201: {"receipt":"receipt 3","amount":30}'],
		...['a key:', 'idempotency_claimed', 'the card is charged: 40'],
		'201: {"receipt":"receipt 4","amount":40}',
		...['the same key again:', 'idempotency_replayed', '201: {"receipt":"receipt 4","amount":40}'],
		...['the same key for another amount:', 'idempotency_mismatch'],
		'422: Idempotency key used for another request',
		...['the same key of another customer:', 'idempotency_claimed', 'the card is charged: 40'],
		'201: {"receipt":"receipt 5","amount":40}',
		'5 charges for 5 orders',
	])
})

test('payments: the circuit opens during the outage and closes after the first successful probes', async () => {
	const printed = (await output('payments')).split('\n')
	expect(printed.filter((line) => line.includes('circuit')).map((line) => line.trim())).toEqual([
		'17 s  circuit open',
		'32 s  circuit half-open',
		'33 s  circuit open',
		'48 s  circuit half-open',
		'49 s  circuit closed',
	])
	// Four requests per call while the service is down and the circuit closed; none while it is open; one otherwise.
	const requests = printed.flatMap((line) => /(\d+) requests/.exec(line)?.[1] ?? []).map(Number)
	expect(requests.at(0)).toBe(20)
	expect(requests.at(1)).toBeGreaterThan(40)
	expect(Math.max(...requests.slice(2, 5))).toBeLessThan(5)
	expect(printed.at(-1)).toBe(' 60 s  20 calls: 20 succeeded, 0 failed (0 rejected); 20 requests')
})

test('per host: only the circuit of the dead host opens', async () => {
	expect(await output('per-host')).toBe(
		[
			'b.example.com: closed -> open',
			'a.example.com: 10 requests, circuit closed',
			'b.example.com: 6 requests, circuit open',
			'c.example.com: 10 requests, circuit closed',
			'7 calls rejected without a request',
		].join('\n'),
	)
})

test('testing your code: retries run in virtual time', async () => {
	expect(await output('testing-your-code')).toBe(
		[
			'half an hour of retries in no time',
			'attempts at 0, 1000, 3000, 7000 ms',
			'100 of 100 calls succeeded with 50 % faults',
		].join('\n'),
	)
})

test('http: repeats a GET, repeats a POST only with a key, and uses the cache while the circuit is open', async () => {
	expect((await output('http')).replace(/\d+\.\d+\.\d+\.\d+:\d+/, 'host')).toBe(
		[
			'GET: 200 "green tea: 4.20", after 3 attempts',
			'POST: 503, ended by not-idempotent',
			'POST with a key: 200, the same key twice: true',
			'client: first HttpError: HTTP 500 for GET http://host/tea, then "green tea: 4.20" from the cache: true',
		].join('\n'),
	)
})

test('grpc: waits as long as the server asks, and explains a failed call and an open circuit, as in the guide', async () => {
	const inAnyRun = (text: string) =>
		text
			.replaceAll(/(at|took|attempt in) \d+ ms/g, '$1 0 ms')
			// The remaining open time is a tenth of a second shorter on a busy machine.
			.replaceAll(/(circuit is open, retry in) [\d.]+ (?:ms|s)/g, '$1 a while')
			// A slow machine may need several attempts, and the server varies its pushback.
			.replaceAll(/(?: {2}attempt \d: UNAVAILABLE \(the server is at .*\n)+/g, '  retried\n')
	const printed = inAnyRun(await output('grpc'))
	expect(printed).toContain('  retried\n')
	const shown = blocks(page('docs/guide/grpc.md')).find(({ code }) => code.startsWith('two failures'))
	expect(`${printed}\n`).toBe(inAnyRun(shown?.code ?? ''))
})

test('three services: the failing one is called 3 times and not 9, as in the guide', async () => {
	const printed = await output('three-services')
	expect(printed.split('\n').map((line) => line.match(/\d+(?= x)/g))).toEqual([
		['3', '9'],
		['1', '3'],
		['3', '3'],
	])
	const [shown] = blocks(page('docs/guide/across-services.md'))
	expect(`${printed}\n`).toBe(shown?.code)
})

test('dashboard: the circuit of the process is open, calls have failed, and receipts wait', async () => {
	expect(await output('dashboard')).toBe(
		[
			'payments: open; last error HttpError: HTTP 503',
			'7 failed calls, the last one: rejected',
			'7 receipts wait',
		].join('\n'),
	)
})

test('outbox: an order with its message, a retry, a dead letter and its replay', async () => {
	expect(await output('outbox')).toBe(
		[
			'o-1: committed, with its message',
			'o-2: committed, with its message',
			'o-3: rolled back, with its message (Error: the card was declined)',
			'  attempt 1 failed, retry scheduled: the mail server hung up',
			'  dead letter (permanent): no address for o-2',
			'o-1: mail to ada@example.com',
			'  sent on attempt 2',
			'1 dead letter for order.placed: permanent',
			'o-2: mail to bob@example.com',
			'  sent on attempt 1',
			'remaining: 0 queued, 0 dead',
		].join('\n'),
	)
})

describe('outage', () => {
	/** Returns the figures of a row of the table, naive ones first. */
	const row = (printed: string, label: string): number[] => {
		const line = printed.split('\n').find((candidate) => candidate.startsWith(label)) ?? ''
		const figures = line
			.slice(label.length)
			.replaceAll(',', '')
			.match(/\d+(\.\d+)?/g)
		return (figures ?? []).map(Number)
	}
	const percentages = (printed: string): number[] => {
		const [, naive = Number.NaN, , ours = Number.NaN] = row(printed, 'successful calls')
		return [naive, ours]
	}

	test('naive retries keep the service overloaded after the outage; ours let it recover', async () => {
		const printed = await output('outage')
		const [naive = 0, ours = 0] = row(printed, 'amplification')
		expect(naive).toBeGreaterThan(5 * ours)
		expect(printed).toMatch(/recovery after the outage +not in 30 s +in 1\d\.\d s/)
		const [naivePercent, ourPercent] = percentages(printed)
		expect(ourPercent).toBeGreaterThan(90)
		expect(naivePercent).toBeLessThan(50)
		expect(Math.max(...printed.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
		expect(printed).not.toContain('\x1b')
		const shown = blocks(page('README.md')).find(({ language }) => language === 'text')?.code
		expect(printed, 'what the README shows').toContain(shown)
		for (const cells of table(page('README.md'), 'at the end', 'naive', 'yaoki')) {
			for (const figure of cells.slice(1))
				expect(printed, `what the README's table says: ${cells[0]}`).toContain(figure)
		}
	})

	test('both recover and serve as many calls if rejections are free, as the README says', async () => {
		const printed = await output('outage', '--rejection-cost', '0')
		const [naive = 0, ours = 0] = row(printed, 'requests to the service')
		expect(naive / ours).toBeGreaterThan(3.5)
		expect(naive / ours).toBeLessThan(4)
		expect(Math.max(...row(printed, 'recovery after the outage'))).toBeLessThan(17)
		const [naivePercent = 0, ourPercent = 0] = percentages(printed)
		expect(Math.abs(ourPercent - naivePercent)).toBeLessThanOrEqual(2)
	})

	test('another seed gives another run with the same outcome', async () => {
		const printed = await output('outage', '--seed', '2')
		expect(printed).toContain('seed 2')
		expect(printed).toMatch(/recovery after the outage +not in 30 s +in 1\d\.\d s/)
	})

	test('invalid options are rejected by name', async () => {
		await expect(output('outage', '--seed', 'x')).rejects.toThrow(
			'Invalid --seed: expected an integer, got x',
		)
		await expect(output('outage', '--rejection-cost', '2')).rejects.toThrow(
			'Invalid --rejection-cost: expected 0 to 1, got 2',
		)
	})

	const small = {
		clients: 5,
		callEveryMs: 1_000,
		capacity: 10,
		maxQueueMs: 500,
		rejectionCost: 0.1,
		downFromMs: 2_000,
		downToMs: 6_000,
		endMs: 20_000,
	}
	const run = (seed: number) => simulateOutage(small, (runtime) => retry({ maxRetries: 5, runtime }), seed)

	test('the same seed gives the same run, another seed another run', () => {
		expect(run(4)).toEqual(run(4))
		expect(run(5)).not.toEqual(run(4))
	})

	test('without an outage every call is one request and succeeds', () => {
		const healthy = { ...small, downFromMs: 0, downToMs: 0 }
		const { seconds, calls, succeeded } = simulateOutage(healthy, (runtime) => retry({ runtime }), 1)
		expect(seconds.map(({ requests, rejected }) => [requests, rejected])).toEqual(new Array(20).fill([5, 0]))
		// The last calls may still be queued at the end.
		expect([calls, succeeded >= 98]).toEqual([100, true])
	})

	test('colors are used in a terminal unless NO_COLOR is set', () => {
		const runs = [{ name: 'one', description: 'a run', result: run(1) }]
		const text = (paint: Paint) => report(small, runs, paint).join('\n')
		expect(text(createPaint(true, undefined))).toContain('\x1b[33m')
		expect(text(createPaint(true, '1'))).not.toContain('\x1b')
		expect(text(createPaint(false, undefined))).not.toContain('\x1b')
	})
})
